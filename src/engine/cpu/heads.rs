//! What the twins of the attention kernels share: `shaders/lib/heads.wgsl`, and one head's rows as plain slices.
//!
//! A head's rows are copied out of the tensor they lie in before the loops, so that these run over neighbouring numbers
//! and the compiler makes vector instructions of them: the CPU engine spends much of a transformer's time here.

use super::words::{load, store};
use crate::engine::kernel::{KernelError, Params, Words};

/// The sizes every attention kernel takes.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Samples.
    pub(super) batch: usize,
    /// Rows of one sample.
    pub(super) context: usize,
    /// Heads side by side in a row.
    pub(super) heads: usize,
    /// Columns of a head.
    pub(super) head_dim: usize,
}

impl Shape {
    /// Reads the four sizes.
    ///
    /// # Errors
    /// [`KernelError::Param`] if one is not set.
    pub(super) fn of(params: &Params) -> Result<Self, KernelError> {
        Ok(Self {
            batch: params.get("batch")?,
            context: params.get("context")?,
            heads: params.get("heads")?,
            head_dim: params.get("head_dim")?,
        })
    }

    /// Heads of all samples; head `bh` is head `bh % heads` of sample `bh / heads`.
    pub(super) fn all_heads(self) -> usize {
        self.batch * self.heads
    }

    /// 1 / sqrt(head_dim).
    pub(super) fn scale(self) -> f32 {
        1.0 / (self.head_dim as f32).sqrt()
    }

    /// The queries (third 0), keys (1) or values (2) of a head, [context, head_dim].
    pub(super) fn third(self, qkv: &Words, bh: usize, third: usize) -> Vec<f32> {
        self.gather(qkv, bh, 3, third)
    }

    /// A head's columns of a tensor [batch * context, width], [context, head_dim].
    pub(super) fn output(self, o: &Words, bh: usize) -> Vec<f32> {
        self.gather(o, bh, 1, 0)
    }

    /// Puts a third back to where [`Shape::third`] takes it from.
    pub(super) fn store_third(self, d_qkv: &Words, bh: usize, third: usize, rows: &[f32]) {
        self.scatter(d_qkv, bh, 3, third, rows);
    }

    /// Puts rows back to where [`Shape::output`] takes them from.
    pub(super) fn store_output(self, o: &Words, bh: usize, rows: &[f32]) {
        self.scatter(o, bh, 1, 0, rows);
    }

    /// First element of row t of a head in a tensor that holds `thirds` times the width.
    fn row_at(self, bh: usize, thirds: usize, third: usize, t: usize) -> usize {
        let row = (bh / self.heads) * self.context + t;
        ((row * thirds + third) * self.heads + bh % self.heads) * self.head_dim
    }

    fn gather(self, words: &Words, bh: usize, thirds: usize, third: usize) -> Vec<f32> {
        let mut rows = Vec::with_capacity(self.context * self.head_dim);
        for t in 0..self.context {
            let at = self.row_at(bh, thirds, third, t);
            rows.extend((at..at + self.head_dim).map(|i| load(words, i)));
        }
        rows
    }

    fn scatter(self, words: &Words, bh: usize, thirds: usize, third: usize, rows: &[f32]) {
        for (t, row) in rows.chunks_exact(self.head_dim.max(1)).enumerate() {
            let at = self.row_at(bh, thirds, third, t);
            for (c, value) in row.iter().enumerate() {
                store(words, at + c, *value);
            }
        }
    }

    /// Row t of what [`Shape::third`] and [`Shape::output`] give.
    pub(super) fn row(self, rows: &[f32], t: usize) -> &[f32] {
        &rows[t * self.head_dim..(t + 1) * self.head_dim]
    }

    /// The same, to be changed.
    pub(super) fn row_mut(self, rows: &mut [f32], t: usize) -> &mut [f32] {
        &mut rows[t * self.head_dim..(t + 1) * self.head_dim]
    }
}

/// Dot product in eight partial sums, which is both more exact and faster than one.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 8];
    let (a_blocks, b_blocks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a_blocks
        .remainder()
        .iter()
        .zip(b_blocks.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a_blocks.zip(b_blocks) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (b + f)) + ((c + g) + (d + h)) + rest
}

/// sums += factor * row.
pub(super) fn add_scaled(sums: &mut [f32], factor: f32, row: &[f32]) {
    for (sum, x) in sums.iter_mut().zip(row) {
        *sum += factor * x;
    }
}
