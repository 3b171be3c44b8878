// Backward of causal_softmax: ds[r, c] = p[r, c] * (dp[r, c] - sum over k of p[r, k] * dp[r, k]), exactly 0 past the diagonal.
//
// Shapes: dp, p and ds are [rows, context]; row r is a query at position r % context, which sees the keys up to its own.
// p is the OUTPUT of causal_softmax.
// Reads dp and p, writes ds. With in_place: ds overwrites dp. Entries past the diagonal are never read.
//
// Variant row:   one invocation per row.
// Variant group: one workgroup of 64 per row; each invocation takes every 64th column, and a tree in workgroup memory joins
//                the shares in a fixed order. Grid: a workgroup per row, folded past 65535.

@if(row) import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    context: u32,
}

@if(!in_place) @group(0) @binding(0) var<storage, read> dp: array<f32>;
@if(!in_place) @group(0) @binding(1) var<storage, read> p: array<f32>;
@if(!in_place) @group(0) @binding(2) var<storage, read_write> ds: array<f32>;
@if(in_place) @group(0) @binding(0) var<storage, read> p: array<f32>;
@if(in_place) @group(0) @binding(1) var<storage, read_write> ds: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@if(group) var<workgroup> shares: array<f32, WG>;

fn incoming(i: u32) -> f32 {
    @if(!in_place) return dp[i];
    @if(in_place) return ds[i];
}

@if(row)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let r = linear_index(gid, groups, WG);
    if (r >= params.rows) {
        return;
    }
    let first = r * params.context;
    let seen = r % params.context + 1u;
    var sum = 0.0;
    for (var c = 0u; c < seen; c++) {
        sum += p[first + c] * incoming(first + c);
    }
    for (var c = 0u; c < seen; c++) {
        ds[first + c] = p[first + c] * (incoming(first + c) - sum);
    }
    for (var c = seen; c < params.context; c++) {
        ds[first + c] = 0.0;
    }
}

@if(group)
@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
    let r = group.y * groups.x + group.x;
    if (r >= params.rows) {
        return;
    }
    let first = r * params.context;
    let seen = r % params.context + 1u;
    var share = 0.0;
    for (var c = lane; c < seen; c += WG) {
        share += p[first + c] * incoming(first + c);
    }
    shares[lane] = share;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            shares[lane] += shares[lane + half];
        }
    }
    workgroupBarrier();
    let sum = shares[0];
    for (var c = lane; c < seen; c += WG) {
        ds[first + c] = p[first + c] * (incoming(first + c) - sum);
    }
    for (var c = seen + lane; c < params.context; c += WG) {
        ds[first + c] = 0.0;
    }
}
