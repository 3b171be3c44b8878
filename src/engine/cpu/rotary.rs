//! Twin of `shaders/rotary.wgsl`: turns the pairs (i, i + head_dim / 2) of queries and keys by the angle of their position.

use super::words::{has, load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, table, y] = operands(variant, bindings)?;
    let (context, head_dim) = (params.get("context")?, params.get("head_dim")?);
    let (half, width) = (head_dim / 2, params.get("heads")? * head_dim);
    let sign = if params.get("inverse")? == 1 {
        -1.0
    } else {
        1.0
    };
    for r in 0..params.get("rows")? {
        // Queries and keys lie side by side, so their heads are counted through both.
        for first in (0..2 * width).step_by(head_dim.max(1)) {
            for pair in 0..half {
                let angle = (r % context) * head_dim + 2 * pair;
                let (cos, sin) = (load(table, angle), sign * load(table, angle + 1));
                let i = r * 3 * width + first + pair;
                let (a, b) = (load(x, i), load(x, i + half));
                store(y, i, a * cos - b * sin);
                store(y, i + half, b * cos + a * sin);
            }
        }
        if !has(variant, "in_place") {
            for i in r * 3 * width + 2 * width..(r + 1) * 3 * width {
                store(y, i, load(x, i));
            }
        }
    }
    Ok(())
}
