// Sums of squares that Adafactor needs of a whole tensor: of its raw update u, and of the weights.
//
//   u = d / sqrt(vhat), d = clip * g
//   vhat = r[b, i] * c[b, j] / m[b] in the variant factored, v in the variant full
//   partials[k] = sum of u^2 and partials[64 + k] = sum of w^2 over the k-th of 64 shares of the tensor
//
// Shazeer and Stern, 2018, arXiv:1804.04235. clip is norm[1] from norm_finish. The number of shares is fixed, so the
// result does not depend on the device. In a skipped update what is written means nothing, and nobody uses it.
//
// Shapes: g and w are [batch, rows, cols] with n elements, r [batch, rows], c [batch, cols], m [batch], v as g; norm
// holds the 8 numbers of norm_finish, partials 128. Dispatch exactly 64 workgroups.
// Reads norm, g and w, and r, c and m, or v; writes partials.
// One invocation sums every (64 * 64)th group of four elements; a tree in workgroup memory adds the 64 sums of a
// workgroup in a fixed order.

override WG: u32 = 64u;
const SHARES: u32 = 64u;

struct Params {
    n: u32,     // elements
    rows: u32,
    cols: u32,
}

@group(0) @binding(0) var<storage, read> norm: array<f32>;
@group(0) @binding(1) var<storage, read> g: array<vec4f>;
@group(0) @binding(2) var<storage, read> w: array<vec4f>;
@if(factored) @group(0) @binding(3) var<storage, read> r: array<f32>;
@if(factored) @group(0) @binding(4) var<storage, read> c: array<f32>;
@if(factored) @group(0) @binding(5) var<storage, read> m: array<f32>;
@if(factored) @group(0) @binding(6) var<storage, read_write> partials: array<f32>;
@if(full) @group(0) @binding(3) var<storage, read> v: array<vec4f>;
@if(full) @group(0) @binding(4) var<storage, read_write> partials: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

var<workgroup> sums: array<vec2f, WG>;

// The roots of the estimated squares of four neighbouring gradients. Those past the end repeat the last one.
@if(factored)
fn roots(i: u32) -> vec4f {
    let e = min(vec4u(4u * i) + vec4u(0u, 1u, 2u, 3u), vec4u(params.n - 1u));
    let row = e / params.cols;
    let b = row / params.rows;
    let column = b * params.cols + e % params.cols;
    let rows = vec4f(r[row.x], r[row.y], r[row.z], r[row.w]);
    let cols = vec4f(c[column.x], c[column.y], c[column.z], c[column.w]);
    // Divided first: the product of two estimates near 1e-30 would be 0.
    return sqrt(rows / vec4f(m[b.x], m[b.y], m[b.z], m[b.w]) * cols);
}

@if(full)
fn roots(i: u32) -> vec4f {
    return sqrt(v[i]);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    var sum = vec2f(0.0);
    for (var i = group.x * WG + lane; i < (params.n + 3u) / 4u; i += SHARES * WG) {
        // What stands past the last element is unknown and must not count.
        let inside = vec4u(4u * i) + vec4u(0u, 1u, 2u, 3u) < vec4u(params.n);
        let u = select(vec4f(0.0), norm[1] * g[i] / roots(i), inside);
        let weight = select(vec4f(0.0), w[i], inside);
        sum += vec2f(dot(u, u), dot(weight, weight));
    }
    sums[lane] = sum;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            sums[lane] += sums[lane + half];
        }
    }
    if (lane == 0u) {
        partials[group.x] = sums[0].x;
        partials[SHARES + group.x] = sums[0].y;
    }
}
