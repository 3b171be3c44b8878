//! Builder methods for language models.

use super::super::{Graph, GraphError, Heads, Init, Op, RowNorm, TextOp, ValueId, matrix};
use crate::dtype::DType;

impl Graph {
    /// The rows of `table` [vocabulary, width] named by `tokens`, U32 [sequences, context]: [sequences * context, width].
    /// `order` and `starts` are the rows sorted by token, of which the gradient makes sums without atomics: U32
    /// [sequences * context] and [vocabulary + 1].
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if `order` or `starts` have another length.
    pub fn embedding(
        &mut self,
        name: &str,
        tokens: ValueId,
        table: ValueId,
        sorted: Option<[ValueId; 2]>,
    ) -> Result<ValueId, GraphError> {
        let rows = self[tokens].elements();
        let (vocabulary, width) = matrix(&self[table].shape, false);
        let mut reads = vec![tokens, table];
        if let Some([order, starts]) = sorted {
            for (value, length) in [(order, rows), (starts, vocabulary + 1)] {
                if self[value].shape != [length] {
                    let rule = "the rows sorted by token are one number per row, their starts one more than the vocabulary";
                    return Err(self.shapes(
                        "embedding",
                        name,
                        &self[value].shape,
                        &[length],
                        rule,
                    ));
                }
            }
            reads.extend([order, starts]);
        }
        let op = Op::Text(TextOp::Embedding);
        let output = self.push_node(name, op, &reads, &[rows, width], DType::F32)?;
        Ok(output)
    }

    /// Layer or root-mean-square normalisation of each row, with parameters `NAME.gamma` and, for the layer norm,
    /// `NAME.beta`. Keeps the statistics for the gradient.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn row_norm(
        &mut self,
        name: &str,
        x: ValueId,
        norm: RowNorm,
        eps: f32,
    ) -> Result<ValueId, GraphError> {
        let (rows, cols) = matrix(&self[x].shape, false);
        let mut reads = vec![
            x,
            self.parameter(&format!("{name}.gamma"), &[cols], Init::Ones)?,
        ];
        if norm == RowNorm::Layer {
            reads.push(self.parameter(&format!("{name}.beta"), &[cols], Init::Zeros)?);
        }
        let y = self.map(name, Op::Text(TextOp::Norm { norm, eps }), &reads)?;
        if norm == RowNorm::Layer {
            self.also_writes(&format!("{name}.mean"), &[rows])?;
        }
        self.also_writes(&format!("{name}.rstd"), &[rows])?;
        Ok(y)
    }

    /// Turns the queries and keys of `qkv` [sequences * context, 3 * width] by their position. `table` [context,
    /// head_dim] has the cosine and sine of every angle.
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if the table is of another size.
    pub fn rotary(
        &mut self,
        name: &str,
        qkv: ValueId,
        table: ValueId,
        heads: Heads,
    ) -> Result<ValueId, GraphError> {
        let width = self.attention_width("rotary", name, qkv, heads)?;
        if self[table].shape != [heads.context, width / heads.heads.max(1)] {
            let rule = "there is a row of angles per position, as long as a head is wide";
            return Err(self.shapes("rotary", name, &self[qkv].shape, &self[table].shape, rule));
        }
        let inverse = false;
        self.map(
            name,
            Op::Text(TextOp::Rotary { heads, inverse }),
            &[qkv, table],
        )
    }

    /// Causal multi-head attention of `qkv` [sequences * context, 3 * width] that keeps the softmax of all scores, N² of
    /// them per head: [sequences * context, width].
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if the width does not split into the heads.
    pub fn attention_plain(
        &mut self,
        name: &str,
        qkv: ValueId,
        heads: Heads,
    ) -> Result<ValueId, GraphError> {
        let width = self.attention_width("attention", name, qkv, heads)?;
        let (rows, context) = (self[qkv].elements() / (3 * width).max(1), heads.context);
        let all = [rows / context.max(1) * heads.heads, context, context];
        let op = Op::Text(TextOp::AttentionScores(heads));
        let scores = self.push_node(&format!("{name}.scores"), op, &[qkv], &all, DType::F32)?;
        let op = Op::Text(TextOp::CausalSoftmax { context });
        let shares = self.map(&format!("{name}.softmax"), op, &[scores])?;
        let op = Op::Text(TextOp::AttentionMix(heads));
        self.push_node(
            &format!("{name}.mix"),
            op,
            &[shares, qkv],
            &[rows, width],
            DType::F32,
        )
    }

    /// The same attention without keeping scores: the softmax is made while the values are mixed, and its log-sum-exp is
    /// all that the gradient needs to make it again (Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691).
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if the width does not split into the heads.
    pub fn attention_fused(
        &mut self,
        name: &str,
        qkv: ValueId,
        heads: Heads,
    ) -> Result<ValueId, GraphError> {
        let width = self.attention_width("attention", name, qkv, heads)?;
        let (rows, context) = (self[qkv].elements() / (3 * width).max(1), heads.context);
        let op = Op::Text(TextOp::AttentionFused(heads));
        let fused = format!("{name}.fused");
        let output = self.push_node(&fused, op, &[qkv], &[rows, width], DType::F32)?;
        let lse = [rows / context.max(1) * heads.heads, context];
        self.also_writes(&format!("{name}.log_sum_exp"), &lse)?;
        Ok(output)
    }

    /// SiLU of the first half of each row times the second half.
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if rows have an odd length.
    pub fn swiglu(&mut self, name: &str, x: ValueId) -> Result<ValueId, GraphError> {
        let (rows, cols) = matrix(&self[x].shape, false);
        let half = [rows, cols / 2];
        if !cols.is_multiple_of(2) {
            let rule = "a row has two halves";
            return Err(self.shapes("swiglu", name, &self[x].shape, &half, rule));
        }
        self.push_node(name, Op::Text(TextOp::Swiglu), &[x], &half, DType::F32)
    }

    /// The row of `x` [rows, width] at the number of rows of the step, less one: [1, width].
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn pick_row(&mut self, name: &str, x: ValueId) -> Result<ValueId, GraphError> {
        let (_, width) = matrix(&self[x].shape, false);
        let op = Op::Text(TextOp::PickRow);
        self.push_node(name, op, &[x], &[1, width], DType::F32)
    }

    /// Checks a value [sequences * context, 3 * width] and gives the width.
    fn attention_width(
        &self,
        op: &'static str,
        name: &str,
        qkv: ValueId,
        heads: Heads,
    ) -> Result<usize, GraphError> {
        let (rows, cols) = matrix(&self[qkv].shape, false);
        let fits = heads.heads > 0
            && heads.context > 0
            && cols.is_multiple_of(3 * heads.heads)
            && rows.is_multiple_of(heads.context);
        if fits {
            return Ok(cols / 3);
        }
        let rule = "rows are whole sequences, and the columns are queries, keys and values of equally wide heads";
        let asked = [heads.context, heads.heads];
        Err(self.shapes(op, name, &self[qkv].shape, &asked, rule))
    }
}
