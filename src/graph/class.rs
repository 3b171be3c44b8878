//! Memory classes: the words in which every byte is accounted for, in the UI, the reports and the lessons.

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a byte of device memory is used for. Every byte has exactly one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Parameters of the network.
    Weights,
    /// F32 copy of the weights under mixed precision.
    MasterWeights,
    /// Derivative of the loss by each parameter.
    Gradients,
    /// What the optimizer remembers between updates.
    OptimizerState,
    /// Made in the forward pass, read in the backward pass.
    Activations,
    /// Any other value that lives only inside a step, and the numbers a launch needs.
    Workspace,
    /// The batch.
    Data,
    /// Pruning masks and indices.
    Sparsity,
    /// Buffers through which results reach the host.
    Staging,
    /// Held by the pool and used by nobody at this moment.
    Cached,
}

/// All classes, in the order of reports, legends and stacks.
pub const CLASSES: [Class; 10] = [
    Class::Weights,
    Class::MasterWeights,
    Class::Gradients,
    Class::OptimizerState,
    Class::Activations,
    Class::Workspace,
    Class::Data,
    Class::Sparsity,
    Class::Staging,
    Class::Cached,
];

impl Class {
    /// The word used everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::MasterWeights => "master_weights",
            Self::Gradients => "gradients",
            Self::OptimizerState => "optimizer_state",
            Self::Activations => "activations",
            Self::Workspace => "workspace",
            Self::Data => "data",
            Self::Sparsity => "sparsity",
            Self::Staging => "staging",
            Self::Cached => "cached",
        }
    }

    /// One sentence for a reader who meets the word for the first time.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::Weights => "The parameters of the network.",
            Self::MasterWeights => "An F32 copy of weights that are stored in half precision.",
            Self::Gradients => "The derivative of the loss by each parameter.",
            Self::OptimizerState => {
                "What the optimizer remembers between updates; Adam keeps two numbers per weight."
            }
            Self::Activations => "Results of the forward pass that the backward pass reads again.",
            Self::Workspace => {
                "Values that live only for a moment inside a step, and the numbers each launch needs."
            }
            Self::Data => "The batch of samples and labels.",
            Self::Sparsity => "Masks and indices of pruned weights.",
            Self::Staging => "Small buffers through which the loss comes back to the host.",
            Self::Cached => "Held ready by the pool, used by nobody at this moment.",
        }
    }
}

/// Bytes by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByClass([u64; CLASSES.len()]);

impl ByClass {
    /// Bytes of one class.
    pub fn get(&self, class: Class) -> u64 {
        self.0[class as usize]
    }

    /// Sets the bytes of one class.
    pub fn set(&mut self, class: Class, bytes: u64) {
        self.0[class as usize] = bytes;
    }

    /// Adds to one class.
    pub fn add(&mut self, class: Class, bytes: u64) {
        self.0[class as usize] += bytes;
    }

    /// Takes from one class. Taking more than there is would be a defect of the ledger; it stops at 0 in release
    /// builds, where the tests that compare every node with the plan would show it.
    pub fn sub(&mut self, class: Class, bytes: u64) {
        debug_assert!(
            self.0[class as usize] >= bytes,
            "{} bytes of {} taken, {} there",
            bytes,
            class.name(),
            self.get(class)
        );
        self.0[class as usize] = self.0[class as usize].saturating_sub(bytes);
    }

    /// All classes with their bytes, zeros included.
    pub fn iter(&self) -> impl Iterator<Item = (Class, u64)> + '_ {
        CLASSES.into_iter().map(|class| (class, self.get(class)))
    }

    /// Bytes in use by somebody: all classes but `cached`.
    pub fn allocated(&self) -> u64 {
        self.reserved() - self.get(Class::Cached)
    }

    /// Bytes taken from the device: all classes.
    pub fn reserved(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The larger of both for each class.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        let mut larger = *self;
        for (class, bytes) in other.iter() {
            larger.set(class, bytes.max(self.get(class)));
        }
        larger
    }
}

impl Serialize for ByClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(CLASSES.len()))?;
        for (class, bytes) in self.iter() {
            map.serialize_entry(class.name(), &bytes)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ByClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = std::collections::BTreeMap::<String, u64>::deserialize(deserializer)?;
        let mut by_class = Self::default();
        for (name, bytes) in map {
            let class = CLASSES.into_iter().find(|c| c.name() == name);
            let class = class.ok_or_else(|| {
                serde::de::Error::custom(format!("unknown memory class \"{name}\""))
            })?;
            by_class.set(class, bytes);
        }
        Ok(by_class)
    }
}
