// Second half of the global norm: norm[0] = sqrt(sum of the partials), norm[1] = the factor that clips the gradient.
//
// As torch.nn.utils.clip_grad_norm_: the factor is min(1, step.max_norm / (norm + 1e-6)), and 1 where max_norm is 0
// (no clipping). norm[0] is the norm before clipping. Clipping (Pascanu et al., 2013) is done once, on the gradient of
// the whole accumulation window; the optimizers multiply by norm[1].
// If clipping is on and the norm is not finite, the factor is NaN: torch's max_norm / inf = 0 would train on silently
// with the finite half of a broken gradient.
//
// Shapes: partials holds `count` numbers from norm_partials; norm holds 2.
// Reads partials, writes norm. One workgroup: each invocation adds a strided share, a tree adds the shares in a
// fixed order.

import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    count: u32,
}

@group(0) @binding(0) var<storage, read> partials: array<f32>;
@group(0) @binding(1) var<storage, read_write> norm: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

var<workgroup> sums: array<f32, WG>;

fn clip_factor(length: f32) -> f32 {
    // A test of the bits: compilers may take it that a float is never NaN or infinite.
    let bits = bitcast<u32>(length);
    if (step.max_norm == 0.0) {
        return 1.0;
    }
    if ((bits & 0x7f800000u) == 0x7f800000u) {
        return bitcast<f32>(bits | 0x7fc00000u);
    }
    return min(1.0, step.max_norm / (length + 1e-6));
}

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) lane: u32) {
    var sum = 0.0;
    for (var i = lane; i < params.count; i += WG) {
        sum += partials[i];
    }
    sums[lane] = sum;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            sums[lane] += sums[lane + half];
        }
    }
    if (lane == 0u) {
        let length = sqrt(sums[0]);
        norm[0] = length;
        norm[1] = clip_factor(length);
    }
}
