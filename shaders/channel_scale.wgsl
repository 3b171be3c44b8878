// Multiplies each channel of each picture by a number of its own: y[n, p, c] = x[n, p, c] * s[n, c].
// The excitation of Hu et al. 2017, Squeeze-and-Excitation Networks, arXiv:1709.01507. Its own gradient by x.
//
// Shapes: x and y are [batch, positions, channels]; s is [batch, channels].
// Reads x and s, writes y. Variant in_place: reads s, reads and writes y. Variant vec4: channels is a multiple of 4.
// One invocation handles one element, in vec4 four neighbouring ones of a pixel.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    batch: u32,
    positions: u32,  // pixels of a picture
    channels: u32,
}

@if(vec4) alias T = vec4f;
@if(!vec4) alias T = f32;
@if(vec4) const LANES: u32 = 4u;
@if(!vec4) const LANES: u32 = 1u;

@if(!in_place) @group(0) @binding(0) var<storage, read> x: array<T>;
@if(!in_place) @group(0) @binding(1) var<storage, read> s: array<T>;
@if(!in_place) @group(0) @binding(2) var<storage, read_write> y: array<T>;
@if(in_place) @group(0) @binding(0) var<storage, read> s: array<T>;
@if(in_place) @group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let columns = params.channels / LANES;
    if (i >= params.batch * params.positions * columns) {
        return;
    }
    let picture = i / (params.positions * columns);
    @if(!in_place) let v = x[i];
    @if(in_place) let v = y[i];
    y[i] = v * s[picture * columns + i % columns];
}
