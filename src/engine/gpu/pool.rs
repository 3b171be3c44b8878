//! The only place that creates device buffers.

use super::device::Device;
use crate::engine::memory::{Allocator, Made, Purpose};

/// Makes buffers on a device.
pub(super) struct GpuAllocator {
    pub(super) device: Device,
    pub(super) made: Made,
}

impl Allocator for GpuAllocator {
    type Buffer = wgpu::Buffer;

    fn create(&mut self, label: &str, bytes: u64, purpose: Purpose) -> Option<wgpu::Buffer> {
        if bytes > self.device.limits.max_buffer_bytes {
            return None;
        }
        // An older refusal is not this buffer's.
        if self.device.faults.take_out_of_memory() {
            return None;
        }
        let usage = match purpose {
            Purpose::Storage => {
                wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_DST
                    | wgpu::BufferUsages::COPY_SRC
            }
            Purpose::Uniform => wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            Purpose::Readback => wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        };
        let label = format!("headroom.{label}");
        let buffer = self.device.wgpu.create_buffer(&wgpu::BufferDescriptor {
            label: Some(&label),
            size: bytes,
            usage,
            mapped_at_creation: false,
        });
        // Natively a refusal is reported before the call returns; in a browser it comes later and fails the next run.
        if self.device.faults.take_out_of_memory() {
            buffer.destroy();
            return None;
        }
        self.made.created(buffer.size());
        Some(buffer)
    }

    fn destroy(&mut self, buffer: wgpu::Buffer) {
        self.made.destroyed(buffer.size());
        // In a browser dropping a handle frees nothing until the garbage collector runs.
        buffer.destroy();
    }
}
