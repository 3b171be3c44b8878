//! One colour per memory class, the same in the app and in pictures.

use crate::graph::Class;

/// Red, green and blue of a class: Okabe and Ito's set, which colour-blind readers can tell apart, with two darker
/// relatives for the classes that only some trainings have.
pub fn color(class: Class) -> [u8; 3] {
    match class {
        Class::Weights => [0, 114, 178],
        Class::MasterWeights => [20, 64, 110],
        Class::Gradients => [230, 159, 0],
        Class::OptimizerState => [0, 158, 115],
        Class::Activations => [213, 94, 0],
        Class::Workspace => [204, 121, 167],
        Class::Data => [86, 180, 233],
        Class::Sparsity => [120, 94, 60],
        Class::Staging => [240, 228, 66],
        Class::Cached => [170, 170, 170],
    }
}
