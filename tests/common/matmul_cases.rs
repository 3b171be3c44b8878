//! The launches in which every rung of the matrix product ladder is compared with the twin: one table of shapes for all.

use super::compare::{Data, EXACT, roundings};
use super::kernel_cases::{ACCUMULATE, STEP};
use super::kernel_harness::{Case, Grid, Operand};
use headroom::engine::kernel::{Params, Step};

/// One rung of the matrix product ladder over the table of shapes. The register rung takes only some sizes.
pub(crate) fn cases(kernel: &'static str) -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        for layout in Layout::of(kernel, shape) {
            for mode in ACCUMULATE {
                cases.push(layout.case(kernel, shape, mode, None));
            }
            // The middle rows only: the others must stay as they are. 4 is what the register rung allows.
            let (m, _, _) = shape;
            if m > 4 {
                cases.push(layout.case(
                    kernel,
                    shape,
                    ACCUMULATE[0],
                    Some((4, (m - 4).div_ceil(2))),
                ));
                cases.push(layout.case(kernel, shape, ACCUMULATE[3], Some((4, m - 4))));
            }
        }
    }
    cases
}

/// m, n, k: one, odd, the borders of 8 and 64, long and flat, and multiples of 4 for the register rung.
const SHAPES: [(usize, usize, usize); 21] = [
    (1, 1, 1),
    (1, 7, 5),
    (7, 1, 3),
    (5, 3, 1),
    (8, 8, 8),
    (63, 65, 64),
    (64, 64, 64),
    (65, 63, 17),
    (130, 10, 33),
    (3, 130, 129),
    (1, 4, 4),
    (4, 4, 1),
    (8, 4, 4),
    (4, 16, 12),
    (4, 8, 6),
    (12, 4, 4),
    (7, 12, 8),
    (9, 64, 16),
    (65, 68, 36),
    (68, 132, 20),
    (128, 12, 7),
];

/// How A and B are stored.
struct Layout {
    name: &'static str,
    a_transposed: bool,
    b_transposed: bool,
    /// Elements between the end of a stored row and the next row.
    gap: usize,
}

impl Layout {
    fn of(kernel: &str, (m, n, k): (usize, usize, usize)) -> Vec<Self> {
        let layout = |name, a_transposed, b_transposed, gap| Self {
            name,
            a_transposed,
            b_transposed,
            gap,
        };
        let all = [
            ("nn", false, false),
            ("tn", true, false),
            ("nt", false, true),
            ("tt", true, true),
        ];
        let all = all.into_iter().map(|(name, a, b)| layout(name, a, b, 0));
        match kernel.split_once('.') {
            Some((_, variant)) => {
                let fits = |l: &Self| {
                    let a_length = if l.a_transposed { m } else { k };
                    let b_length = if l.b_transposed { k } else { n };
                    [a_length, b_length, n].iter().all(|length| length % 4 == 0)
                };
                all.filter(|l| l.name == variant && fits(l)).collect()
            }
            None => all
                .chain([
                    layout("nn with gaps", false, false, 3),
                    layout("tt with gaps", true, true, 5),
                ])
                .collect(),
        }
    }

    fn case(
        &self,
        kernel: &'static str,
        (m, n, k): (usize, usize, usize),
        (accumulate, micro, adds): (usize, u32, bool),
        part: Option<(usize, usize)>,
    ) -> Case {
        let mut data = Data::new((m * 1_000_003 + n * 1009 + k) as u64);
        let strides = |transposed: bool, rows: usize, cols: usize| {
            if transposed {
                (1, rows + self.gap, cols)
            } else {
                (cols + self.gap, 1, rows)
            }
        };
        let (a_row, a_col, a_lines) = strides(self.a_transposed, m, k);
        let (b_row, b_col, b_lines) = strides(self.b_transposed, k, n);
        let a = data.eighths(a_lines * a_row.max(a_col));
        let b = data.eighths(b_lines * b_row.max(b_col));
        // An output that is only partly written keeps what it held, so it must hold something.
        let keeps = adds || part.is_some();
        let c = if keeps {
            Operand::InOut(data.eighths(m * n), EXACT)
        } else {
            Operand::Output(m * n, EXACT)
        };
        let (row0, rows) = part.unwrap_or((0, m));
        let mut params = Params::new()
            .with("m", m)
            .with("n", n)
            .with("k", k)
            .with("row0", row0)
            .with("rows", rows);
        params = params.with("accumulate", accumulate);
        if !kernel.contains('.') {
            params = params
                .with("a_row", a_row)
                .with("a_col", a_col)
                .with("b_row", b_row)
                .with("b_col", b_col);
        }
        let tile = if kernel == "matmul_naive" { 8 } else { 64 };
        Case {
            kernel,
            label: format!(
                "{m}x{n}x{k} {}, rows {row0}+{rows}, accumulate {accumulate} in micro-batch {micro}",
                self.name
            ),
            params,
            step: Step { micro, ..STEP },
            operands: vec![Operand::input(&a), Operand::input(&b), c],
            grid: Grid::Groups(n.div_ceil(tile), rows.div_ceil(tile)),
        }
    }
}

/// A product of real numbers, for what exact data cannot show: that sums are kept in F32 and do not lose more than that.
pub(crate) fn rounded(kernel: &'static str) -> Case {
    let (m, n, k) = (36, 20, 300);
    let layout = Layout::of(kernel, (m, n, k)).remove(0);
    let mut case = layout.case(kernel, (m, n, k), ACCUMULATE[0], None);
    let mut data = Data::new(5);
    // A rounding for every addition, on both sides, each at most of the sum of the k magnitudes.
    let tolerance = roundings(2 * k, k as f32 / 4.0);
    case.operands = vec![
        Operand::input(&data.reals(m * k, 1.0)),
        Operand::input(&data.reals(k * n, 1.0)),
        Operand::Output(m * n, tolerance),
    ];
    case
}
