// Where the heads of attention lie in the tensors that hold them side by side.

// The uniform of every attention kernel. width = heads * head_dim.
struct Shape {
    batch: u32,
    context: u32,   // rows of one sample
    heads: u32,
    head_dim: u32,
}

// Element of qkv [batch * context, 3 * width] at which head `bh` (sample * heads + head) has its query (third 0), key
// (third 1) or value (third 2) of the sample's first row. The next row is 3 * width further.
fn third_at(s: Shape, bh: u32, third: u32) -> u32 {
    return (((bh / s.heads) * s.context * 3u + third) * s.heads + bh % s.heads) * s.head_dim;
}

// The same in o [batch * context, width]. The next row is width further.
fn output_at(s: Shape, bh: u32) -> u32 {
    return ((bh / s.heads) * s.context * s.heads + bh % s.heads) * s.head_dim;
}

// What the products of queries and keys are multiplied by, so that their variance does not grow with head_dim.
fn score_scale(s: Shape) -> f32 {
    return 1.0 / sqrt(f32(s.head_dim));
}
