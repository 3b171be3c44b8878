// Causal softmax of each row of scores: p[r, c] = exp(s[r, c] - largest) / sum for c <= r % context, exactly 0 elsewhere.
//
// Shapes: s and p are [rows, context]; row r is a query at position r % context, which sees the keys up to its own.
// Reads s, writes p. With in_place: reads and writes p only.
// Entries past the diagonal are never read: no large negative number is added to them, which could overflow or, in a row
// of very negative scores, leave something of them.
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

@if(!in_place) @group(0) @binding(0) var<storage, read> s: array<f32>;
@if(!in_place) @group(0) @binding(1) var<storage, read_write> p: array<f32>;
@if(in_place) @group(0) @binding(0) var<storage, read_write> p: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@if(group) var<workgroup> shares: array<f32, WG>;

fn score(i: u32) -> f32 {
    @if(!in_place) return s[i];
    @if(in_place) return p[i];
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
    var largest = score(first);
    for (var c = 1u; c < seen; c++) {
        largest = max(largest, score(first + c));
    }
    // The exponentials are kept in p, so that each is computed once. The one of the largest score is 1, so sum >= 1.
    var sum = 0.0;
    for (var c = 0u; c < seen; c++) {
        let e = exp(score(first + c) - largest);
        sum += e;
        p[first + c] = e;
    }
    let factor = 1.0 / sum;
    for (var c = 0u; c < params.context; c++) {
        p[first + c] = select(0.0, factor * p[first + c], c < seen);
    }
}

// Joins the shares of all invocations; every one of them gets the result.
@if(group)
fn joined(lane: u32, share: f32, by_max: bool) -> f32 {
    // A result that is still being read must not be overwritten.
    workgroupBarrier();
    shares[lane] = share;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            let other = shares[lane + half];
            shares[lane] = select(shares[lane] + other, max(shares[lane], other), by_max);
        }
    }
    workgroupBarrier();
    return shares[0];
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
    var share = score(first);
    for (var c = lane; c < seen; c += WG) {
        share = max(share, score(first + c));
    }
    let largest = joined(lane, share, true);
    share = 0.0;
    for (var c = lane; c < seen; c += WG) {
        share += exp(score(first + c) - largest);
    }
    let factor = 1.0 / joined(lane, share, false);
    // The barriers above stand between the reads of score(first) by all invocations and its change in place here.
    for (var c = lane; c < params.context; c += WG) {
        p[first + c] = select(0.0, factor * exp(score(first + c) - largest), c < seen);
    }
}
