// Fused attention on tiles whose rows are 8 keys from `key` on and whose columns are 8 queries from t on.
import package::lib::heads::{Shape, score_scale};
import package::lib::tile::Tile;

// Which of four queries from t on see a key. Queries past the end see nothing.
fn sees(shape: Shape, key: u32, t: u32) -> vec4<bool> {
    let queries = vec4u(t) + vec4u(0u, 1u, 2u, 3u);
    return (vec4u(key) <= queries) & (queries < vec4u(shape.context));
}

fn probability(shape: Shape, products: vec4f, key: u32, t: u32, base: vec4f) -> vec4f {
    return select(vec4f(0.0), exp(score_scale(shape) * products - base), sees(shape, key, t));
}

// exp(scale * product - base) of each query, exactly 0 where the key is not seen. The softmax itself if base is its
// log-sum-exp.
fn probabilities(shape: Shape, x: Tile, key: u32, t: u32, low: vec4f, high: vec4f) -> Tile {
    let u = t + 4u;
    return Tile(
        probability(shape, x.l0, key, t, low), probability(shape, x.l1, key + 1u, t, low),
        probability(shape, x.l2, key + 2u, t, low), probability(shape, x.l3, key + 3u, t, low),
        probability(shape, x.l4, key + 4u, t, low), probability(shape, x.l5, key + 5u, t, low),
        probability(shape, x.l6, key + 6u, t, low), probability(shape, x.l7, key + 7u, t, low),
        probability(shape, x.h0, key, u, high), probability(shape, x.h1, key + 1u, u, high),
        probability(shape, x.h2, key + 2u, u, high), probability(shape, x.h3, key + 3u, u, high),
        probability(shape, x.h4, key + 4u, u, high), probability(shape, x.h5, key + 5u, u, high),
        probability(shape, x.h6, key + 6u, u, high), probability(shape, x.h7, key + 7u, u, high));
}

// Gradients of the products of queries and keys: scale * p * (dp - delta).
fn product_grads(shape: Shape, p: Tile, dp: Tile, low: vec4f, high: vec4f) -> Tile {
    let f = score_scale(shape);
    return Tile(
        f * p.l0 * (dp.l0 - low), f * p.l1 * (dp.l1 - low), f * p.l2 * (dp.l2 - low), f * p.l3 * (dp.l3 - low),
        f * p.l4 * (dp.l4 - low), f * p.l5 * (dp.l5 - low), f * p.l6 * (dp.l6 - low), f * p.l7 * (dp.l7 - low),
        f * p.h0 * (dp.h0 - high), f * p.h1 * (dp.h1 - high), f * p.h2 * (dp.h2 - high), f * p.h3 * (dp.h3 - high),
        f * p.h4 * (dp.h4 - high), f * p.h5 * (dp.h5 - high), f * p.h6 * (dp.h6 - high), f * p.h7 * (dp.h7 - high));
}
