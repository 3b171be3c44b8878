//! Kernels as data: what `build.rs` reflected from `shaders/`, and what a launch of one needs.
//!
//! A kernel is one WGSL text. Its bindings, uniform layout and workgroup size are read from that
//! text when the crate is built, so no number is written down twice.

use std::cell::Cell;

/// Words of one buffer as a twin sees them: shared, so that an in-place kernel can read and write one buffer.
pub type Words = [Cell<u32>];

/// A number in a launch's uniform block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// An unsigned integer: a size, a stride, a mode.
    U32(u32),
    /// A float: a rate, a factor.
    F32(f32),
}

/// A kernel could not be launched as asked; always a defect of Headroom, never of the experiment.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum KernelError {
    /// The lowering asked for a kernel that `shaders/` does not hold.
    #[error("there is no kernel named \"{0}\" in shaders/")]
    Unknown(String),
    /// The uniform block of a kernel has a field that the launch does not set, or the other way round.
    #[error("kernel \"{kernel}\": parameter \"{param}\" {problem}")]
    Param {
        /// Kernel name.
        kernel: String,
        /// Field of its `Params` struct.
        param: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A launch binds another number of buffers than the kernel declares.
    #[error("kernel \"{kernel}\" declares {expected} bindings, the launch gives {got}")]
    Bindings {
        /// Kernel name.
        kernel: String,
        /// Number in the WGSL.
        expected: usize,
        /// Number in the launch.
        got: usize,
    },
}

/// The values of a kernel's `Params` struct by field name. At most 256 bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params(Vec<(&'static str, Scalar)>);

impl Params {
    /// No parameters yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an unsigned field. Sizes above `u32::MAX` are refused by the planner long before.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: usize) -> Self {
        self.0
            .push((name, Scalar::U32(u32::try_from(value).unwrap_or(u32::MAX))));
        self
    }

    /// Sets a float field.
    #[must_use]
    pub fn with_f32(mut self, name: &'static str, value: f32) -> Self {
        self.0.push((name, Scalar::F32(value)));
        self
    }

    /// All fields in the order they were set.
    pub fn iter(&self) -> impl Iterator<Item = &(&'static str, Scalar)> {
        self.0.iter()
    }

    /// Reads an unsigned field, as a `usize` for indexing.
    ///
    /// # Errors
    /// [`KernelError::Param`] if the field is not set or is a float.
    pub fn get(&self, name: &str) -> Result<usize, KernelError> {
        match self.find(name)? {
            Scalar::U32(value) => Ok(value as usize),
            Scalar::F32(_) => Err(Self::error(name, "is a float, an integer was asked for")),
        }
    }

    /// Reads a float field.
    ///
    /// # Errors
    /// [`KernelError::Param`] if the field is not set or is an integer.
    pub fn get_f32(&self, name: &str) -> Result<f32, KernelError> {
        match self.find(name)? {
            Scalar::F32(value) => Ok(value),
            Scalar::U32(_) => Err(Self::error(name, "is an integer, a float was asked for")),
        }
    }

    fn find(&self, name: &str) -> Result<Scalar, KernelError> {
        self.0
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, s)| *s)
            .ok_or_else(|| Self::error(name, "is not set by the launch"))
    }

    fn error(param: &str, problem: &'static str) -> KernelError {
        KernelError::Param {
            kernel: "(twin)".into(),
            param: param.into(),
            problem,
        }
    }

    /// The bytes of the uniform block, laid out as the WGSL of `kernel` declares it.
    ///
    /// # Errors
    /// [`KernelError::Param`] if a field is missing, unknown or of the other type.
    pub fn bytes(&self, kernel: &Kernel) -> Result<[u8; PARAMS_BYTES], KernelError> {
        let error = |param: &str, problem| KernelError::Param {
            kernel: kernel.name.into(),
            param: param.into(),
            problem,
        };
        if let Some((name, _)) = self
            .0
            .iter()
            .find(|(n, _)| kernel.params.iter().all(|f| f.name != *n))
        {
            return Err(error(name, "is not a field of the kernel's Params"));
        }
        let mut bytes = [0; PARAMS_BYTES];
        for field in kernel.params {
            let value = self
                .0
                .iter()
                .find(|(n, _)| *n == field.name)
                .map(|(_, s)| *s);
            let word = match (value, field.is_float) {
                (Some(Scalar::U32(v)), false) => v.to_le_bytes(),
                (Some(Scalar::F32(v)), true) => v.to_le_bytes(),
                (Some(_), _) => {
                    return Err(error(
                        field.name,
                        "has the other type in the kernel's Params",
                    ));
                }
                (None, _) => return Err(error(field.name, "is not set by the launch")),
            };
            let target = bytes.get_mut(field.offset..field.offset + 4);
            target
                .ok_or_else(|| error(field.name, "lies past the end of the uniform block"))?
                .copy_from_slice(&word);
        }
        Ok(bytes)
    }
}

/// Bytes one launch's `Params` take in the uniform buffer: the alignment every WebGPU device allows for a uniform.
pub const PARAMS_BYTES: usize = 256;

/// Numbers that change from step to step, shared by all kernels of a step. Same layout as `struct Step` in
/// `shaders/lib/step.wgsl`; a test compares the two.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Step {
    /// The experiment's seed.
    pub seed: u32,
    /// Optimizer updates done before this step.
    pub update: u32,
    /// Index of the micro-batch inside its accumulation window.
    pub micro: u32,
    /// Rows of the batch that hold real samples; the rest is padding, carries the label [`IGNORE`], and adds nothing.
    pub rows: u32,
    /// One over the number of samples in the whole accumulation window.
    pub inv_samples: f32,
    /// Learning rate of this update.
    pub lr: f32,
    /// `1 - beta1^t` of Adam, t counted from 1.
    pub bias1: f32,
    /// `1 - beta2^t` of Adam.
    pub bias2: f32,
    /// Largest allowed global norm of the gradient, 0 for no clipping.
    pub max_norm: f32,
}

/// Label of a padding row: it adds nothing to loss, gradient or accuracy.
pub const IGNORE: u32 = u32::MAX;

/// How a binding is used, as the WGSL declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `var<storage, read>`.
    Read,
    /// `var<storage, read_write>`.
    ReadWrite,
}

/// One field of a kernel's `Params` struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in the WGSL.
    pub name: &'static str,
    /// Byte offset in the struct.
    pub offset: usize,
    /// `f32` if true, `u32` if not.
    pub is_float: bool,
}

/// One compiled variant of one file in `shaders/`.
#[derive(Debug)]
pub struct Kernel {
    /// Stem and features: `relu`, `relu.in_place`, `matmul_register.tn`.
    pub name: &'static str,
    /// File stem in `shaders/`.
    pub stem: &'static str,
    /// The header of the file, without the comment marks: formula, shapes, reads and writes.
    pub header: &'static str,
    /// The text that is given to the driver, header included.
    pub wgsl: &'static str,
    /// The file as it stands in `shaders/`, before imports and variants are resolved.
    pub source: &'static str,
    /// Storage bindings of group 0 in order.
    pub bindings: &'static [Access],
    /// Fields of group 1, binding 0 (`params`); empty if the kernel has none.
    pub params: &'static [Field],
    /// Whether group 1, binding 1 (`step`) is declared.
    pub uses_step: bool,
    /// Invocations per workgroup.
    pub workgroup: [u32; 3],
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// Finds a kernel by its full name.
///
/// # Errors
/// [`KernelError::Unknown`].
pub fn kernel(name: &str) -> Result<&'static Kernel, KernelError> {
    KERNELS
        .iter()
        .find(|k| k.name == name)
        .ok_or_else(|| KernelError::Unknown(name.into()))
}

/// Most workgroups WebGPU allows in one dimension of a dispatch.
pub const MAX_GROUPS: u32 = 65535;

/// Folds a one-dimensional dispatch of `groups` workgroups into two dimensions when one cannot hold it.
/// The kernels find their index with `linear_index` of `shaders/lib/index.wgsl` and check it against the size.
pub fn fold_groups(groups: usize) -> [u32; 3] {
    let groups = u32::try_from(groups).unwrap_or(u32::MAX).max(1);
    if groups <= MAX_GROUPS {
        return [groups, 1, 1];
    }
    // As square as possible wastes the fewest idle workgroups in the last row.
    let rows = groups.div_ceil(MAX_GROUPS);
    [groups.div_ceil(rows), rows, 1]
}
