//! Optimizers: how many bytes of state each keeps beside the weights, and the nodes that update them.

use super::Technique;
use crate::dtype::DType;
use crate::experiment::{MIN_8BIT_ELEMENTS, Optimizer, OptimizerKind};
use crate::graph::{
    Adafactor, Class, Graph, GraphError, NORM_PARTIALS, Op, Parameter, Rule, ValueId,
};

/// What the reader is told.
pub const ABOUT: Technique = Technique {
    name: "light optimizers",
    explanation: "An optimizer may keep numbers of its own for every weight. Plain gradient descent keeps none, momentum \
        and Lion one, Adam two (the mean of the gradient and of its square). Adafactor keeps a mean of squares for each \
        row and each column of a matrix in the place of one for each weight, and 8-bit AdamW stores both of Adam's \
        numbers as bytes with one scale for a block of them. On a network whose weights outweigh its activations, the \
        choice of optimizer decides what fits.",
    promise: "Bytes of state for n weights: SGD 0, momentum and Lion 4n, Adam and AdamW 8n, 8-bit AdamW 2n + 8 per block \
        of 256 (tensors under 4096 weights stay at 8n), Adafactor 4 (rows + columns) for a matrix and 4n for a vector. \
        The price of a lighter one is paid in steps: it usually needs more of them, or a better-tuned learning rate.",
};

/// One value an optimizer keeps for a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// What it is; follows the name of the tensor.
    pub name: &'static str,
    /// Lengths of its axes.
    pub shape: Vec<usize>,
    /// How it is stored.
    pub dtype: DType,
}

/// What `optimizer` keeps for a tensor of `shape`, in the order of the kernel's bindings.
pub fn states(optimizer: &Optimizer, shape: &[usize]) -> Vec<State> {
    let elements: usize = shape.iter().product();
    let state = |name, shape: &[usize], dtype| State {
        name,
        shape: shape.into(),
        dtype,
    };
    let whole = |name| state(name, shape, DType::F32);
    match optimizer.kind {
        OptimizerKind::Sgd => Vec::new(),
        OptimizerKind::Momentum => vec![whole("velocity")],
        OptimizerKind::Lion => vec![whole("mean")],
        OptimizerKind::Adamw8bit if elements >= MIN_8BIT_ELEMENTS => {
            let scales = [elements.div_ceil(optimizer.block.max(1))];
            vec![
                state("mean.codes", shape, DType::I8),
                state("mean.scales", &scales, DType::F32),
                state("mean_of_squares.codes", shape, DType::I8),
                state("mean_of_squares.scales", &scales, DType::F32),
            ]
        }
        OptimizerKind::Adam | OptimizerKind::Adamw | OptimizerKind::Adamw8bit => {
            vec![whole("mean"), whole("mean_of_squares")]
        }
        OptimizerKind::Adafactor => match matrices(shape) {
            Some([batch, rows, cols]) => vec![
                state("rows_mean_of_squares", &[batch * rows], DType::F32),
                state("columns_mean_of_squares", &[batch * cols], DType::F32),
            ],
            None => vec![whole("mean_of_squares")],
        },
    }
}

/// Bytes of state for a tensor of `shape`, before the pool rounds each value up.
pub fn state_bytes(optimizer: &Optimizer, shape: &[usize]) -> u64 {
    let states = states(optimizer, shape);
    let bytes = |state: &State| state.dtype.bytes(state.shape.iter().product());
    states.iter().map(bytes).sum()
}

/// A tensor as a batch of matrices of its last two axes; none for a vector.
fn matrices(shape: &[usize]) -> Option<[usize; 3]> {
    match shape {
        [batch @ .., rows, cols] => Some([batch.iter().product(), *rows, *cols]),
        _ => None,
    }
}

/// Adds the nodes that update every parameter, with its state as persistent values that start at zero. `norm` is the
/// value of [`super::clipping::global_norm`].
///
/// # Errors
/// [`GraphError::TooLarge`].
pub fn update(graph: &mut Graph, optimizer: &Optimizer, norm: ValueId) -> Result<(), GraphError> {
    for parameter in graph.parameters.clone() {
        update_one(graph, optimizer, parameter, norm)?;
    }
    Ok(())
}

/// Adds the nodes that update one parameter; nothing if it has no gradient.
///
/// # Errors
/// [`GraphError::TooLarge`].
pub fn update_one(
    graph: &mut Graph,
    optimizer: &Optimizer,
    parameter: Parameter,
    norm: ValueId,
) -> Result<(), GraphError> {
    let Some(gradient) = parameter.gradient else {
        return Ok(());
    };
    let weights = graph[parameter.value].clone();
    let mut kept = Vec::new();
    for state in states(optimizer, &weights.shape) {
        let name = format!("{}.{}", weights.name, state.name);
        kept.push(graph.persistent(&name, &state.shape, state.dtype, Class::OptimizerState));
    }
    let name = format!("{}.update", weights.name);
    if optimizer.kind == OptimizerKind::Adafactor {
        return adafactor(graph, optimizer, parameter.value, [norm, gradient], &kept);
    }
    let rule = rule(optimizer, weights.elements());
    let writes: Vec<ValueId> = std::iter::once(parameter.value).chain(kept).collect();
    graph.push(&name, Op::Update(rule), &[norm, gradient], &writes);
    Ok(())
}

fn rule(optimizer: &Optimizer, elements: usize) -> Rule {
    let Optimizer {
        momentum,
        nesterov,
        beta1,
        beta2,
        eps,
        weight_decay,
        ..
    } = *optimizer;
    let adam = |decoupled, block| Rule::Adam {
        beta1,
        beta2,
        eps,
        weight_decay,
        decoupled,
        block,
    };
    match optimizer.kind {
        OptimizerKind::Sgd | OptimizerKind::Adafactor => Rule::Sgd { weight_decay },
        OptimizerKind::Momentum => Rule::Momentum {
            momentum,
            nesterov,
            weight_decay,
        },
        OptimizerKind::Adam => adam(false, None),
        OptimizerKind::Adamw => adam(true, None),
        OptimizerKind::Adamw8bit => {
            let block = (elements >= MIN_8BIT_ELEMENTS).then_some(optimizer.block);
            adam(true, block)
        }
        OptimizerKind::Lion => Rule::Lion {
            beta1,
            beta2,
            weight_decay,
        },
    }
}

/// The kernels of Adafactor for one tensor.
fn adafactor(
    graph: &mut Graph,
    optimizer: &Optimizer,
    weights: ValueId,
    [norm, gradient]: [ValueId; 2],
    kept: &[ValueId],
) -> Result<(), GraphError> {
    let value = graph[weights].clone();
    let named = |what: &str| format!("{}.{what}", value.name);
    let part = |part| Op::Update(Rule::Adafactor(part));
    let mut second = kept.to_vec();
    let factored = matrices(&value.shape);
    if let Some([batch, ..]) = factored {
        let op = part(Adafactor::Factors);
        graph.push(&named("update_factors"), op, &[norm, gradient], kept);
        let mean = graph.transient(&named("row_factors_mean"), &[batch], DType::F32)?;
        let op = part(Adafactor::Mean);
        graph.push(&named("update_mean"), op, &kept[..1], &[mean]);
        second.push(mean);
    } else {
        let op = part(Adafactor::Second);
        graph.push(&named("update_second"), op, &[norm, gradient], kept);
    }
    let factored = factored.is_some();
    let sums = [2 * NORM_PARTIALS];
    let sums = graph.transient(&named("update_sums"), &sums, DType::F32)?;
    let op = part(Adafactor::Partials { factored });
    let reads: Vec<ValueId> = [norm, gradient, weights]
        .into_iter()
        .chain(second.clone())
        .collect();
    graph.push(&named("update_partials"), op, &reads, &[sums]);
    let op = part(Adafactor::Apply {
        factored,
        threshold: optimizer.clip_threshold,
        weight_decay: optimizer.weight_decay,
        relative: optimizer.relative_step,
        warmup_init: optimizer.warmup_init,
    });
    let reads: Vec<ValueId> = [norm, gradient, sums].into_iter().chain(second).collect();
    graph.push(&named("update"), op, &reads, &[weights]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: OptimizerKind, shape: &[usize]) -> u64 {
        state_bytes(&Optimizer::new(kind, 0.1), shape)
    }

    /// OP-05 and OP-11: what the plan counts is what the formulas say, for vectors, small tensors and block sizes too.
    #[test]
    fn bytes_of_state_follow_the_formulas() {
        use OptimizerKind::{Adafactor, Adam, Adamw8bit, Lion, Momentum, Sgd};
        let million = [1000, 1000];
        assert_eq!(bytes(Sgd, &million), 0);
        assert_eq!(bytes(Momentum, &million), 4_000_000);
        assert_eq!(bytes(Lion, &million), 4_000_000);
        assert_eq!(bytes(Adam, &million), 8_000_000);
        assert_eq!(
            bytes(Adafactor, &[1000, 500]) + bytes(Adafactor, &[1000]),
            10_000
        );
        assert_eq!(bytes(Adam, &[1000, 500]) + bytes(Adam, &[1000]), 4_008_000);
        assert_eq!(bytes(Adafactor, &[2, 3, 4]), 4 * (6 + 8));
        assert_eq!(bytes(Adamw8bit, &million), 2_031_256);
        let large_blocks = Optimizer {
            block: 2048,
            ..Optimizer::new(Adamw8bit, 0.1)
        };
        assert_eq!(state_bytes(&large_blocks, &million), 2_003_912);
        assert_eq!(bytes(Adamw8bit, &[4095]), 32_760);
    }
}
