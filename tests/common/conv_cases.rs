//! Cases of the kernels for convolutions: one table of shapes for every kernel that takes it.

use super::compare::{Data, EXACT, roundings};
use super::kernel_cases::STEP;
use super::kernel_harness::{Case, Grid, Operand};
use headroom::engine::kernel::Params;

/// Batch, height, width, channels, out channels, kernel, stride, padding, groups.
const SHAPES: [[usize; 9]; 20] = [
    [1, 1, 1, 1, 1, 1, 1, 0, 1],
    [1, 3, 3, 1, 4, 3, 1, 1, 1],
    [2, 5, 7, 3, 5, 3, 1, 1, 1],
    [2, 7, 5, 3, 8, 3, 2, 1, 1],
    [3, 4, 4, 2, 6, 2, 2, 0, 1],
    [1, 9, 9, 4, 4, 5, 2, 2, 1],
    [2, 6, 6, 4, 8, 3, 1, 1, 1],
    [2, 6, 5, 8, 12, 3, 2, 1, 1],
    [1, 8, 8, 12, 20, 3, 1, 0, 1],
    [3, 5, 5, 16, 4, 1, 1, 0, 1],
    [2, 7, 7, 8, 16, 1, 2, 0, 1],
    [1, 11, 4, 4, 36, 7, 3, 3, 1],
    [5, 3, 3, 64, 8, 3, 1, 1, 1],
    [2, 4, 4, 6, 9, 3, 1, 1, 3],
    [2, 5, 5, 8, 8, 3, 2, 1, 2],
    [1, 6, 6, 4, 4, 3, 1, 1, 4],
    [1, 5, 6, 6, 16, 3, 1, 1, 2],
    [1, 2, 2, 4, 4, 5, 1, 2, 1],
    [17, 3, 3, 4, 4, 3, 1, 1, 1],
    [1, 28, 28, 1, 16, 3, 1, 1, 1],
];
/// Batch, height, width, channels, kernel, stride, padding.
const DEPTHWISE: [[usize; 7]; 11] = [
    [1, 1, 1, 1, 1, 1, 0],
    [1, 3, 3, 1, 3, 1, 1],
    [2, 5, 7, 3, 3, 1, 1],
    [2, 7, 5, 4, 3, 2, 1],
    [3, 4, 4, 8, 2, 2, 0],
    [1, 9, 9, 5, 5, 2, 2],
    [2, 6, 6, 16, 5, 1, 2],
    [1, 2, 2, 4, 5, 1, 2],
    [1, 11, 4, 12, 7, 3, 3],
    [5, 3, 3, 65, 3, 1, 1],
    [3, 8, 8, 68, 3, 1, 0],
];

/// Every case of this family.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        for exact in [true, false] {
            let conv = Conv::new(shape, exact);
            cases.extend(conv.forward());
            cases.extend(conv.input_grad());
            cases.extend(conv.weight_grad());
        }
    }
    for [batch, height, width, channels, kernel, stride, padding] in DEPTHWISE {
        let shape = [
            batch, height, width, channels, channels, kernel, stride, padding, channels,
        ];
        cases.extend(depthwise(&Conv::new(shape, true)));
        cases.extend(depthwise(&Conv::new(shape, false)));
    }
    cases
}

/// One convolution with its data.
struct Conv {
    shape: [usize; 9],
    out: [usize; 2],
    x: Vec<f32>,
    w: Vec<f32>,
    dy: Vec<f32>,
    /// Numbers whose sums are exact in any order, so that nothing may differ.
    exact: bool,
}

impl Conv {
    fn new(shape: [usize; 9], exact: bool) -> Self {
        let [
            batch,
            height,
            width,
            channels,
            out_channels,
            kernel,
            stride,
            padding,
            groups,
        ] = shape;
        let out = [height, width].map(|side| (side + 2 * padding - kernel) / stride + 1);
        let mut data = Data::new(shape.iter().fold(7, |seed, n| seed * 31 + *n as u64));
        let mut numbers = |n: usize| match exact {
            true => data.eighths(n),
            false => data.reals(n, 1.0),
        };
        Self {
            shape,
            out,
            x: numbers(batch * height * width * channels),
            w: numbers(kernel * kernel * channels / groups * out_channels),
            dy: numbers(batch * out[0] * out[1] * out_channels),
            exact,
        }
    }

    fn sizes(&self) -> Params {
        let [
            batch,
            height,
            width,
            channels,
            _,
            kernel,
            stride,
            padding,
            _,
        ] = self.shape;
        Params::new()
            .with("batch", batch)
            .with("height", height)
            .with("width", width)
            .with("channels", channels)
            .with("out_height", self.out[0])
            .with("out_width", self.out[1])
            .with("kernel", kernel)
            .with("stride", stride)
            .with("padding", padding)
    }

    fn params(&self, row0: usize, rows: usize) -> Params {
        self.sizes()
            .with("out_channels", self.shape[4])
            .with("groups", self.shape[8])
            .with("row0", row0)
            .with("rows", rows)
    }

    fn label(&self, what: &str) -> String {
        let kind = if self.exact { "exact" } else { "rounded" };
        format!("{:?} {kind} {what}", self.shape)
    }

    /// Output of `n` numbers, each a sum of `terms`, of which only some rows are written.
    fn output(&self, n: usize, terms: usize, written: std::ops::Range<usize>) -> Operand {
        let tolerance = match self.exact {
            true => EXACT,
            false => roundings(terms + 2, 1.0 + (terms as f32).sqrt()),
        };
        match written == (0..n) {
            true => Operand::Output(n, tolerance),
            false => Operand::InOut((0..n).map(|i| i as f32).collect(), tolerance),
        }
    }

    /// Which variants suit the shape.
    fn kernels(&self, all: [&'static str; 3]) -> Vec<(&'static str, bool)> {
        let [_, _, _, channels, out_channels, _, _, _, groups] = self.shape;
        let mut found = vec![(all[0], false)];
        if (out_channels / groups).is_multiple_of(4) {
            found.push((all[1], false));
        }
        if groups == 1 && channels % 4 == 0 && out_channels % 4 == 0 {
            found.push((all[2], true));
        }
        found
    }

    /// All rows, and the middle ones alone.
    fn ranges(rows: usize) -> Vec<(usize, usize)> {
        match rows > 4 {
            true => vec![(0, rows), (3, rows - 4)],
            false => vec![(0, rows)],
        }
    }

    fn forward(&self) -> Vec<Case> {
        let [batch, _, _, channels, out, kernel, _, _, groups] = self.shape;
        let rows = batch * self.out[0] * self.out[1];
        let mut cases = Vec::new();
        for (name, register) in self.kernels(["conv", "conv.vec4", "conv_register"]) {
            for (row0, n) in Self::ranges(rows) {
                let terms = kernel * kernel * channels / groups;
                let y = self.output(rows * out, terms, row0 * out..(row0 + n) * out);
                let per_row = lanes(name, out);
                let grid = match register {
                    true => n.div_ceil(8) * out.div_ceil(8),
                    false => n * per_row,
                };
                let operands = vec![Operand::input(&self.x), Operand::input(&self.w), y];
                cases.push(self.case(name, self.params(row0, n), operands, grid));
            }
        }
        cases
    }

    fn input_grad(&self) -> Vec<Case> {
        let [batch, height, width, channels, out, kernel, _, _, groups] = self.shape;
        let rows = batch * height * width;
        let mut cases = Vec::new();
        let names = [
            "conv_input_grad",
            "conv_input_grad.vec4",
            "conv_input_grad_register",
        ];
        for (name, register) in self.kernels(names) {
            for (row0, n) in Self::ranges(rows) {
                let terms = kernel * kernel * out / groups;
                let written = row0 * channels..(row0 + n) * channels;
                let dx = self.output(rows * channels, terms, written);
                let grid = match register {
                    true => n.div_ceil(8) * channels.div_ceil(8),
                    false => n * channels,
                };
                let operands = vec![Operand::input(&self.dy), Operand::input(&self.w), dx];
                cases.push(self.case(name, self.params(row0, n), operands, grid));
            }
        }
        cases
    }

    fn weight_grad(&self) -> Vec<Case> {
        let [batch, _, _, channels, out, kernel, _, _, groups] = self.shape;
        let pixels = batch * self.out[0] * self.out[1];
        let weights = self.w.len();
        let mut cases = Vec::new();
        let names = [
            "conv_weight_grad",
            "conv_weight_grad.vec4",
            "conv_weight_grad_register",
        ];
        for (name, register) in self.kernels(names) {
            // More parts than pixels leave some without any; one part has them all.
            for splits in [1, 3, pixels + 2] {
                for (row0, n) in Self::ranges(splits.min(7)) {
                    let splits = splits.min(7).max(row0 + n);
                    let terms = pixels.div_ceil(splits);
                    let dw = self.output(
                        splits * weights,
                        terms,
                        row0 * weights..(row0 + n) * weights,
                    );
                    let taps = kernel * kernel;
                    let grid = match register {
                        true => n * taps * channels.div_ceil(8) * out.div_ceil(8),
                        false => n * taps * channels / groups * lanes(name, out),
                    };
                    let params = self.params(row0, n).with("splits", splits);
                    let operands = vec![Operand::input(&self.x), Operand::input(&self.dy), dw];
                    cases.push(self.case(name, params, operands, grid));
                }
            }
        }
        cases
    }

    fn case(
        &self,
        kernel: &'static str,
        params: Params,
        operands: Vec<Operand>,
        grid: usize,
    ) -> Case {
        Case {
            kernel,
            label: self.label(kernel),
            params,
            step: STEP,
            operands,
            grid: Grid::Invocations(grid),
        }
    }
}

/// Invocations for `n` numbers side by side.
fn lanes(kernel: &str, n: usize) -> usize {
    if kernel.ends_with("vec4") { n / 4 } else { n }
}

fn depthwise(conv: &Conv) -> Vec<Case> {
    let [batch, height, width, channels, _, kernel, ..] = conv.shape;
    let pixels = batch * conv.out[0] * conv.out[1];
    let taps = kernel * kernel;
    let mut cases = Vec::new();
    for vec4 in [false, true] {
        if vec4 && channels % 4 != 0 {
            continue;
        }
        let name = |plain, wide| if vec4 { wide } else { plain };
        let (x, w, dy) = (
            Operand::input(&conv.x),
            Operand::input(&conv.w),
            Operand::input(&conv.dy),
        );
        let all = |n: usize, terms: usize| conv.output(n, terms, 0..n);
        let kernel = name("depthwise", "depthwise.vec4");
        let operands = vec![x.clone(), w.clone(), all(conv.dy.len(), taps)];
        cases.push(conv.case(
            kernel,
            conv.sizes(),
            operands,
            pixels * lanes(kernel, channels),
        ));
        let kernel = name("depthwise_input_grad", "depthwise_input_grad.vec4");
        let operands = vec![dy.clone(), w, all(conv.x.len(), taps)];
        let grid = batch * height * width * lanes(kernel, channels);
        cases.push(conv.case(kernel, conv.sizes(), operands, grid));
        for splits in [1, 3, 7] {
            let kernel = name("depthwise_weight_grad", "depthwise_weight_grad.vec4");
            let dw = all(splits * taps * channels, pixels.div_ceil(splits));
            let params = conv.sizes().with("splits", splits);
            let grid = splits * taps * lanes(kernel, channels);
            cases.push(conv.case(kernel, params, vec![x.clone(), dy.clone(), dw], grid));
        }
    }
    cases
}
