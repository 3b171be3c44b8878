//! Scenes for the gradients of layers that look at pictures and of layers that read text, and the shapes they refuse.

use crate::gradients::{Build, ROWS, WIDTH};
use headroom::dtype::DType;
use headroom::graph::{Class, Graph, GraphError, Heads, Init, Pool, RowNorm, ValueId, Window};

type Built = Result<ValueId, GraphError>;

/// The hidden values as pictures of 2 x 2 pixels with 2 channels.
fn picture(g: &mut Graph, x: ValueId) -> Built {
    g.reshape("picture", x, &[ROWS, 2, 2, 2])
}

fn flat(g: &mut Graph, x: ValueId) -> Built {
    g.reshape("flat", x, &[ROWS, WIDTH])
}

/// What is left of the hidden values, made as wide as they were.
fn widen(g: &mut Graph, x: ValueId, cols: usize) -> Built {
    let x = g.reshape("narrow", x, &[ROWS, cols])?;
    let w = weight(g, "widen", &[cols, WIDTH])?;
    g.matmul("widen.matmul", x, w, false, false)
}

fn weight(g: &mut Graph, name: &str, shape: &[usize]) -> Built {
    g.parameter(name, shape, Init::Uniform { bound: 0.7 })
}

/// A convolution of the picture that keeps 48 numbers.
fn conv(g: &mut Graph, x: ValueId, shape: [usize; 4], window: Window, groups: usize) -> Built {
    let x = picture(g, x)?;
    let w = weight(g, "kernel", &shape)?;
    let y = g.conv("conv", x, w, window, groups)?;
    flat(g, y)
}

const HEADS: Heads = Heads {
    context: 3,
    heads: 2,
};

fn qkv(g: &mut Graph, x: ValueId) -> Built {
    let w = weight(g, "qkv", &[WIDTH, 3 * WIDTH])?;
    g.matmul("qkv.matmul", x, w, false, false)
}

pub(crate) const LAYER_SCENES: &[(&str, &[&str], Build)] = &[
    ("conv", &["conv"], |g, x| {
        conv(g, x, [3, 3, 2, 2], Window::same(3, 1), 1)
    }),
    ("conv in groups", &["conv"], |g, x| {
        conv(g, x, [3, 3, 1, 2], Window::same(3, 1), 2)
    }),
    ("conv with stride", &["conv"], |g, x| {
        conv(g, x, [3, 3, 2, 8], Window::same(3, 2), 1)
    }),
    ("conv without padding", &["conv"], |g, x| {
        conv(g, x, [2, 2, 2, 8], Window::tiles(2), 1)
    }),
    ("depthwise", &["depthwise"], |g, x| {
        let x = picture(g, x)?;
        let w = weight(g, "kernel", &[3, 3, 2])?;
        let y = g.depthwise("depthwise", x, w, Window::same(3, 1))?;
        flat(g, y)
    }),
    ("depthwise with stride", &["depthwise"], |g, x| {
        let x = picture(g, x)?;
        let w = weight(g, "kernel", &[5, 5, 2])?;
        let y = g.depthwise("depthwise", x, w, Window::same(5, 2))?;
        widen(g, y, 2)
    }),
    ("max pool", &["max_pool"], |g, x| {
        let x = picture(g, x)?;
        let y = g.pool("pool", x, Pool::Max, Window::tiles(2))?;
        widen(g, y, 2)
    }),
    ("max pool, overlapping", &["max_pool"], |g, x| {
        let x = picture(g, x)?;
        let y = g.pool("pool", x, Pool::Max, Window::same(3, 1))?;
        flat(g, y)
    }),
    ("mean pool", &["avg_pool"], |g, x| {
        let x = picture(g, x)?;
        let y = g.pool("pool", x, Pool::Average, Window::same(3, 2))?;
        widen(g, y, 2)
    }),
    ("global pool", &["global_pool"], |g, x| {
        let x = picture(g, x)?;
        let y = g.global_pool("pool", x)?;
        widen(g, y, 2)
    }),
    ("batch norm of pictures", &["batch_norm"], |g, x| {
        let x = picture(g, x)?;
        let y = g.batch_norm("norm", x, 0.1, 1e-5)?;
        flat(g, y)
    }),
    ("batch norm of rows", &["batch_norm"], |g, x| {
        g.batch_norm("norm", x, 0.1, 1e-5)
    }),
    ("gate", &["channel_scale", "sigmoid"], |g, x| {
        let x = picture(g, x)?;
        let mean = g.global_pool("pool", x)?;
        let gate = g.sigmoid("sigmoid", mean)?;
        let y = g.channel_scale("gate", x, gate)?;
        flat(g, y)
    }),
    ("relu6", &["relu6"], |g, x| {
        let x = g.scale("spread", x, 4.0)?;
        g.relu6("relu6", x)
    }),
    ("silu", &["silu"], |g, x| g.silu("silu", x)),
    ("sigmoid", &["sigmoid"], |g, x| g.sigmoid("sigmoid", x)),
    ("layer norm", &["layer_norm"], |g, x| {
        g.row_norm("norm", x, RowNorm::Layer, 1e-5)
    }),
    ("root mean square norm", &["layer_norm"], |g, x| {
        g.row_norm("norm", x, RowNorm::Rms, 1e-5)
    }),
    ("swiglu", &["swiglu"], |g, x| {
        let y = g.swiglu("swiglu", x)?;
        widen(g, y, WIDTH / 2)
    }),
    ("plain attention", &["attention_mix"], |g, x| {
        let qkv = qkv(g, x)?;
        g.attention_plain("attention", qkv, HEADS)
    }),
    ("fused attention", &["attention_fused"], |g, x| {
        let qkv = qkv(g, x)?;
        g.attention_fused("attention", qkv, HEADS)
    }),
    ("rotary positions", &["rotary"], |g, x| {
        let qkv = qkv(g, x)?;
        // The angles are a parameter here, so that they are no zeros; they have no gradient.
        let angles = g.persistent("angles", &[3, WIDTH / 2], DType::F32, Class::Data);
        let turned = g.rotary("rotary", qkv, angles, HEADS)?;
        let sum = g.add("both", turned, qkv)?;
        g.attention_fused("attention", sum, HEADS)
    }),
];

/// An operation, the two shapes its refusal must name, and what it said.
type Refusal = (&'static str, &'static str, &'static str, Option<GraphError>);

fn assert_refused(refusals: Vec<Refusal>) {
    for (op, left, right, error) in refusals {
        let error = error.unwrap_or_else(|| panic!("{op} took {left} and {right}"));
        let text = error.to_string();
        for part in [op, "\"n\"", left, right] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
    }
}

fn value(g: &mut Graph, name: &str, shape: &[usize]) -> ValueId {
    g.persistent(name, shape, DType::F32, Class::Data)
}

#[test]
fn layers_of_pictures_refuse_shapes_that_do_not_fit_and_name_both() {
    let mut g = Graph::new();
    let picture = value(&mut g, "picture", &[4, 6, 6, 3]);
    let row = value(&mut g, "row", &[4, 10]);
    let kernel = value(&mut g, "kernel", &[3, 3, 2, 8]);
    let channels = value(&mut g, "channels", &[3, 3, 5]);
    let gate = value(&mut g, "gate", &[4, 2]);
    let large = value(&mut g, "large", &[9, 9, 3]);
    let same = Window::same(3, 1);
    let wide = Window {
        kernel: 9,
        stride: 1,
        padding: 1,
    };
    let (p, k) = ("[4, 6, 6, 3]", "[3, 3, 2, 8]");
    let conv = |g: &mut Graph, x| g.conv("n", x, kernel, same, 1).err();
    let depthwise = |g: &mut Graph, w, window| g.depthwise("n", picture, w, window).err();
    let pool = |g: &mut Graph, x, window| g.pool("n", x, Pool::Max, window).err();
    assert_refused(vec![
        ("conv", p, k, conv(&mut g, picture)),
        ("conv", "[4, 10]", k, conv(&mut g, row)),
        (
            "depthwise",
            p,
            "[3, 3, 5]",
            depthwise(&mut g, channels, same),
        ),
        ("depthwise", p, "[9, 9, 3]", depthwise(&mut g, large, wide)),
        ("pool", p, "[9, 9]", pool(&mut g, picture, wide)),
        ("pool", "[4, 10]", "[3, 3]", pool(&mut g, row, same)),
        (
            "channel_scale",
            p,
            "[4, 2]",
            g.channel_scale("n", picture, gate).err(),
        ),
    ]);
}

#[test]
fn layers_of_text_refuse_shapes_that_do_not_fit_and_name_both() {
    let mut g = Graph::new();
    let row = value(&mut g, "row", &[4, 10]);
    let qkv = value(&mut g, "qkv", &[10, 24]);
    let angles = value(&mut g, "angles", &[7, 4]);
    let table = value(&mut g, "table", &[11, 9]);
    let tokens = g.persistent("tokens", &[2, 5], DType::U32, Class::Data);
    let labels = g.persistent("labels", &[3], DType::U32, Class::Data);
    let loss = value(&mut g, "loss", &[1]);
    let heads = |context, heads| Heads { context, heads };
    let (q, t) = ("[10, 24]", "[11, 9]");
    let head = |g: &mut Graph, x| {
        g.linear_cross_entropy("n", [x, table, labels], true, loss)
            .err()
    };
    assert_refused(vec![
        (
            "attention",
            q,
            "[4, 2]",
            g.attention_fused("n", qkv, heads(4, 2)).err(),
        ),
        (
            "attention",
            q,
            "[5, 3]",
            g.attention_plain("n", qkv, heads(5, 3)).err(),
        ),
        (
            "rotary",
            q,
            "[7, 4]",
            g.rotary("n", qkv, angles, heads(5, 2)).err(),
        ),
        ("swiglu", t, "[11, 4]", g.swiglu("n", table).err()),
        (
            "embedding",
            "[3]",
            "[10]",
            g.embedding("n", tokens, table, Some([labels; 2])).err(),
        ),
        ("linear_cross_entropy", "[4, 10]", t, head(&mut g, row)),
        ("linear_cross_entropy", t, "[3]", head(&mut g, table)),
    ]);
}

#[test]
fn one_value_has_no_variance() {
    let mut g = Graph::new();
    let single = g.persistent("single", &[1, 1, 1, 3], DType::F32, Class::Data);
    let text = g
        .batch_norm("n", single, 0.1, 1e-5)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("[1, 1, 1, 3]") && text.contains("data.batch"),
        "{text}"
    );
}
