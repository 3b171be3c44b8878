//! Initial weights: a pure function of seed, parameter name and element, the same on every engine and platform.

use crate::graph::{Init, Value};

/// The words a value starts with; `None` where it starts at zero.
pub(super) fn initial_words(seed: u32, value: &Value) -> Option<Vec<u32>> {
    let bound = match value.init? {
        Init::Zeros => return None,
        Init::Ones => return Some(vec![1f32.to_bits(); value.elements()]),
        Init::Rotary => return Some(rotary_angles(&value.shape)),
        Init::Uniform { bound } => bound,
    };
    // FNV-1a of the name keys the parameter, so that adding a layer does not change the start of the others.
    let name = value
        .name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    let key = mix(name ^ mix(u64::from(seed)));
    let words = (0..value.elements() as u64).map(|element| {
        // 24 bits fill the mantissa of an F32 exactly.
        let unit = (mix(key.wrapping_add(element)) >> 40) as f32 / 16_777_216.0;
        (bound * (2.0 * unit - 1.0)).to_bits()
    });
    Some(words.collect())
}

/// Cosine and sine, side by side, of position times 10000^(-2 i / head_dim) for pair i: section 3.2.2 of arXiv:2104.09864.
/// On the host, because the precision of a shader's sine is not given for large angles.
fn rotary_angles(shape: &[usize]) -> Vec<u32> {
    const BASE: f64 = 10_000.0;
    let [positions, head_dim] = shape[..] else {
        return Vec::new();
    };
    let words = |position: usize| {
        (0..head_dim / 2).flat_map(move |pair| {
            let slowness = BASE.powf(2.0 * pair as f64 / head_dim as f64);
            let angle = position as f64 / slowness;
            [angle.cos() as f32, angle.sin() as f32].map(f32::to_bits)
        })
    };
    (0..positions).flat_map(words).collect()
}

/// SplitMix64 (Steele, Lea and Flood 2014) as a hash: its counter step, then its finalizer.
pub(super) fn mix(input: u64) -> u64 {
    let mut z = input.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::graph::Class;

    fn floats(name: &str, seed: u32) -> Vec<f32> {
        let value = Value {
            name: name.into(),
            shape: vec![100, 100],
            dtype: DType::F32,
            class: Class::Weights,
            persistent: true,
            init: Some(Init::Uniform { bound: 0.5 }),
        };
        initial_words(seed, &value)
            .unwrap()
            .into_iter()
            .map(f32::from_bits)
            .collect()
    }

    #[test]
    fn weights_are_uniform_within_the_bound_and_differ_by_seed_and_name() {
        let a = floats("a", 1);
        assert!(a.iter().all(|w| w.abs() <= 0.5));
        let mean = a.iter().sum::<f32>() / a.len() as f32;
        let variance = a.iter().map(|w| w * w).sum::<f32>() / a.len() as f32;
        assert!(
            mean.abs() < 0.01 && (variance - 1.0 / 12.0).abs() < 0.003,
            "mean {mean}, variance {variance}"
        );
        assert_eq!(a, floats("a", 1));
        assert_ne!(a, floats("a", 2));
        assert_ne!(a, floats("b", 1));
    }
}
