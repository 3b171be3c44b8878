// Gradients of batch normalisation by gamma and beta, in blocks of rows that are added up afterwards:
// dgamma[b, c] = sum over the rows of block b of dy[r, c] * xhat[r, c], dbeta[b, c] = the sum of dy[r, c], with
// xhat = (x - mean) / sqrt(variance + eps).
//
// Shapes: dy and x are [rows, cols]; mean and variance are [cols]; dgamma and dbeta are [blocks, cols]. Block b has the
// rows from b * ceil(rows / blocks) on. Rows of padding have dy = 0.
// Reads dy, x and the statistics, writes dgamma and dbeta. Variant vec4: cols is a multiple of 4.
// One invocation handles one column of one block, in vec4 four columns.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    cols: u32,
    blocks: u32,
    eps: f32,
}

@if(vec4) alias T = vec4f;
@if(!vec4) alias T = f32;
@if(vec4) const LANES: u32 = 4u;
@if(!vec4) const LANES: u32 = 1u;

@group(0) @binding(0) var<storage, read> dy: array<T>;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read> mean: array<T>;
@group(0) @binding(3) var<storage, read> variance: array<T>;
@group(0) @binding(4) var<storage, read_write> dgamma: array<T>;
@group(0) @binding(5) var<storage, read_write> dbeta: array<T>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let columns = params.cols / LANES;
    if (i >= params.blocks * columns) {
        return;
    }
    let c = i % columns;
    let share = (params.rows + params.blocks - 1u) / params.blocks;
    let first = min(i / columns * share, params.rows);
    let end = min(first + share, params.rows);
    let center = mean[c];
    var by_gamma = T(0.0);
    var by_beta = T(0.0);
    for (var r = first; r < end; r++) {
        let d = dy[r * columns + c];
        by_gamma += d * (x[r * columns + c] - center);
        by_beta += d;
    }
    dgamma[i] = by_gamma / sqrt(variance[c] + T(params.eps));
    dbeta[i] = by_beta;
}
