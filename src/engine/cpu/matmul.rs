//! Twin of `shaders/matmul_naive.wgsl`, `shaders/matmul_tiled.wgsl` and `shaders/matmul_register.wgsl`.
//!
//! C = A B, rows `row0 .. row0 + rows`.
//!
//! The one twin that is written for speed as well: it is where a run on the CPU engine spends its time.

use super::words::{adds_to_output, bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [a, b, c] = bind(bindings)?;
    let (m, n, k) = (params.get("m")?, params.get("n")?, params.get("k")?);
    let [a_row, a_col, b_row, b_col] = strides(variant, params)?;
    let row0 = params.get("row0")?;
    let adds = adds_to_output(params, step)?;

    // B is copied row by row once: the inner loop below then runs along it whatever its strides are.
    let mut b_rows = Vec::with_capacity(k * n);
    for p in 0..k {
        b_rows.extend((0..n).map(|j| load(b, p * b_row + j * b_col)));
    }
    let mut sums = vec![0f32; n];
    for i in row0..m.min(row0 + params.get("rows")?) {
        sums.fill(0.0);
        for (p, b_row) in b_rows.chunks_exact(n.max(1)).enumerate() {
            let factor = load(a, i * a_row + p * a_col);
            // No branch, no bounds check, neighbouring elements: the compiler makes vector instructions of this.
            for (sum, element) in sums.iter_mut().zip(b_row) {
                *sum += factor * element;
            }
        }
        for (j, sum) in sums.iter().enumerate() {
            let at = i * n + j;
            store(c, at, if adds { load(c, at) + sum } else { *sum });
        }
    }
    Ok(())
}

/// Elements from row to row and from column to column of A and of B. The naive and the tiled rung take them as
/// parameters, the register rung has them in its variant: n is stored as it is used, t transposed.
fn strides(variant: &str, params: &Params) -> Result<[usize; 4], KernelError> {
    let (m, n, k) = (params.get("m")?, params.get("n")?, params.get("k")?);
    Ok(match variant {
        "nn" => [k, 1, n, 1],
        "tn" => [1, m, n, 1],
        "nt" => [k, 1, 1, k],
        "tt" => [1, m, 1, k],
        _ => [
            params.get("a_row")?,
            params.get("a_col")?,
            params.get("b_row")?,
            params.get("b_col")?,
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn words(values: &[f32]) -> Vec<Cell<u32>> {
        values.iter().map(|v| Cell::new(v.to_bits())).collect()
    }

    /// A 2x3 and a 3x2 matrix whose product is worked out by hand: the oracle's own check.
    #[test]
    fn every_storage_order_gives_the_product_worked_out_by_hand() {
        let (a, a_t) = (
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            [1.0, 4.0, 2.0, 5.0, 3.0, 6.0],
        );
        let (b, b_t) = (
            [7.0, 8.0, 9.0, 10.0, 11.0, 12.0],
            [7.0, 9.0, 11.0, 8.0, 10.0, 12.0],
        );
        for (variant, a, b) in [
            ("nn", a, b),
            ("tn", a_t, b),
            ("nt", a, b_t),
            ("tt", a_t, b_t),
        ] {
            let sizes = Params::new().with("m", 2).with("n", 2).with("k", 3);
            let params = sizes.with("row0", 0).with("rows", 2).with("accumulate", 0);
            let (a, b, c) = (words(&a), words(&b), words(&[f32::NAN; 4]));
            run(variant, &params, &Step::default(), &[&a, &b, &c]).unwrap();
            let c: Vec<f32> = (0..4).map(|i| load(&c, i)).collect();
            assert_eq!(c, [58.0, 64.0, 139.0, 154.0], "{variant}");
        }
    }
}
