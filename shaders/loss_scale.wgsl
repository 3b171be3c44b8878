// Adapts the loss scale after an update: halves it where the gradient broke, doubles it after a long good time.
//
//   skipped (norm[2] != 0):  scale = max(scale / 2, floor), good = 0, skips += 1, skips in a row += 1
//   made:                    updates += 1, good += 1, skips in a row = 0, bias += (1 - bias) * (1 - beta)
//                            and where good has come to growth_every: scale = min(2 * scale, ceiling), good = 0
//
// Dynamic loss scaling (Micikevicius et al., 2018, arXiv:1710.03740), as torch.amp.GradScaler. All of it stays on the
// device, so that no update waits for the host. The scale, floor and ceiling are powers of two: dividing a gradient by
// the scale is then exact.
// bias = 1 - beta^t is stepped to t + 1 here, as only this kernel knows which updates were really made:
// 1 - beta^(t + 1) = (1 - beta^t) + beta^t * (1 - beta).
//
// Shapes: norm holds the 8 numbers of norm_finish. state holds 8: scale, good updates in a row, updates made, skips,
// bias1 and bias2 of the update to come, skips in a row, unused.
// Reads norm, reads and writes state. A single invocation does it all; it runs after the optimizers.

override WG: u32 = 64u;

struct Params {
    growth_every: u32,  // good updates in a row until the scale doubles
    beta1: f32,
    beta2: f32,
    floor: f32,         // smallest scale
    ceiling: f32,       // largest scale
}

@group(0) @binding(0) var<storage, read> norm: array<f32>;
@group(0) @binding(1) var<storage, read_write> state: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

fn after_skip() {
    state[0] = max(0.5 * state[0], params.floor);
    state[1] = 0.0;
    state[3] += 1.0;
    state[6] += 1.0;
}

fn after_update() {
    let good = state[1] + 1.0;
    // At least, not exactly: a run taken up again may ask for fewer good updates than it had already.
    let grows = good >= f32(params.growth_every);
    state[0] = select(state[0], min(2.0 * state[0], params.ceiling), grows);
    state[1] = select(good, 0.0, grows);
    state[2] += 1.0;
    state[4] += (1.0 - state[4]) * (1.0 - params.beta1);
    state[5] += (1.0 - state[5]) * (1.0 - params.beta2);
    state[6] = 0.0;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u) {
    if (gid.x > 0u) {
        return;
    }
    if (norm[2] != 0.0) {
        after_skip();
    } else {
        after_update();
    }
}
