//! Models as graph builders. A model knows nothing of techniques, memory or devices.

mod cnn;
mod efficientnet;
mod layers;
mod mlp;
mod mobilenet;
mod transformer;

pub use transformer::{Decoded, Tokens, decode};

use crate::experiment::Model;
use crate::graph::{Graph, GraphError, ValueId};

/// Whether `model` takes its samples as pictures [height, width, channels], not as one long row.
pub fn takes_pictures(model: &Model) -> bool {
    matches!(
        model,
        Model::Cnn(_) | Model::MobileNet(_) | Model::EfficientNet(_)
    )
}

/// Adds the layers of a classifier to `graph`: from `features` [rows, ...] to logits [rows, classes]. A decoder is no
/// classifier: see [`decode`].
///
/// Called once for training and once for evaluation; the second call finds the parameters of the first by name.
/// `training` switches dropout on.
///
/// # Errors
/// Names the layer and both shapes where two do not fit.
pub fn classify(
    graph: &mut Graph,
    model: &Model,
    features: ValueId,
    classes: usize,
    training: bool,
) -> Result<ValueId, GraphError> {
    match model {
        Model::Mlp(mlp) => mlp::forward(graph, mlp, features, classes, training),
        Model::Cnn(cnn) => cnn::forward(graph, cnn, features, classes),
        Model::MobileNet(mobilenet) => mobilenet::forward(graph, mobilenet, features, classes),
        Model::EfficientNet(efficientnet) => {
            efficientnet::forward(graph, efficientnet, features, classes, training)
        }
        Model::Transformer(_) => Err(GraphError::Samples {
            model: model.kind(),
            needs: "text",
            found: "samples with a class each".into(),
            hint: "give data.source a text such as \"austen\", or take another model.kind",
        }),
    }
}
