// First half of the global norm of the gradient: sums of squares. norm_finish adds them up.
//
// partials[offset + g] = sum of x[e]^2 over the g-th of 64 shares of x, for the workgroups g = 0 .. 63.
// The number of shares is fixed, so the result does not depend on the device; each tensor has its own offset.
//
// Shapes: x holds n elements; partials has room for 64 numbers per tensor. Dispatch exactly 64 workgroups.
// Reads x, writes 64 elements of partials.
// One invocation sums every (64 * 64)th group of four elements; a tree in workgroup memory adds the 64 sums of a
// workgroup in a fixed order.

override WG: u32 = 64u;
const SHARES: u32 = 64u;

struct Params {
    n: u32,       // elements
    offset: u32,  // where this tensor's 64 numbers start
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> partials: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

var<workgroup> sums: array<f32, WG>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    var sum = 0.0;
    for (var i = group.x * WG + lane; i < (params.n + 3u) / 4u; i += SHARES * WG) {
        // What stands past the last element is unknown and must not count.
        let inside = vec4u(4u * i) + vec4u(0u, 1u, 2u, 3u) < vec4u(params.n);
        let v = select(vec4f(0.0), x[i], inside);
        sum += dot(v, v);
    }
    sums[lane] = sum;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            sums[lane] += sums[lane + half];
        }
    }
    if (lane == 0u) {
        partials[params.offset + group.x] = sums[0];
    }
}
