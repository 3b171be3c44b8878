// Second half of the global norm: adds up the partials, and decides what the optimizers do with the gradient.
//
//   norm[0] = length of the true gradient, before clipping     norm[4] = bias2 = 1 - beta2^t
//   norm[1] = the factor the optimizers multiply g by          norm[5] = t, the number of this update, from 1
//   norm[2] = 1 if this update must not be made, else 0        norm[6] = the loss scale that was used
//   norm[3] = bias1 = 1 - beta1^t                              norm[7] = updates skipped before this one
//
// As torch.nn.utils.clip_grad_norm_: the factor is min(1, step.max_norm / (length + 1e-6)), and 1 where max_norm is 0
// (no clipping). Clipping (Pascanu et al., 2013) is done once, on the gradient of the whole accumulation window; the
// optimizers multiply by norm[1].
// The plain variant never skips, and takes bias1, bias2 and t from the step uniform. If clipping is on and the length
// is not finite, the factor is NaN: torch's max_norm / inf = 0 would train on silently with the finite half of a broken
// gradient.
// Variant scaled is for a gradient whose loss was multiplied by a loss scale, a power of two (Micikevicius et al.,
// 2018): the length is divided by it before the clipping, and the factor undoes it. A sum of squares that is not finite
// asks for a skip, with the factor 0 and the broken length for all to see. As an update may be skipped, the numbers of
// the updates are those that loss_scale keeps in state, not the step's.
//
// Shapes: partials holds `count` numbers from norm_partials from `offset` on; norm holds 8. state holds 8: scale, good
// updates in a row, updates made, skips, bias1 and bias2 of the update to come, skips in a row, unused.
// Reads partials, and state in the variant scaled; writes norm. One workgroup: each invocation adds a strided share, a
// tree adds the shares in a fixed order.

import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    count: u32,
    offset: u32,  // of the first partial, so that the length of a single tensor can be found as well
}

@group(0) @binding(0) var<storage, read> partials: array<f32>;
@if(scaled) @group(0) @binding(1) var<storage, read> state: array<f32>;
@if(scaled) @group(0) @binding(2) var<storage, read_write> norm: array<f32>;
@if(!scaled) @group(0) @binding(1) var<storage, read_write> norm: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

var<workgroup> sums: array<f32, WG>;

// A test of the bits: compilers may take it that a float is never NaN or infinite.
fn is_broken(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u;
}

fn clip_factor(length: f32) -> f32 {
    if (step.max_norm == 0.0) {
        return 1.0;
    }
    if (is_broken(length)) {
        return bitcast<f32>(bitcast<u32>(length) | 0x7fc00000u);
    }
    return min(1.0, step.max_norm / (length + 1e-6));
}

@if(!scaled)
fn finish(sum: f32) {
    let length = sqrt(sum);
    norm[0] = length;
    norm[1] = clip_factor(length);
    norm[2] = 0.0;
    norm[3] = step.bias1;
    norm[4] = step.bias2;
    norm[5] = f32(step.update + 1u);
    norm[6] = 1.0;
    norm[7] = 0.0;
}

@if(scaled)
fn finish(sum: f32) {
    let scale = state[0];
    // Turning the sign of the exponent inverts a power of two exactly; a division may be off by a few units.
    let inverse = bitcast<f32>((254u << 23u) - bitcast<u32>(scale));
    let length = sqrt(sum);
    if (is_broken(sum)) {
        norm[0] = sum;
        norm[1] = 0.0;
        norm[2] = 1.0;
    } else {
        norm[0] = length * inverse;
        norm[1] = clip_factor(length * inverse) * inverse;
        norm[2] = 0.0;
    }
    norm[3] = state[4];
    norm[4] = state[5];
    norm[5] = state[2] + 1.0;
    norm[6] = scale;
    norm[7] = state[3];
}

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) lane: u32) {
    var sum = 0.0;
    for (var i = lane; i < params.count; i += WG) {
        sum += partials[params.offset + i];
    }
    sums[lane] = sum;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            sums[lane] += sums[lane + half];
        }
    }
    if (lane == 0u) {
        finish(sums[0]);
    }
}
