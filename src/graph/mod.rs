//! The step graph: values with shape, number format and memory class, and the nodes that make them.
//!
//! A graph holds three programs that share their persistent values: `accumulate` (forward and backward on one
//! micro-batch), `update` (clipping and optimizer) and `evaluate` (forward only, without dropout).

mod backward;
mod build;
mod class;
mod cost;
mod image_op;
mod op;
mod text_op;

pub use backward::backward;
pub use build::chunk_rows;
pub use class::{ByClass, CLASSES, Class};
pub use image_op::{ImageOp, Pool, Window};
pub use op::{Accumulate, Axis, NORM_PARTIALS, Op, Rule};
pub use text_op::{Heads, RowNorm, TextOp};

use crate::dtype::DType;
use serde::{Deserialize, Serialize};

/// Index of a value in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub usize);

/// Index of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// A list of nodes the engine runs as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Program {
    /// Forward and backward on one micro-batch; adds into the gradients.
    Accumulate,
    /// Clipping and optimizer, once per window.
    Update,
    /// Forward on one batch of the test set.
    Evaluate,
    /// Forward of a language model on one text, to the logits of the next token.
    Generate,
}

/// All programs in the order in which a step runs them.
pub const PROGRAMS: [Program; 4] = [
    Program::Accumulate,
    Program::Update,
    Program::Evaluate,
    Program::Generate,
];

impl Program {
    /// The word used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accumulate => "accumulate",
            Self::Update => "update",
            Self::Evaluate => "evaluate",
            Self::Generate => "generate",
        }
    }
}

/// Part of a step a node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// From the batch to the loss.
    Forward,
    /// From the loss to the gradients.
    Backward,
    /// From the gradients to the weights.
    Update,
}

impl Phase {
    /// The word used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Update => "update",
        }
    }
}

/// How a parameter starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// All zeros.
    Zeros,
    /// All ones.
    Ones,
    /// Uniform in [-bound, bound].
    Uniform {
        /// Largest absolute value.
        bound: f32,
    },
    /// Cosine and sine of the angles of rotary positions: [positions, head_dim], pairs side by side.
    Rotary,
}

/// A tensor of the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Name, unique in the graph.
    pub name: String,
    /// Lengths of the axes, outermost first.
    pub shape: Vec<usize>,
    /// Number format.
    pub dtype: DType,
    /// Memory class. For a transient value the planner decides between activations and workspace.
    pub class: Class,
    /// Keeps its bytes from step to step.
    pub persistent: bool,
    /// How it starts, for a parameter and for other numbers that are there from the start.
    pub init: Option<Init>,
}

impl Value {
    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes of the elements, before the pool rounds them up.
    pub fn bytes(&self) -> u64 {
        self.dtype.bytes(self.elements())
    }
}

/// One operation of the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name, unique in its program.
    pub name: String,
    /// What it computes.
    pub op: Op,
    /// Values it reads, in the order of the kernel's bindings.
    pub reads: Vec<ValueId>,
    /// Values it writes; a persistent one may be read too.
    pub writes: Vec<ValueId>,
    /// Program it belongs to.
    pub program: Program,
    /// Part of the step it belongs to.
    pub phase: Phase,
}

/// A trainable value with its gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The weights.
    pub value: ValueId,
    /// The gradient, once [`backward`] has made it.
    pub gradient: Option<ValueId>,
}

/// Something is wrong with the network as described; always found before any memory is taken.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum GraphError {
    /// Two shapes do not fit each other.
    #[error("{op} (\"{node}\"): shapes {left:?} and {right:?} do not fit: {rule}")]
    Shapes {
        /// Operation.
        op: &'static str,
        /// Name the node would have had.
        node: String,
        /// Shape of the first input.
        left: Vec<usize>,
        /// Shape of the second input, or the one asked for.
        right: Vec<usize>,
        /// What would fit.
        rule: &'static str,
    },
    /// An operation computes in F32 and got another format.
    #[error("{op} (\"{node}\") reads F32, its input \"{input}\" is {found:?}; cast it first")]
    Format {
        /// Operation.
        op: &'static str,
        /// Name the node would have had.
        node: String,
        /// The input.
        input: String,
        /// Its format.
        found: crate::dtype::DType,
    },
    /// A shape has more elements than can be addressed.
    #[error(
        "\"{name}\": the shape {shape:?} has more elements than a kernel can address (4294967295)"
    )]
    TooLarge {
        /// Value.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// The network cannot take samples of the kind there are.
    #[error(
        "model.kind = \"{model}\" takes {needs}, but the samples of data.source are {found}; {hint}"
    )]
    Samples {
        /// The network.
        model: &'static str,
        /// What it takes.
        needs: &'static str,
        /// What there is.
        found: String,
        /// What to do.
        hint: &'static str,
    },
    /// A statistic over a single value was asked for.
    #[error(
        "batch_norm (\"{node}\"): its input {shape:?} has one value per channel, of which there is no variance; take a larger micro-batch (data.batch / techniques.accumulate), fewer stages, or larger pictures"
    )]
    OneValue {
        /// Name the node would have had.
        node: String,
        /// Shape of the input.
        shape: Vec<usize>,
    },
    /// The operation has no gradient by the input that needs one.
    #[error("{op} (\"{node}\") has no gradient, but a parameter is reached through it")]
    NoGradient {
        /// Operation.
        op: &'static str,
        /// Its node.
        node: String,
    },
}

/// Values and nodes of a training step.
#[derive(Clone, Debug)]
pub struct Graph {
    /// All values; [`ValueId`] indexes them.
    pub values: Vec<Value>,
    /// All nodes in a valid order; [`NodeId`] indexes them.
    pub nodes: Vec<Node>,
    /// Trainable values in the order they were declared.
    pub parameters: Vec<Parameter>,
    program: Program,
    phase: Phase,
    n_dropouts: u32,
}

impl Graph {
    /// Number of trainable numbers, each counted once however often it is used.
    pub fn n_params(&self) -> usize {
        self.parameters
            .iter()
            .map(|p| self[p.value].elements())
            .sum()
    }

    /// Nodes of one program in order.
    pub fn program(&self, program: Program) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes
            .iter()
            .enumerate()
            .filter(move |(_, n)| n.program == program)
            .map(|(i, n)| (NodeId(i), n))
    }

    /// Finds a value by name.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.values.iter().position(|v| v.name == name).map(ValueId)
    }
}

impl std::ops::Index<ValueId> for Graph {
    type Output = Value;
    fn index(&self, id: ValueId) -> &Value {
        &self.values[id.0]
    }
}

impl std::ops::Index<NodeId> for Graph {
    type Output = Node;
    fn index(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }
}

/// Rows and columns of a shape seen as a matrix: the last axis are the columns. Swapped if `transposed`.
pub fn matrix(shape: &[usize], transposed: bool) -> (usize, usize) {
    let cols = shape.last().copied().unwrap_or(1);
    let rows = shape.iter().rev().skip(1).product();
    if transposed {
        (cols, rows)
    } else {
        (rows, cols)
    }
}
