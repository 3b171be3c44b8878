// How a dispatch shares out the rows of a matrix. In the variants row an invocation has a row for itself, which suits
// adapters that are a CPU; in the variants group a workgroup shares one row, which suits graphics cards: neighbouring
// invocations then read neighbouring elements.
//
// A kernel walks over its row with `for (var i = first_of(lane); i < n; i += STRIDE)`. row_sum and row_max then make one
// number, known to all, of what the invocations found. A tree joins their shares in an order that never changes.

import package::lib::index::linear_index;

const WG: u32 = 64u;
@if(row) const STRIDE: u32 = 1u;
@if(group) const STRIDE: u32 = WG;

@if(group) var<workgroup> shares: array<vec2f, WG>;

// The row of an invocation. Rows past 65535 workgroups are folded into a second dimension.
@if(row)
fn row_of(gid: vec3u, workgroup: vec3u, groups: vec3u) -> u32 {
    return linear_index(gid, groups, WG);
}

@if(group)
fn row_of(gid: vec3u, workgroup: vec3u, groups: vec3u) -> u32 {
    return linear_index(workgroup, groups, 1u);
}

// Where an invocation starts in its row.
fn first_of(lane: u32) -> u32 {
    @if(row) return 0u;
    @if(group) return lane;
}

// Two sums over the row.
@if(row)
fn row_sum(share: vec2f, lane: u32) -> vec2f {
    return share;
}

@if(group)
fn row_sum(share: vec2f, lane: u32) -> vec2f {
    shares[lane] = share;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            shares[lane] += shares[lane + half];
        }
    }
    return shared_result();
}

// The largest number of the row.
@if(row)
fn row_max(share: f32, lane: u32) -> f32 {
    return share;
}

@if(group)
fn row_max(share: f32, lane: u32) -> f32 {
    shares[lane].x = share;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            shares[lane].x = max(shares[lane].x, shares[lane + half].x);
        }
    }
    return shared_result().x;
}

// The second barrier keeps the next tree from overwriting what an invocation has not read yet.
@if(group)
fn shared_result() -> vec2f {
    workgroupBarrier();
    let result = shares[0];
    workgroupBarrier();
    return result;
}
