// Mean and variance of each column from the moments of its blocks, the second half of the statistics of batch
// normalisation. Blocks are joined in order: Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for
// Computing Sample Variances", 1979.
//
// Variant running: also moves the running statistics, r = (1 - momentum) * r + momentum * new. The running variance
// takes the unbiased one, m2 / (n - 1), as PyTorch has it; the variance that normalises is m2 / n.
//
// Shapes: block_mean and block_m2 are [blocks, cols]; all else is [cols]. The rows of a block are those of
// batch_moments.wgsl, so their number is known here.
// Reads the blocks, writes mean and variance, reads and writes the running ones.
// One invocation handles one column.

import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    rows_per_sample: u32,
    cols: u32,
    blocks: u32,
    @if(running) momentum: f32,
}

@group(0) @binding(0) var<storage, read> block_mean: array<f32>;
@group(0) @binding(1) var<storage, read> block_m2: array<f32>;
@group(0) @binding(2) var<storage, read_write> mean: array<f32>;
@group(0) @binding(3) var<storage, read_write> variance: array<f32>;
@if(running) @group(0) @binding(4) var<storage, read_write> running_mean: array<f32>;
@if(running) @group(0) @binding(5) var<storage, read_write> running_variance: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let c = linear_index(gid, groups, WG);
    if (c >= params.cols) {
        return;
    }
    let share = (params.rows + params.blocks - 1u) / params.blocks;
    let valid = min(params.rows, step.rows * params.rows_per_sample);
    var count = 0.0;
    var center = 0.0;
    var squares = 0.0;
    for (var b = 0u; b < params.blocks; b++) {
        let first = min(b * share, valid);
        let more = f32(min(first + share, valid) - first);
        if (more > 0.0) {
            let all = count + more;
            let apart = block_mean[b * params.cols + c] - center;
            center += apart * (more / all);
            squares += block_m2[b * params.cols + c] + apart * apart * (count * more / all);
            count = all;
        }
    }
    mean[c] = center;
    variance[c] = squares / max(count, 1.0);
    @if(running) running_mean[c] = (1.0 - params.momentum) * running_mean[c] + params.momentum * center;
    @if(running) running_variance[c] = (1.0 - params.momentum) * running_variance[c] + params.momentum * squares / max(count - 1.0, 1.0);
}
