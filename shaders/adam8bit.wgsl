// Adam with its two moving averages in 8 bits each, in blocks with a scale of their own.
//
//   d = clip * g + weight_decay * w
//   m = beta1 * m + (1 - beta1) * d
//   v = beta2 * v + (1 - beta2) * d^2
//   w -= lr * (m / bias1) / (sqrt(v / bias2) + eps)
//
// Variant decoupled is AdamW: d = clip * g, and first w *= 1 - lr * weight_decay. The arithmetic is that of adam.wgsl
// in F32; only what is kept from update to update is rounded.
// Block-wise quantization is Dettmers et al., 2021, arXiv:2110.02861. Where they have a table, the dynamic tree, there
// are powers here, which likewise are fine near 0 and need no table:
//   m = scale * sign(q) * (|q| / 127)^2 with q from -127 to 127, in two's complement
//   v = scale * (q / 255)^4             with q from 0 to 255
// scale is the largest magnitude of the block; q is the nearest whole number to the inverse of these functions. A v
// above 0 never becomes 0, which would make its next step huge: it gets at least q = 1. A block of zeros has the scale
// 0.
//
// Shapes: g and w hold n elements; m_codes and v_codes hold ceil(n / 4) words of four codes; m_scales and v_scales hold
// ceil(n / block) numbers; norm holds the 8 numbers of norm_finish. block is a multiple of 4.
// Reads norm and g, reads and writes the others: two bytes of state per weight. lr is step.lr; clip is norm[1], bias1
// and bias2 are norm[3] and norm[4]. Where norm[2] is not 0 the update is skipped: nothing is written.
// One workgroup handles a block, an invocation every 64th word of it: the first pass finds the largest new m and v, the
// second finds them again, writes their codes, and moves the weights.

import package::lib::bytes::{SMALLEST_NORMAL, unpack_signed, unpack_unsigned, pack};
import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    n: u32,      // elements
    block: u32,  // elements that share a scale
    beta1: f32,
    beta2: f32,
    eps: f32,
    weight_decay: f32,
}

@group(0) @binding(0) var<storage, read> norm: array<f32>;
@group(0) @binding(1) var<storage, read> g: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> w: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> m_codes: array<u32>;
@group(0) @binding(4) var<storage, read_write> m_scales: array<f32>;
@group(0) @binding(5) var<storage, read_write> v_codes: array<u32>;
@group(0) @binding(6) var<storage, read_write> v_scales: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

var<workgroup> largest: array<vec2f, WG>;

// Four weights and their new averages, before anything is rounded.
struct Moved {
    weight: vec4f,
    mean: vec4f,
    square: vec4f,
}

// `scales` are those of the old m and v.
fn moved(i: u32, scales: vec2f) -> Moved {
    let m_root = unpack_signed(m_codes[i]) / 127.0;
    let v_root = unpack_unsigned(v_codes[i]) / 255.0;
    let v_half = v_root * v_root;
    @if(!decoupled) let weight = w[i];
    @if(!decoupled) let d = norm[1] * g[i] + params.weight_decay * weight;
    @if(decoupled) let weight = w[i] * (1.0 - step.lr * params.weight_decay);
    @if(decoupled) let d = norm[1] * g[i];
    let mean = params.beta1 * (scales.x * (m_root * abs(m_root))) + (1.0 - params.beta1) * d;
    let square = params.beta2 * (scales.y * (v_half * v_half)) + (1.0 - params.beta2) * d * d;
    return Moved(weight, mean, square);
}

// Which of the four elements of word i there are. What stands past the last one is unknown and must not count.
fn inside(i: u32) -> vec4<bool> {
    return vec4u(4u * i) + vec4u(0u, 1u, 2u, 3u) < vec4u(params.n);
}

fn largest_of(x: vec4f) -> f32 {
    return max(max(x.x, x.y), max(x.z, x.w));
}

// x as shares of the largest: 0 in a block of zeros, where the share of anything is unknown.
fn shares(x: vec4f, scale: f32) -> vec4f {
    return select(x / scale, vec4f(0.0), vec4<bool>(scale == 0.0));
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
    let block = linear_index(workgroup, groups, 1u);
    // A broken gradient: norm_finish asks to leave everything as it is.
    if (block >= (params.n + params.block - 1u) / params.block || norm[2] != 0.0) {
        return;
    }
    let first = block * (params.block / 4u);
    let end = min(first + params.block / 4u, (params.n + 3u) / 4u);
    let old = vec2f(m_scales[block], v_scales[block]);
    var share = vec2f(0.0);
    for (var i = first + lane; i < end; i += WG) {
        let next = moved(i, old);
        let mean = select(vec4f(0.0), abs(next.mean), inside(i));
        let square = select(vec4f(0.0), next.square, inside(i));
        share = max(share, vec2f(largest_of(mean), largest_of(square)));
    }
    largest[lane] = share;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            largest[lane] = max(largest[lane], largest[lane + half]);
        }
    }
    // All have read the old scales when the first invocation overwrites them.
    storageBarrier();
    workgroupBarrier();
    let scales = select(largest[0], vec2f(0.0), largest[0] < vec2f(SMALLEST_NORMAL));
    if (lane == 0u) {
        m_scales[block] = scales.x;
        v_scales[block] = scales.y;
    }
    for (var i = first + lane; i < end; i += WG) {
        let next = moved(i, old);
        let m_code = min(round(127.0 * sqrt(shares(abs(next.mean), scales.x))), vec4f(127.0));
        let v_code = min(round(255.0 * sqrt(sqrt(shares(next.square, scales.y)))), vec4f(255.0));
        let v_least = select(vec4f(0.0), vec4f(1.0), next.square > vec4f(0.0));
        m_codes[i] = pack(sign(next.mean) * m_code, inside(i));
        v_codes[i] = pack(max(v_code, v_least), inside(i));
        w[i] = next.weight - step.lr * (next.mean / norm[3]) / (sqrt(next.square / norm[4]) + params.eps);
    }
}
