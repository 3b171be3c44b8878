// Moments of each column over blocks of rows, the first half of the statistics of batch normalisation:
// mean[b, c] and m2[b, c] = sum over the rows of block b of (x[r, c] - mean[b, c])^2.
//
// Shapes: x is [rows, cols]; mean and m2 are [blocks, cols]. Block b has the rows from b * ceil(rows / blocks) on; rows
// from step.rows * rows_per_sample on are padding and do not count. A block without rows gives 0 and 0.
// Reads x, writes mean and m2. Variant vec4: cols is a multiple of 4.
//
// One invocation handles one column of one block, in vec4 four columns, in two passes: squares of distances from the
// mean do not cancel, as a difference of two large sums would.

import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    rows_per_sample: u32,
    cols: u32,
    blocks: u32,
}

@if(vec4) alias T = vec4f;
@if(!vec4) alias T = f32;
@if(vec4) const LANES: u32 = 4u;
@if(!vec4) const LANES: u32 = 1u;

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> mean: array<T>;
@group(0) @binding(2) var<storage, read_write> m2: array<T>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let columns = params.cols / LANES;
    if (i >= params.blocks * columns) {
        return;
    }
    let c = i % columns;
    let share = (params.rows + params.blocks - 1u) / params.blocks;
    let valid = min(params.rows, step.rows * params.rows_per_sample);
    let first = min(i / columns * share, valid);
    let end = min(first + share, valid);
    let count = f32(max(end - first, 1u));
    var sum = T(0.0);
    for (var r = first; r < end; r++) {
        sum += x[r * columns + c];
    }
    let center = sum / count;
    var squares = T(0.0);
    for (var r = first; r < end; r++) {
        let d = x[r * columns + c] - center;
        squares += d * d;
    }
    mean[i] = center;
    m2[i] = squares;
}
