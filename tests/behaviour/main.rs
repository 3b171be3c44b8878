//! Whole behaviours of the library: planning, gradients, training. One binary, so that it is linked once.

mod common;
mod device;
mod families;
mod gradients;
mod layer_scenes;
mod model_gradients;
mod models;
mod planning;
mod reference;
mod training;
