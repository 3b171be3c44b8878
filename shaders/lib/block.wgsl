// Blocks of 8 x 8 sums in registers, for products that use no workgroup memory.

// The 8x8 sums of an invocation: r3 holds row 3, columns 0-3; s3 holds row 3, columns 4-7. A struct of named vectors
// stays in registers, an array indexed in a loop may not.
struct Sums {
    r0: vec4f, r1: vec4f, r2: vec4f, r3: vec4f, r4: vec4f, r5: vec4f, r6: vec4f, r7: vec4f,
    s0: vec4f, s1: vec4f, s2: vec4f, s3: vec4f, s4: vec4f, s5: vec4f, s6: vec4f, s7: vec4f,
}

// Four vectors, one below the other.
struct Block {
    p0: vec4f, p1: vec4f, p2: vec4f, p3: vec4f,
}

// Exchanges the two sides of a 4x4 block.
fn turned(v: Block) -> Block {
    return Block(vec4f(v.p0.x, v.p1.x, v.p2.x, v.p3.x), vec4f(v.p0.y, v.p1.y, v.p2.y, v.p3.y),
                 vec4f(v.p0.z, v.p1.z, v.p2.z, v.p3.z), vec4f(v.p0.w, v.p1.w, v.p2.w, v.p3.w));
}

// Adds the outer product of 8 elements of the left side and 8 of the right side.
fn add_outer(sums: ptr<function, Sums>, upper: vec4f, lower: vec4f, left: vec4f, right: vec4f) {
    (*sums).r0 += upper.x * left;
    (*sums).r1 += upper.y * left;
    (*sums).r2 += upper.z * left;
    (*sums).r3 += upper.w * left;
    (*sums).r4 += lower.x * left;
    (*sums).r5 += lower.y * left;
    (*sums).r6 += lower.z * left;
    (*sums).r7 += lower.w * left;
    (*sums).s0 += upper.x * right;
    (*sums).s1 += upper.y * right;
    (*sums).s2 += upper.z * right;
    (*sums).s3 += upper.w * right;
    (*sums).s4 += lower.x * right;
    (*sums).s5 += lower.y * right;
    (*sums).s6 += lower.z * right;
    (*sums).s7 += lower.w * right;
}
