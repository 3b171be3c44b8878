// 8x8 numbers of a matrix in registers, and the products that make and use them.
//
// Structs of named vectors stay in registers; an array indexed in a loop may not.

// Four vectors of 8 rows each hold 4 columns: element e3 belongs to row 3.
struct Quads {
    e0: vec4f, e1: vec4f, e2: vec4f, e3: vec4f, e4: vec4f, e5: vec4f, e6: vec4f, e7: vec4f,
}

// l3 holds row 3, columns 0-3; h3 holds row 3, columns 4-7.
struct Tile {
    l0: vec4f, l1: vec4f, l2: vec4f, l3: vec4f, l4: vec4f, l5: vec4f, l6: vec4f, l7: vec4f,
    h0: vec4f, h1: vec4f, h2: vec4f, h3: vec4f, h4: vec4f, h5: vec4f, h6: vec4f, h7: vec4f,
}

// Columns of a 4x4 block whose rows are a, b, c and d.
fn turned(a: vec4f, b: vec4f, c: vec4f, d: vec4f) -> mat4x4f {
    return mat4x4f(vec4f(a.x, b.x, c.x, d.x), vec4f(a.y, b.y, c.y, d.y),
                   vec4f(a.z, b.z, c.z, d.z), vec4f(a.w, b.w, c.w, d.w));
}

// tile[i][j] += dot(a.e<i>, b.e<j>): four steps of the inner size of a product of A and B transposed.
fn add_dots(tile: ptr<function, Tile>, a: Quads, b: Quads) {
    let left = turned(b.e0, b.e1, b.e2, b.e3);
    let right = turned(b.e4, b.e5, b.e6, b.e7);
    (*tile).l0 += left * a.e0;
    (*tile).l1 += left * a.e1;
    (*tile).l2 += left * a.e2;
    (*tile).l3 += left * a.e3;
    (*tile).l4 += left * a.e4;
    (*tile).l5 += left * a.e5;
    (*tile).l6 += left * a.e6;
    (*tile).l7 += left * a.e7;
    (*tile).h0 += right * a.e0;
    (*tile).h1 += right * a.e1;
    (*tile).h2 += right * a.e2;
    (*tile).h3 += right * a.e3;
    (*tile).h4 += right * a.e4;
    (*tile).h5 += right * a.e5;
    (*tile).h6 += right * a.e6;
    (*tile).h7 += right * a.e7;
}

// The sum of 8 vectors, weighted by a row of a tile.
fn weighted(low: vec4f, high: vec4f, v: Quads) -> vec4f {
    return mat4x4f(v.e0, v.e1, v.e2, v.e3) * low + mat4x4f(v.e4, v.e5, v.e6, v.e7) * high;
}

// Rows become columns.
fn flipped(t: Tile) -> Tile {
    let a = turned(t.l0, t.l1, t.l2, t.l3);
    let b = turned(t.l4, t.l5, t.l6, t.l7);
    let c = turned(t.h0, t.h1, t.h2, t.h3);
    let d = turned(t.h4, t.h5, t.h6, t.h7);
    return Tile(a[0], a[1], a[2], a[3], c[0], c[1], c[2], c[3], b[0], b[1], b[2], b[3], d[0], d[1], d[2], d[3]);
}

// sums[i] += row i of p times V, whose 8 rows are given as columns 0-3 (left) and 4-7 (right).
fn add_product(sums: ptr<function, Tile>, p: Tile, left: Quads, right: Quads) {
    (*sums).l0 += weighted(p.l0, p.h0, left);
    (*sums).l1 += weighted(p.l1, p.h1, left);
    (*sums).l2 += weighted(p.l2, p.h2, left);
    (*sums).l3 += weighted(p.l3, p.h3, left);
    (*sums).l4 += weighted(p.l4, p.h4, left);
    (*sums).l5 += weighted(p.l5, p.h5, left);
    (*sums).l6 += weighted(p.l6, p.h6, left);
    (*sums).l7 += weighted(p.l7, p.h7, left);
    (*sums).h0 += weighted(p.l0, p.h0, right);
    (*sums).h1 += weighted(p.l1, p.h1, right);
    (*sums).h2 += weighted(p.l2, p.h2, right);
    (*sums).h3 += weighted(p.l3, p.h3, right);
    (*sums).h4 += weighted(p.l4, p.h4, right);
    (*sums).h5 += weighted(p.l5, p.h5, right);
    (*sums).h6 += weighted(p.l6, p.h6, right);
    (*sums).h7 += weighted(p.l7, p.h7, right);
}
