//! How the window gets its drawing device, natively and in the browser.
//!
//! It is apart from the device that trains: what the window draws with is in no count of training memory.

use eframe::egui_wgpu::{WgpuConfiguration, WgpuSetup, WgpuSetupCreateNew};
use std::sync::Arc;

/// Settings that ask an adapter for no larger a texture than it has. The usual 8192 pixels are refused as a whole by
/// adapters that allow fewer, and the window would stay blank.
pub(super) fn configuration() -> WgpuConfiguration {
    let setup = WgpuSetupCreateNew {
        device_descriptor: Arc::new(|adapter| wgpu::DeviceDescriptor {
            label: Some("window"),
            required_limits: limits(adapter),
            ..Default::default()
        }),
        ..WgpuSetupCreateNew::without_display_handle()
    };
    WgpuConfiguration {
        wgpu_setup: WgpuSetup::CreateNew(setup),
        ..Default::default()
    }
}

fn limits(adapter: &wgpu::Adapter) -> wgpu::Limits {
    let is_gl = adapter.get_info().backend == wgpu::Backend::Gl;
    let base = if is_gl {
        wgpu::Limits::downlevel_webgl2_defaults()
    } else {
        wgpu::Limits::default()
    };
    wgpu::Limits {
        max_texture_dimension_2d: adapter.limits().max_texture_dimension_2d,
        ..base
    }
}
