// What the kernels of Adafactor share: Shazeer and Stern, 2018, arXiv:1804.04235.

// Is added to every squared gradient, so that no estimate is 0.
const TINY: f32 = 1e-30;

// t^(-0.8) = 1 - beta, the weight of the new square in update t. Exactly 1 in the first, which forgets the zeros
// before.
fn new_share(t: f32) -> f32 {
    return select(pow(t, -0.8), 1.0, t <= 1.0);
}
