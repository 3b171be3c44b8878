//! Finding an adapter, opening the engine's own device on it, and catching what goes wrong there.

use crate::engine::{EngineError, EngineInfo, Tier};
use crate::plan::DeviceLimits;
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};

/// The engine's device: apart from the UI's, so that its counters are clean and the UI outlives it.
#[derive(Clone)]
pub(super) struct Device {
    pub(super) wgpu: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) info: EngineInfo,
    pub(super) limits: DeviceLimits,
    pub(super) tier: Tier,
    pub(super) faults: Faults,
}

impl Device {
    /// Lets the driver free memory and run callbacks that are due; never waits. In a browser both happen by themselves
    /// when control returns to the event loop.
    pub(super) fn look(&self) {
        #[cfg(not(target_arch = "wasm32"))]
        let _ = self.wgpu.poll(wgpu::PollType::Poll);
    }
}

/// Errors that the driver reports beside the call that caused them.
#[derive(Clone, Default)]
pub(super) struct Faults(Arc<Mutex<Found>>);

#[derive(Default)]
struct Found {
    lost: Option<String>,
    validation: Option<String>,
    out_of_memory: bool,
}

impl Faults {
    fn with<T>(&self, change: impl FnOnce(&mut Found) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn take_out_of_memory(&self) -> bool {
        self.with(|found| std::mem::take(&mut found.out_of_memory))
    }

    pub(super) fn lose(&self, reason: &str) {
        self.with(|found| found.lost = Some(reason.to_owned()));
    }

    /// The first error that has come in, if any. A lost device stays lost. Where memory ran out, the launches that were
    /// to use it are invalid too: that is no error of its own.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.with(|found| {
            let out_of_memory = std::mem::take(&mut found.out_of_memory);
            let validation = found.validation.take();
            match (&found.lost, out_of_memory, validation) {
                (Some(reason), _, _) => Err(EngineError::DeviceLost {
                    reason: reason.clone(),
                }),
                (None, true, _) => Err(EngineError::DeviceOutOfMemory),
                (None, false, Some(message)) => Err(EngineError::Validation(message)),
                (None, false, None) => Ok(()),
            }
        })
    }

    fn record(&self, error: &wgpu::Error) {
        log::error!("graphics device: {error}");
        self.with(|found| match error {
            wgpu::Error::OutOfMemory { .. } => found.out_of_memory = true,
            other => {
                found.validation.get_or_insert_with(|| other.to_string());
            }
        });
    }
}

/// What `headroom gpu` tells about an adapter.
#[derive(Clone, Debug, Serialize)]
pub struct AdapterReport {
    /// Name, backend, driver and features.
    #[serde(flatten)]
    pub info: EngineInfo,
    /// Whether a training without further choice would use it.
    pub preferred: bool,
    /// Most bytes one binding may have.
    pub max_binding_bytes: u64,
    /// Most bytes one buffer may have.
    pub max_buffer_bytes: u64,
    /// Bytes of workgroup memory.
    pub max_workgroup_bytes: u32,
    /// Invocations of a workgroup.
    pub max_workgroup_invocations: u32,
    /// Workgroups in one dimension of a dispatch.
    pub max_workgroups_per_dimension: u32,
    /// Storage buffers one kernel may bind.
    pub max_storage_buffers: u32,
    /// The kernel chosen for a product of large matrices whose sides are multiples of 4, and for any other.
    pub matmul: [&'static str; 2],
}

/// Every adapter that can compute, the one a training would use first.
pub async fn adapters() -> Vec<AdapterReport> {
    let instance = instance();
    let preferred = request(&instance).await.ok().map(|a| a.get_info());
    let mut all: Vec<AdapterReport> = instance
        .enumerate_adapters(wgpu::Backends::all())
        .await
        .iter()
        .map(|adapter| {
            let limits = adapter.limits();
            let info = adapter.get_info();
            AdapterReport {
                preferred: preferred
                    .as_ref()
                    .is_some_and(|p| (&p.name, p.backend) == (&info.name, info.backend)),
                max_binding_bytes: limits.max_storage_buffer_binding_size,
                max_buffer_bytes: limits.max_buffer_size,
                max_workgroup_bytes: limits.max_compute_workgroup_storage_size,
                max_workgroup_invocations: limits.max_compute_invocations_per_workgroup,
                max_workgroups_per_dimension: limits.max_compute_workgroups_per_dimension,
                max_storage_buffers: limits.max_storage_buffers_per_shader_stage,
                matmul: match tier(&info) {
                    Tier::Processor => ["matmul_register", "matmul_naive"],
                    Tier::Graphics => ["matmul_tiled", "matmul_tiled"],
                },
                info: engine_info(adapter, &info),
            }
        })
        .collect();
    all.sort_by_key(|report| !report.preferred);
    all
}

/// Opens the preferred adapter with all its limits.
pub(super) async fn open() -> Result<Device, EngineError> {
    let adapter = request(&instance()).await?;
    let limits = adapter.limits();
    let (device, queue) = adapter
        .request_device(&wgpu::DeviceDescriptor {
            label: Some("headroom.engine"),
            required_limits: limits.clone(),
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        })
        .await
        .map_err(|error| EngineError::NoAdapter {
            reason: error.to_string(),
        })?;
    let faults = Faults::default();
    let (uncaptured, lost) = (faults.clone(), faults.clone());
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        uncaptured.record(&error);
    }));
    device.set_device_lost_callback(move |reason, message| {
        // Destroying the device on purpose ends here too, when nobody asks any more.
        lost.lose(&format!("{reason:?}: {message}"));
    });
    let info = described(&adapter).await;
    Ok(Device {
        wgpu: device,
        queue,
        info: engine_info(&adapter, &info),
        limits: DeviceLimits {
            max_binding_bytes: limits.max_storage_buffer_binding_size,
            max_buffer_bytes: limits.max_buffer_size,
        },
        tier: tier(&info),
        faults,
    })
}

fn instance() -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    // WebGL and OpenGL adapters can draw the UI but cannot run every kernel.
    descriptor.backends = if cfg!(target_arch = "wasm32") {
        wgpu::Backends::BROWSER_WEBGPU
    } else {
        wgpu::Backends::PRIMARY
    };
    wgpu::Instance::new(descriptor)
}

async fn request(instance: &wgpu::Instance) -> Result<wgpu::Adapter, EngineError> {
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..Default::default()
    };
    let reason = if cfg!(target_arch = "wasm32") {
        "this browser offers no WebGPU adapter"
    } else {
        "no Vulkan, Metal or DirectX 12 adapter was found"
    };
    instance.request_adapter(&options).await.map_err(|error| {
        log::info!("no adapter: {error}");
        EngineError::NoAdapter {
            reason: reason.into(),
        }
    })
}

/// What is known about an adapter. A browser's description is mostly empty, its vendor and architecture are not.
async fn described(adapter: &wgpu::Adapter) -> wgpu::AdapterInfo {
    #[cfg_attr(
        not(target_arch = "wasm32"),
        expect(unused_mut, reason = "changed in a browser")
    )]
    let mut info = adapter.get_info();
    #[cfg(target_arch = "wasm32")]
    if info.name.is_empty() {
        info.name = super::browser::adapter_name().await.unwrap_or_default();
    }
    info
}

fn tier(info: &wgpu::AdapterInfo) -> Tier {
    // Browsers hide the type of the adapter; SwiftShader, their software one, is known by name.
    let software = info.device_type == wgpu::DeviceType::Cpu
        || info.name.to_lowercase().contains("swiftshader");
    if software {
        Tier::Processor
    } else {
        Tier::Graphics
    }
}

fn engine_info(adapter: &wgpu::Adapter, info: &wgpu::AdapterInfo) -> EngineInfo {
    let features = adapter.features();
    let of_interest = [
        (wgpu::Features::SHADER_F16, "shader-f16"),
        (wgpu::Features::SUBGROUP, "subgroups"),
        (wgpu::Features::TIMESTAMP_QUERY, "timestamp-query"),
    ];
    let name = if info.name.is_empty() {
        "unnamed WebGPU adapter".to_owned()
    } else {
        info.name.clone()
    };
    EngineInfo {
        kind: "gpu".into(),
        adapter: name,
        backend: match info.backend {
            wgpu::Backend::BrowserWebGpu => "browser-webgpu".into(),
            other => other.to_string(),
        },
        device_type: match info.device_type {
            wgpu::DeviceType::DiscreteGpu => "discrete",
            wgpu::DeviceType::IntegratedGpu => "integrated",
            wgpu::DeviceType::VirtualGpu => "virtual",
            wgpu::DeviceType::Cpu => "cpu",
            wgpu::DeviceType::Other => "other",
        }
        .into(),
        driver: format!("{} {}", info.driver, info.driver_info)
            .trim()
            .to_owned(),
        features: of_interest
            .into_iter()
            .filter(|(f, _)| features.contains(*f))
            .map(|(_, n)| n.to_owned())
            .collect(),
        kernels: Vec::new(),
    }
}
