//! Compute pipelines and bind groups, made from what was reflected from the kernels' text. Each kernel is compiled once.

use crate::engine::kernel::{Access, Kernel};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A compiled kernel with the layouts of its two groups: tensors, and numbers.
pub(super) struct Pipeline {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) tensors: wgpu::BindGroupLayout,
    pub(super) numbers: wgpu::BindGroupLayout,
}

/// Compiled kernels by name.
#[derive(Default)]
pub(super) struct Pipelines(BTreeMap<&'static str, Rc<Pipeline>>);

impl Pipelines {
    /// Names of the kernels compiled so far.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.keys().map(|name| (*name).to_owned()).collect()
    }

    /// The pipeline of a kernel; compiled on first use.
    pub(super) fn get(&mut self, device: &wgpu::Device, kernel: &'static Kernel) -> Rc<Pipeline> {
        self.0
            .entry(kernel.name)
            .or_insert_with(|| Rc::new(compile(device, kernel)))
            .clone()
    }
}

fn compile(device: &wgpu::Device, kernel: &'static Kernel) -> Pipeline {
    let label = format!("headroom.{}", kernel.name);
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(&label),
        source: wgpu::ShaderSource::Wgsl(kernel.wgsl.into()),
    });
    let tensors = kernel.bindings.iter().enumerate().map(|(index, access)| {
        entry(
            index,
            wgpu::BufferBindingType::Storage {
                read_only: *access == Access::Read,
            },
        )
    });
    let params = (!kernel.params.is_empty()).then(|| entry(0, wgpu::BufferBindingType::Uniform));
    let step = kernel
        .uses_step
        .then(|| entry(1, wgpu::BufferBindingType::Uniform));
    let layout = |entries: Vec<wgpu::BindGroupLayoutEntry>| {
        device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(&label),
            entries: &entries,
        })
    };
    let tensors = layout(tensors.collect());
    let numbers = layout(params.into_iter().chain(step).collect());
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(&label),
        bind_group_layouts: &[Some(&tensors), Some(&numbers)],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(&label),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            // No kernel reads workgroup memory that it has not written.
            zero_initialize_workgroup_memory: false,
            ..Default::default()
        },
        cache: None,
    });
    Pipeline {
        pipeline,
        tensors,
        numbers,
    }
}

fn entry(binding: usize, ty: wgpu::BufferBindingType) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding: binding as u32,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}
