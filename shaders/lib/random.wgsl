// Counter-based random numbers: a value is a pure function of its key, so drawing it again gives the same value.
import package::lib::step::Step;

// The PCG-RXS-M-XS hash of 32 bits: Jarzynski and Olano, "Hash Functions for GPU Rendering", JCGT 9(3), 2020.
fn pcg(v: vec4u) -> vec4u {
    let state = v * 747796405u + 2891336453u;
    let word = ((state >> ((state >> vec4u(28u)) + 4u)) ^ state) * 277803737u;
    return (word >> vec4u(22u)) ^ word;
}

// Four random words for the elements `first` to `first + 3` of a node in a step.
// The element is hashed before it meets the key: adding it to the key would make the words of two nodes copies of
// each other, shifted by the difference of their keys.
fn random4(at: Step, node: u32, first: u32) -> vec4u {
    let seed = pcg(vec4u(at.seed));
    let update = pcg(seed ^ vec4u(at.update));
    let micro = pcg(update ^ vec4u(at.micro));
    let key = pcg(micro ^ vec4u(node));
    return pcg(key ^ pcg(vec4u(first) + vec4u(0u, 1u, 2u, 3u)));
}
