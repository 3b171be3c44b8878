//! Builder methods of the graph: each checks shapes, adds a node and gives back its output.

mod image;
mod loss;
mod text;

pub(super) use image::{blocks, splits};
pub use loss::chunk_rows;

use super::{
    Accumulate, Axis, Class, Graph, GraphError, Init, Node, Op, Parameter, Phase, Program, TextOp,
    Value, ValueId, matrix,
};
use crate::dtype::DType;

impl Default for Graph {
    fn default() -> Self {
        Self::new()
    }
}

impl Graph {
    /// An empty graph that takes forward nodes of the `accumulate` program.
    pub fn new() -> Self {
        Self {
            values: Vec::new(),
            nodes: Vec::new(),
            parameters: Vec::new(),
            program: Program::Accumulate,
            phase: Phase::Forward,
            n_dropouts: 0,
        }
    }

    /// Sets where the nodes that follow belong.
    pub fn enter(&mut self, program: Program, phase: Phase) {
        self.program = program;
        self.phase = phase;
    }

    /// A value that keeps its bytes from step to step. A second call with the same name gives the same value.
    pub fn persistent(
        &mut self,
        name: &str,
        shape: &[usize],
        dtype: DType,
        class: Class,
    ) -> ValueId {
        self.find(name).unwrap_or_else(|| {
            self.push_value(Value {
                name: name.into(),
                shape: shape.into(),
                dtype,
                class,
                persistent: true,
                init: None,
            })
        })
    }

    /// F32 numbers that are there from the start and not trained by a gradient: running statistics, tables. A second
    /// call with the same name gives the same value.
    pub fn constant(&mut self, name: &str, shape: &[usize], class: Class, init: Init) -> ValueId {
        let value = self.persistent(name, shape, DType::F32, class);
        if let Some(value) = self.values.get_mut(value.0) {
            value.init = Some(init);
        }
        value
    }

    /// A trainable F32 value. A second call with the same name gives the same value: that is how weights are tied, and
    /// how `evaluate` shares them with `accumulate`.
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if the name is taken by a parameter of another shape.
    pub fn parameter(
        &mut self,
        name: &str,
        shape: &[usize],
        init: Init,
    ) -> Result<ValueId, GraphError> {
        if let Some(value) = self.find(name) {
            if self[value].shape != shape {
                let rule = "a parameter that is used twice has one shape";
                return Err(self.shapes("parameter", name, &self[value].shape, shape, rule));
            }
            return Ok(value);
        }
        let value = Value {
            name: name.into(),
            shape: shape.into(),
            dtype: DType::F32,
            class: Class::Weights,
            persistent: true,
            init: Some(init),
        };
        self.check_size(&value)?;
        let value = self.push_value(value);
        self.parameters.push(Parameter {
            value,
            gradient: None,
        });
        Ok(value)
    }

    /// `op(a) · op(b)`: [m, k] times [k, n] is [m, n]; leading axes of `a` count as rows.
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if the inner lengths differ.
    pub fn matmul(
        &mut self,
        name: &str,
        a: ValueId,
        b: ValueId,
        trans_a: bool,
        trans_b: bool,
    ) -> Result<ValueId, GraphError> {
        let (m, k) = matrix(&self[a].shape, trans_a);
        let (k_b, n) = matrix(&self[b].shape, trans_b);
        if k != k_b || self[b].shape.len() != 2 {
            let rule =
                "the inner lengths of a matrix product are equal, and the right side is a matrix";
            return Err(self.shapes("matmul", name, &self[a].shape, &self[b].shape, rule));
        }
        let mut shape = self[a].shape.clone();
        if trans_a || shape.len() < 2 {
            shape = vec![m, n];
        } else if let Some(last) = shape.last_mut() {
            *last = n;
        }
        let op = Op::Matmul {
            trans_a,
            trans_b,
            accumulate: Accumulate::Overwrite,
        };
        self.push_node(name, op, &[a, b], &shape, DType::F32)
    }

    /// Adds `b` of shape [n] to every row of `x`.
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if `b` is not one row of `x`.
    pub fn bias(&mut self, name: &str, x: ValueId, b: ValueId) -> Result<ValueId, GraphError> {
        let (_, cols) = matrix(&self[x].shape, false);
        if self[b].elements() != cols {
            let rule = "a bias has one number per column";
            return Err(self.shapes("bias", name, &self[x].shape, &self[b].shape, rule));
        }
        self.map(name, Op::Bias, &[x, b])
    }

    /// max(x, 0).
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn relu(&mut self, name: &str, x: ValueId) -> Result<ValueId, GraphError> {
        self.map(name, Op::Relu, &[x])
    }

    /// GELU (Hendrycks and Gimpel 2016, arXiv:1606.08415), exact or with the tanh of the same paper.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn gelu(&mut self, name: &str, x: ValueId, tanh: bool) -> Result<ValueId, GraphError> {
        self.map(name, Op::Gelu { tanh }, &[x])
    }

    /// Dropout (Srivastava et al. 2014): sets `share` of the elements to zero, scales the rest by 1/(1 - share). The
    /// mask is a function of seed, update, micro-batch, node and element, so it is drawn again instead of kept.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn dropout(&mut self, name: &str, x: ValueId, share: f32) -> Result<ValueId, GraphError> {
        let key = self.n_dropouts;
        self.n_dropouts += 1;
        self.map(name, Op::Dropout { share, key }, &[x])
    }

    /// Elementwise sum of two values of one shape.
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if the shapes differ.
    pub fn add(&mut self, name: &str, a: ValueId, b: ValueId) -> Result<ValueId, GraphError> {
        if self[a].shape != self[b].shape {
            return Err(self.shapes(
                "add",
                name,
                &self[a].shape,
                &self[b].shape,
                "a sum needs two equal shapes",
            ));
        }
        self.map(name, Op::Add, &[a, b])
    }

    /// `factor * x`.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn scale(&mut self, name: &str, x: ValueId, factor: f32) -> Result<ValueId, GraphError> {
        self.map(name, Op::Scale { factor }, &[x])
    }

    /// The elements of `x` under another shape.
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if the number of elements differs.
    pub fn reshape(
        &mut self,
        name: &str,
        x: ValueId,
        shape: &[usize],
    ) -> Result<ValueId, GraphError> {
        if shape.iter().try_fold(1usize, |n, l| n.checked_mul(*l)) != Some(self[x].elements()) {
            return Err(self.shapes(
                "reshape",
                name,
                &self[x].shape,
                shape,
                "both shapes have the same number of elements",
            ));
        }
        self.push_node(name, Op::Reshape, &[x], shape, self[x].dtype)
    }

    /// Sum of a matrix over `axis`, times `factor`.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn reduce(
        &mut self,
        name: &str,
        x: ValueId,
        axis: Axis,
        factor: f32,
    ) -> Result<ValueId, GraphError> {
        let (rows, cols) = matrix(&self[x].shape, false);
        let shape = [match axis {
            Axis::Rows => cols,
            Axis::Cols => rows,
            Axis::All => 1,
        }];
        let op = Op::Reduce {
            axis,
            factor,
            per_sample: false,
            accumulate: Accumulate::Overwrite,
        };
        self.push_node(name, op, &[x], &shape, DType::F32)
    }

    /// Converts between F32 and another float format.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn cast(&mut self, name: &str, x: ValueId, to: DType) -> Result<ValueId, GraphError> {
        let from = self[x].dtype;
        let shape = self[x].shape.clone();
        self.push_node(name, Op::Cast { from, to }, &[x], &shape, to)
    }

    /// A value that lives only inside a step.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn transient(
        &mut self,
        name: &str,
        shape: &[usize],
        dtype: DType,
    ) -> Result<ValueId, GraphError> {
        let mut name = name.to_owned();
        if matches!(self.program, Program::Evaluate | Program::Generate) {
            name = format!("{}.{name}", self.program.name());
        }
        // A second node of one name gets a number, so that every name in a report means one value.
        let base = name.clone();
        let mut copies = 1;
        while self.find(&name).is_some() {
            copies += 1;
            name = format!("{base}#{copies}");
        }
        let value = Value {
            name,
            shape: shape.into(),
            dtype,
            class: Class::Workspace,
            persistent: false,
            init: None,
        };
        self.check_size(&value)?;
        Ok(self.push_value(value))
    }

    /// Adds a node as it is; shapes are the caller's business.
    pub fn push(&mut self, name: &str, op: Op, reads: &[ValueId], writes: &[ValueId]) {
        let taken = |name: &str| {
            let mut nodes = self.nodes.iter();
            nodes.any(|node| node.program == self.program && node.name == name)
        };
        // A second node of one name gets a number, so that every name in a report means one node.
        let name = (1..)
            .map(|copy| {
                if copy == 1 {
                    name.to_owned()
                } else {
                    format!("{name}#{copy}")
                }
            })
            .find(|name| !taken(name))
            .unwrap_or_default();
        self.nodes.push(Node {
            name,
            op,
            reads: reads.into(),
            writes: writes.into(),
            program: self.program,
            phase: self.phase,
        });
    }

    /// A node whose output has the shape and format of its first input.
    pub(super) fn map(
        &mut self,
        name: &str,
        op: Op,
        reads: &[ValueId],
    ) -> Result<ValueId, GraphError> {
        let Value { shape, dtype, .. } = &self[reads[0]];
        let (shape, dtype) = (shape.clone(), *dtype);
        self.push_node(name, op, reads, &shape, dtype)
    }

    pub(super) fn push_node(
        &mut self,
        name: &str,
        op: Op,
        reads: &[ValueId],
        shape: &[usize],
        dtype: DType,
    ) -> Result<ValueId, GraphError> {
        let computes = !matches!(op, Op::Cast { .. } | Op::Reshape);
        let integers = integer_inputs(&op);
        for (index, read) in reads.iter().enumerate() {
            if computes && !integers.contains(&index) && self[*read].dtype != DType::F32 {
                return Err(GraphError::Format {
                    op: op.name(),
                    node: name.into(),
                    input: self[*read].name.clone(),
                    found: self[*read].dtype,
                });
            }
        }
        let output = self.transient(name, shape, dtype)?;
        self.push(name, op, reads, &[output]);
        Ok(output)
    }

    /// Gives the last node one more F32 output that lives only inside a step.
    pub(super) fn also_writes(
        &mut self,
        name: &str,
        shape: &[usize],
    ) -> Result<ValueId, GraphError> {
        let value = self.transient(name, shape, DType::F32)?;
        if let Some(node) = self.nodes.last_mut() {
            node.writes.push(value);
        }
        Ok(value)
    }

    fn push_value(&mut self, value: Value) -> ValueId {
        self.values.push(value);
        ValueId(self.values.len() - 1)
    }

    /// Checks the persistent values that are no parameters, which are made without a check.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`] with the first that no kernel could address.
    pub fn check_sizes(&self) -> Result<(), GraphError> {
        self.values
            .iter()
            .try_for_each(|value| self.check_size(value))
    }

    fn check_size(&self, value: &Value) -> Result<(), GraphError> {
        let elements = value
            .shape
            .iter()
            .try_fold(1u64, |n, length| n.checked_mul(*length as u64));
        match elements {
            Some(n) if n <= u64::from(u32::MAX) => Ok(()),
            _ => Err(GraphError::TooLarge {
                name: value.name.clone(),
                shape: value.shape.clone(),
            }),
        }
    }

    pub(super) fn shapes(
        &self,
        op: &'static str,
        node: &str,
        left: &[usize],
        right: &[usize],
        rule: &'static str,
    ) -> GraphError {
        GraphError::Shapes {
            op,
            node: node.into(),
            left: left.into(),
            right: right.into(),
            rule,
        }
    }
}

/// Which inputs of an operation are integers: labels and tokens.
fn integer_inputs(op: &Op) -> &'static [usize] {
    match op {
        Op::CrossEntropy | Op::CrossEntropyGrad | Op::Correct { .. } => &[1],
        Op::Text(TextOp::Embedding) => &[0, 2, 3],
        Op::Text(TextOp::EmbeddingGrad { .. }) => &[1, 2],
        Op::Text(TextOp::LinearCrossEntropy { .. } | TextOp::LinearCrossEntropyGrad { .. }) => &[2],
        _ => &[],
    }
}
