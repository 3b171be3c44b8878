//! Runs one kernel on a GPU and its twin on the CPU, with poisoned outputs and guarded tails, and compares the two.

use super::compare::{self, Agreement, Tolerance};
use headroom::engine::cpu::twins::run_twin;
use headroom::engine::kernel::{Access, Kernel, Params, Step, fold_groups, kernel};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

/// Stands in every word that a kernel has not written: a NaN that no arithmetic produces.
pub(crate) const POISON: u32 = 0x7fc0_dead;
/// Stands past the end of a read-only buffer: another NaN, so that reading there spoils a sum, and copying it shows.
const READ_PAD: u32 = 0x7fc0_beef;
/// Stands past the end of a buffer that is read and written: about -7.27, which no kernel maps to itself.
const READ_WRITE_PAD: u32 = 0xc0e8_dead;
/// Words of padding after the end of every buffer. They are part of the binding, so that a stray write lands in them.
const GUARD_WORDS: usize = 64;
/// Tensors are padded to a multiple of this.
const PAD_WORDS: usize = 64;

/// One buffer of a launch.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// Read only.
    Input(Vec<u32>),
    /// Written only: this many words, poisoned before the launch. Compared with the twin's as floats.
    Output(usize, Tolerance),
    /// Read and written: the words before the launch. Compared as floats.
    InOut(Vec<f32>, Tolerance),
    /// Written only, compared as bit patterns.
    Bits(usize),
}

impl Operand {
    /// A read-only buffer of floats.
    pub(crate) fn input(values: &[f32]) -> Self {
        Self::Input(values.iter().map(|v| v.to_bits()).collect())
    }

    fn pad(&self) -> u32 {
        match self {
            Self::Input(_) => READ_PAD,
            Self::InOut(..) => READ_WRITE_PAD,
            Self::Output(..) | Self::Bits(_) => POISON,
        }
    }

    fn initial(&self) -> Vec<u32> {
        match self {
            Self::Input(words) => words.clone(),
            Self::InOut(values, _) => values.iter().map(|v| v.to_bits()).collect(),
            Self::Output(n, _) | Self::Bits(n) => vec![POISON; *n],
        }
    }
}

/// How many workgroups a launch has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grid {
    /// As many as it takes for this number of invocations, folded past 65535.
    Invocations(usize),
    /// Exactly these.
    Groups(usize, usize),
}

/// One launch of one kernel, with everything it needs.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Kernel name with its variant.
    pub(crate) kernel: &'static str,
    /// What is special about it, for the message.
    pub(crate) label: String,
    /// Uniform values.
    pub(crate) params: Params,
    /// Numbers of the step.
    pub(crate) step: Step,
    /// Buffers in the shader's order.
    pub(crate) operands: Vec<Operand>,
    /// Size of the dispatch.
    pub(crate) grid: Grid,
}

impl Case {
    /// Runs kernel and twin and compares every buffer that is written.
    ///
    /// # Errors
    /// Everything that is wrong with the launch, in one message that names the case.
    pub(crate) fn check(&self, gpu: &Gpu) -> Result<Agreement, String> {
        self.check_against(gpu, kernel(self.kernel).map_err(|e| e.to_string())?)
    }

    /// The same with another kernel in the place of the one named, so that a wrong one can be shown to fail.
    ///
    /// # Errors
    /// As for [`Case::check`].
    pub(crate) fn check_against(&self, gpu: &Gpu, kernel: &Kernel) -> Result<Agreement, String> {
        let name = format!("{} ({})", kernel.name, self.label);
        let outputs = self.run(gpu, kernel).map_err(|e| format!("{name}: {e}"))?;
        let expected = self.run_twin().map_err(|e| format!("{name}: twin: {e}"))?;
        let mut worst = Agreement::default();
        let mut errors = Vec::new();
        for (i, (operand, (got, expected))) in self
            .operands
            .iter()
            .zip(outputs.iter().zip(&expected))
            .enumerate()
        {
            let floats =
                |words: &[u32]| words.iter().map(|w| f32::from_bits(*w)).collect::<Vec<_>>();
            let seen = match operand {
                Operand::Input(_) => continue,
                Operand::Bits(_) => compare::compare_bits(got, expected),
                Operand::Output(_, t) | Operand::InOut(_, t) => {
                    compare::compare(&floats(got), &floats(expected), *t)
                }
            };
            match seen {
                Ok(seen) if seen.used >= worst.used => worst = seen,
                Ok(_) => {}
                Err(e) => errors.push(format!("{name}: binding {i}: {e}")),
            }
        }
        if errors.is_empty() {
            Ok(worst)
        } else {
            Err(errors.join("\n"))
        }
    }

    /// What the kernel leaves in each buffer, without padding and guard.
    ///
    /// # Errors
    /// A validation error, poison left inside, or a word changed outside.
    pub(crate) fn run(&self, gpu: &Gpu, kernel: &Kernel) -> Result<Vec<Vec<u32>>, String> {
        let params = self.params.bytes(kernel).map_err(|e| e.to_string())?;
        let groups = match self.grid {
            Grid::Invocations(n) => fold_groups(n.div_ceil(kernel.workgroup[0] as usize)),
            Grid::Groups(x, y) => [x as u32, y as u32, 1],
        };
        let initial: Vec<_> = self.operands.iter().map(Operand::initial).collect();
        let padded = initial.iter().zip(&self.operands).map(|(words, operand)| {
            let mut all = words.clone();
            let length = words.len().next_multiple_of(PAD_WORDS) + GUARD_WORDS;
            all.resize(length, operand.pad());
            all
        });
        let written = gpu.launch(
            kernel,
            &params,
            self.step,
            &padded.collect::<Vec<_>>(),
            groups,
        )?;
        let mut results = Vec::new();
        for (i, (mut words, operand)) in written.into_iter().zip(&self.operands).enumerate() {
            let n = initial[i].len();
            if let Some(at) = words[..n].iter().position(|w| *w == POISON) {
                return Err(format!("binding {i}: word [{at}] of {n} was not written"));
            }
            // A kernel that works on four elements at a time may write up to the next multiple of four.
            let end = n.next_multiple_of(4);
            if let Some(at) = words[end..].iter().position(|w| *w != operand.pad()) {
                let (at, word) = (end + at, words[end + at]);
                return Err(format!(
                    "binding {i}: word [{at}] past the end ({n}) was set to {word:#010x}"
                ));
            }
            words.truncate(n);
            results.push(words);
        }
        Ok(results)
    }

    fn run_twin(&self) -> Result<Vec<Vec<u32>>, String> {
        let buffers: Vec<Vec<Cell<u32>>> = self
            .operands
            .iter()
            .map(|o| o.initial().into_iter().map(Cell::new).collect())
            .collect();
        let bindings: Vec<&[Cell<u32>]> = buffers.iter().map(Vec::as_slice).collect();
        run_twin(self.kernel, &self.params, &self.step, &bindings).map_err(|e| e.to_string())?;
        Ok(buffers
            .iter()
            .map(|b| b.iter().map(Cell::get).collect())
            .collect())
    }
}

/// A device of its own with the default limits of WebGPU, on which any validation error is a failure.
pub(crate) struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    uncaptured: Arc<Mutex<Vec<String>>>,
    pipelines: RefCell<HashMap<String, wgpu::ComputePipeline>>,
}

impl Gpu {
    /// Opens the first adapter and says on stderr which it is, past the capture of the test runner.
    ///
    /// # Panics
    /// Without an adapter: a GPU test that has not run must not look as if it had.
    pub(crate) fn open(test: &str) -> Self {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
            .expect("these tests need a GPU adapter; on Linux the package mesa-vulkan-drivers has one in software");
        let info = adapter.get_info();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("headroom.test"),
            required_limits: wgpu::Limits::default(),
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .expect("a device with the default limits");
        let uncaptured = Arc::new(Mutex::new(Vec::new()));
        let errors = uncaptured.clone();
        device.on_uncaptured_error(Arc::new(move |e| {
            errors.lock().unwrap().push(e.to_string());
        }));
        // What eprintln! writes is swallowed in a test that passes.
        let mut terminal = std::io::stderr();
        writeln!(terminal, "[gpu] {test} on {} ({})", info.name, info.backend).unwrap();
        Self {
            device,
            queue,
            uncaptured,
            pipelines: RefCell::default(),
        }
    }

    /// Runs one dispatch over copies of `buffers` and returns what stands in them afterwards, read-only ones included.
    fn launch(
        &self,
        kernel: &Kernel,
        params: &[u8],
        step: Step,
        buffers: &[Vec<u32>],
        groups: [u32; 3],
    ) -> Result<Vec<Vec<u32>>, String> {
        if buffers.len() != kernel.bindings.len() {
            return Err(format!(
                "declares {} bindings, the case has {}",
                kernel.bindings.len(),
                buffers.len()
            ));
        }
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let pipeline = self.pipeline(kernel);
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let tensors: Vec<_> = buffers
            .iter()
            .map(|b| self.buffer(bytemuck::cast_slice(b), storage))
            .collect();
        let params = self.buffer(params, wgpu::BufferUsages::UNIFORM);
        let step = self.buffer(bytemuck::bytes_of(&step), wgpu::BufferUsages::UNIFORM);
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor {
                label: Some(kernel.name),
            });
        {
            let descriptor = wgpu::ComputePassDescriptor {
                label: Some(kernel.name),
                timestamp_writes: None,
            };
            let mut pass = encoder.begin_compute_pass(&descriptor);
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(
                0,
                &self.bind(&pipeline, 0, &tensors.iter().collect::<Vec<_>>()),
                &[],
            );
            match (kernel.params.is_empty(), kernel.uses_step) {
                (false, false) => pass.set_bind_group(1, &self.bind(&pipeline, 1, &[&params]), &[]),
                (false, true) => {
                    pass.set_bind_group(1, &self.bind(&pipeline, 1, &[&params, &step]), &[]);
                }
                (true, _) => {}
            }
            pass.dispatch_workgroups(groups[0], groups[1], groups[2]);
        }
        let readable = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
        let copies: Vec<_> = tensors
            .iter()
            .map(|t| self.empty(t.size(), readable))
            .collect();
        for (tensor, copy) in tensors.iter().zip(&copies) {
            encoder.copy_buffer_to_buffer(tensor, 0, copy, 0, tensor.size());
        }
        self.queue.submit([encoder.finish()]);
        if let Some(error) = pollster::block_on(scope.pop()) {
            return Err(format!("validation: {error}"));
        }
        copies
            .iter()
            .for_each(|c| c.map_async(wgpu::MapMode::Read, .., |result| result.unwrap()));
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|e| e.to_string())?;
        if let Some(error) = self.uncaptured.lock().unwrap().first() {
            return Err(format!("uncaptured: {error}"));
        }
        Ok(copies
            .iter()
            .map(|c| bytemuck::cast_slice(&c.get_mapped_range(..).unwrap()).to_vec())
            .collect())
    }

    /// Compiled once per text: software adapters take up to a second for one.
    fn pipeline(&self, kernel: &Kernel) -> wgpu::ComputePipeline {
        let build = || {
            let source = wgpu::ShaderSource::Wgsl(kernel.wgsl.into());
            let descriptor = wgpu::ShaderModuleDescriptor {
                label: Some(kernel.name),
                source,
            };
            let module = self.device.create_shader_module(descriptor);
            self.device
                .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(kernel.name),
                    layout: Some(&self.layout(kernel)),
                    module: &module,
                    entry_point: Some("main"),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    cache: None,
                })
        };
        self.pipelines
            .borrow_mut()
            .entry(kernel.wgsl.to_owned())
            .or_insert_with(build)
            .clone()
    }

    /// The layout the table says the kernel has, not one the driver derives: so the table is tested as well.
    fn layout(&self, kernel: &Kernel) -> wgpu::PipelineLayout {
        let entry = |binding: usize, ty| wgpu::BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty,
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let storage = |access: &Access| wgpu::BufferBindingType::Storage {
            read_only: *access == Access::Read,
        };
        let tensors: Vec<_> = kernel
            .bindings
            .iter()
            .enumerate()
            .map(|(i, a)| entry(i, storage(a)))
            .collect();
        let uniforms = usize::from(!kernel.params.is_empty()) + usize::from(kernel.uses_step);
        let uniforms: Vec<_> = (0..uniforms)
            .map(|i| entry(i, wgpu::BufferBindingType::Uniform))
            .collect();
        let group = |entries: &[wgpu::BindGroupLayoutEntry]| {
            self.device
                .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                    label: Some(kernel.name),
                    entries,
                })
        };
        let (tensors, uniforms) = (group(&tensors), group(&uniforms));
        self.device
            .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(kernel.name),
                bind_group_layouts: &[Some(&tensors), Some(&uniforms)],
                immediate_size: 0,
            })
    }

    fn bind(
        &self,
        pipeline: &wgpu::ComputePipeline,
        group: u32,
        buffers: &[&wgpu::Buffer],
    ) -> wgpu::BindGroup {
        let entries = buffers.iter().enumerate();
        let entries: Vec<_> = entries
            .map(|(i, b)| wgpu::BindGroupEntry {
                binding: i as u32,
                resource: b.as_entire_binding(),
            })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("headroom.test"),
            layout: &pipeline.get_bind_group_layout(group),
            entries: &entries,
        })
    }

    fn empty(&self, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let label = Some("headroom.test");
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label,
            size,
            usage,
            mapped_at_creation: false,
        })
    }

    fn buffer(&self, bytes: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let buffer = self.empty(bytes.len() as u64, usage | wgpu::BufferUsages::COPY_DST);
        self.queue.write_buffer(&buffer, 0, bytes);
        buffer
    }
}
