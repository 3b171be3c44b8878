// Backward of layer_norm to its weights, in parts: with n[r, c] = (x[r, c] - mean[r]) * rstd[r],
// d_gamma_partials[b, c] = sum over the rows r of block b of dy[r, c] * n[r, c],
// d_beta_partials[b, c] = sum over the rows r of block b of dy[r, c].
// Variants rms: n[r, c] = x[r, c] * rstd[r], and there is no beta.
//
// Block b holds the rows [b * per, (b + 1) * per) with per = ceil(rows / blocks); the last blocks may be shorter or
// empty. reduce.rows adds the blocks. Two stages, because one sum over all rows would keep only `cols` invocations busy.
//
// Shapes: dy and x are [rows, cols]; mean and rstd are [rows] and come from layer_norm; the partials are [blocks, cols].
// Reads dy, x, mean (not with rms) and rstd, writes the partials. Variants vec4 need cols to be a multiple of 4.
// One invocation handles one column (vec4: four) of one block.

import package::lib::columns::{Columns, COLUMNS};
import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    cols: u32,
    blocks: u32,
}

@group(0) @binding(0) var<storage, read> dy: array<Columns>;
@group(0) @binding(1) var<storage, read> x: array<Columns>;
@if(!rms) @group(0) @binding(2) var<storage, read> mean: array<f32>;
@if(!rms) @group(0) @binding(3) var<storage, read> rstd: array<f32>;
@if(!rms) @group(0) @binding(4) var<storage, read_write> d_gamma_partials: array<Columns>;
@if(!rms) @group(0) @binding(5) var<storage, read_write> d_beta_partials: array<Columns>;
@if(rms) @group(0) @binding(2) var<storage, read> rstd: array<f32>;
@if(rms) @group(0) @binding(3) var<storage, read_write> d_gamma_partials: array<Columns>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let n = params.cols / COLUMNS;
    let i = linear_index(gid, groups, WG);
    if (i >= params.blocks * n) {
        return;
    }
    let block = i / n;
    let c = i - block * n;
    let per = (params.rows + params.blocks - 1u) / params.blocks;
    let end = min((block + 1u) * per, params.rows);

    var d_gamma = Columns(0.0);
    @if(!rms) var d_beta = Columns(0.0);
    for (var r = block * per; r < end; r++) {
        let d = dy[r * n + c];
        @if(!rms) d_gamma += d * ((x[r * n + c] - mean[r]) * rstd[r]);
        @if(!rms) d_beta += d;
        @if(rms) d_gamma += d * (x[r * n + c] * rstd[r]);
    }
    d_gamma_partials[i] = d_gamma;
    @if(!rms) d_beta_partials[i] = d_beta;
}
