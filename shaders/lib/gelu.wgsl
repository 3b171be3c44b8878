// The two forms of GELU and their derivatives, four values at a time.
//
// Both write GELU as x * s(x): s is the normal distribution function in the exact form, and a logistic function in the
// tanh form, since 0.5 * (1 + tanh(u)) = 1 / (1 + exp(-2 u)). One exp is cheaper than a tanh on every adapter.

const SQRT_HALF: f32 = 0.70710678;
const INV_SQRT_TAU: f32 = 0.39894228;  // 1 / sqrt(2 pi)
const TWO_SQRT_2_OVER_PI: f32 = 1.5957691;
const CUBIC: f32 = 0.044715;

// 1 - erf(z) for z >= 0. |error| <= 1.5e-7: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 7.1.26.
fn erfc_positive(z: vec4f) -> vec4f {
    // exp(-169) is 0 in f32, so nothing is lost by the bound, and z * z cannot overflow.
    let bounded = min(z, vec4f(13.0));
    let t = 1.0 / (1.0 + 0.3275911 * bounded);
    let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return poly * exp(-bounded * bounded);
}

// The normal distribution function. The small tail is computed, never 1 minus it, so that its digits survive.
fn normal_cdf(x: vec4f) -> vec4f {
    let tail = 0.5 * erfc_positive(abs(x) * SQRT_HALF);
    return select(1.0 - tail, tail, x < vec4f(0.0));
}

// d/dx [x * cdf(x)] = cdf(x) + x * pdf(x).
fn gelu_exact_slope(x: vec4f) -> vec4f {
    let bounded = clamp(x, vec4f(-19.0), vec4f(19.0));
    return normal_cdf(x) + x * (INV_SQRT_TAU * exp(-0.5 * bounded * bounded));
}

// exp(-2 u) with u = sqrt(2 / pi) * (x + 0.044715 x^3). Past +-10 it is 0 or huge to f32, so x is bounded there.
fn gelu_tanh_exp(x: vec4f) -> vec4f {
    let bounded = clamp(x, vec4f(-10.0), vec4f(10.0));
    return exp(-TWO_SQRT_2_OVER_PI * bounded * (1.0 + CUBIC * bounded * bounded));
}

fn gelu_tanh_gate(x: vec4f) -> vec4f {
    return 1.0 / (1.0 + gelu_tanh_exp(x));
}

// d/dx [x * s(x)] = s + x * s * (1 - s) * 2 u'. 1 - s is written e * s, as the subtraction would lose its digits.
fn gelu_tanh_slope(x: vec4f) -> vec4f {
    let bounded = clamp(x, vec4f(-10.0), vec4f(10.0));
    let e = gelu_tanh_exp(x);
    let s = 1.0 / (1.0 + e);
    let two_du = TWO_SQRT_2_OVER_PI * (1.0 + 3.0 * CUBIC * bounded * bounded);
    return s + x * (s * (e * s)) * two_du;
}
