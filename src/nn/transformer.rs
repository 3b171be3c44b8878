//! A decoder that predicts the next token, in the way of GPT-2 (Radford et al. 2019): each block a causal attention and
//! an MLP, each after a norm and added to its input.

use super::layers::{NORM_EPS, linear};
use crate::experiment::{Form, MlpKind, NormKind, Positions, Transformer};
use crate::graph::{Class, Graph, GraphError, Heads, Init, RowNorm, ValueId};

/// Standard deviation of the initial weights in GPT-2.
const INIT_DEVIATION: f32 = 0.02;

/// The tokens a decoder reads.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    /// U32 [sequences, context].
    pub tokens: ValueId,
    /// The rows sorted by token, for the gradient of the embedding: see [`Graph::embedding`]. None where there is none.
    pub sorted: Option<[ValueId; 2]>,
    /// Number of different tokens.
    pub vocabulary: usize,
}

/// What a decoder makes of its tokens, up to the logits.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    /// The last hidden values, [sequences * context, width].
    pub hidden: ValueId,
    /// Weights of the head: [vocabulary, width] if `transposed`, else [width, vocabulary].
    pub head: ValueId,
    /// Whether the head is the embedding table.
    pub transposed: bool,
}

/// Adds the layers of `model`, from tokens to the values its head multiplies. `training` switches dropout on.
///
/// # Errors
/// Names the layer and both shapes where two do not fit.
pub fn decode(
    graph: &mut Graph,
    model: &Transformer,
    input: Tokens,
    training: bool,
) -> Result<Decoded, GraphError> {
    let (width, vocabulary) = (model.width, input.vocabulary);
    let table = graph.parameter("embedding", &[vocabulary, width], uniform(INIT_DEVIATION))?;
    let mut x = graph.embedding("embedding.rows", input.tokens, table, input.sorted)?;
    let turned = match model.positions {
        Positions::Learned => {
            x = add_positions(graph, model, x)?;
            None
        }
        Positions::Rotary => Some(rotary_table(graph, model)),
    };
    x = dropout(graph, model, "embedding.dropout", x, training)?;
    for index in 0..model.layers {
        x = block(graph, model, &format!("block{index}"), x, turned, training)?;
    }
    let hidden = norm(graph, model, "final_norm", x)?;
    let head = if model.tied {
        table
    } else {
        graph.parameter("head.weight", &[width, vocabulary], uniform(INIT_DEVIATION))?
    };
    Ok(Decoded {
        hidden,
        head,
        transposed: model.tied,
    })
}

fn block(
    graph: &mut Graph,
    model: &Transformer,
    name: &str,
    input: ValueId,
    turned: Option<ValueId>,
    training: bool,
) -> Result<ValueId, GraphError> {
    let heads = Heads {
        context: model.context,
        heads: model.heads,
    };
    // What is added to the stream starts smaller the more layers add to it, as in GPT-2.
    let inside = bound(INIT_DEVIATION);
    let outside = inside / (2.0 * model.layers as f32).sqrt();

    let x = norm(graph, model, &format!("{name}.norm1"), input)?;
    let mut qkv = linear(graph, &format!("{name}.qkv"), x, 3 * model.width, inside)?;
    if let Some(table) = turned {
        qkv = graph.rotary(&format!("{name}.attention.rotary"), qkv, table, heads)?;
    }
    let attention = format!("{name}.attention");
    let x = match model.attention {
        Form::Plain => graph.attention_plain(&attention, qkv, heads)?,
        Form::Fused => graph.attention_fused(&attention, qkv, heads)?,
    };
    let x = linear(
        graph,
        &format!("{name}.attention_out"),
        x,
        model.width,
        outside,
    )?;
    let x = dropout(
        graph,
        model,
        &format!("{name}.attention.dropout"),
        x,
        training,
    )?;
    let middle = graph.add(&format!("{name}.attention.add"), x, input)?;

    let x = norm(graph, model, &format!("{name}.norm2"), middle)?;
    let x = mlp(graph, model, name, x, (inside, outside))?;
    let x = dropout(graph, model, &format!("{name}.mlp.dropout"), x, training)?;
    graph.add(&format!("{name}.mlp.add"), x, middle)
}

fn mlp(
    graph: &mut Graph,
    model: &Transformer,
    name: &str,
    x: ValueId,
    (inside, outside): (f32, f32),
) -> Result<ValueId, GraphError> {
    let (enter, leave) = (format!("{name}.mlp_in"), format!("{name}.mlp_out"));
    let x = match model.mlp {
        MlpKind::Gelu => {
            let x = linear(graph, &enter, x, 4 * model.width, inside)?;
            graph.gelu(&format!("{name}.mlp.gelu"), x, true)?
        }
        MlpKind::Swiglu => {
            // Two thirds of the GELU layer's width, so that three matrices weigh what two did; a multiple of 8.
            let hidden = (8 * model.width / 3).next_multiple_of(8);
            let x = linear(graph, &enter, x, 2 * hidden, inside)?;
            graph.swiglu(&format!("{name}.mlp.swiglu"), x)?
        }
    };
    linear(graph, &leave, x, model.width, outside)
}

/// Adds to each position its learned vector: one bias as long as a whole sequence.
fn add_positions(
    graph: &mut Graph,
    model: &Transformer,
    x: ValueId,
) -> Result<ValueId, GraphError> {
    let (context, width) = (model.context, model.width);
    let positions = graph.parameter("position", &[context, width], uniform(INIT_DEVIATION))?;
    let rows = graph[x].shape.first().copied().unwrap_or(0);
    let whole = [rows / context.max(1), context * width];
    let x = graph.reshape("embedding.sequences", x, &whole)?;
    let x = graph.bias("embedding.add_position", x, positions)?;
    graph.reshape("embedding.tokens", x, &[rows, width])
}

/// The angles by which positions turn, made once.
fn rotary_table(graph: &mut Graph, model: &Transformer) -> ValueId {
    let shape = [model.context, model.head_dim()];
    graph.constant("rotary_angles", &shape, Class::Weights, Init::Rotary)
}

fn norm(
    graph: &mut Graph,
    model: &Transformer,
    name: &str,
    x: ValueId,
) -> Result<ValueId, GraphError> {
    let kind = match model.norm {
        NormKind::Layer => RowNorm::Layer,
        NormKind::Rms => RowNorm::Rms,
    };
    graph.row_norm(name, x, kind, NORM_EPS)
}

fn dropout(
    graph: &mut Graph,
    model: &Transformer,
    name: &str,
    x: ValueId,
    training: bool,
) -> Result<ValueId, GraphError> {
    if training && model.dropout > 0.0 {
        graph.dropout(name, x, model.dropout)
    } else {
        Ok(x)
    }
}

/// Bound of a uniform distribution with this standard deviation. Uniform, because it is the same to the last bit on every
/// platform, which a normal distribution by way of logarithm and cosine is not.
fn bound(deviation: f32) -> f32 {
    deviation * 3f32.sqrt()
}

fn uniform(deviation: f32) -> Init {
    Init::Uniform {
        bound: bound(deviation),
    }
}
