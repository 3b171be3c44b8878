//! Whole behaviours of the library: planning, gradients, training. One binary, so that it is linked once.

mod common;
mod device;
mod gradients;
mod planning;
mod training;
