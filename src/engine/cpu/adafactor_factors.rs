//! Twin of `shaders/adafactor_factors.wgsl`: moving averages of the squared gradient over every row and column.

use super::adafactor::{TINY, new_share};
use super::words::{bind, is_skipped, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [norm, g, r, c] = bind(bindings)?;
    if is_skipped(norm) {
        return Ok(());
    }
    let batch = params.get("batch")?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let share = new_share(load(norm, 5));
    let square = |row: usize, j: usize| {
        let d = load(norm, 1) * load(g, row * cols + j);
        f64::from(d) * f64::from(d)
    };
    let update = |words: &Words, i: usize, sum: f64, count: usize| {
        let mean = (sum / count as f64) as f32 + TINY;
        store(words, i, (1.0 - share) * load(words, i) + share * mean);
    };
    for row in 0..batch * rows {
        update(r, row, (0..cols).map(|j| square(row, j)).sum(), cols);
    }
    for column in 0..batch * cols {
        let (b, j) = (column / cols, column % cols);
        let sum = (b * rows..(b + 1) * rows).map(|row| square(row, j)).sum();
        update(c, column, sum, rows);
    }
    Ok(())
}
