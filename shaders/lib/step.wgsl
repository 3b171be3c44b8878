// The numbers that change from step to step. One uniform serves every kernel of a step.
struct Step {
    seed: u32,         // the experiment's seed
    update: u32,       // optimizer updates done before this step
    micro: u32,        // index of the micro-batch in its accumulation window
    rows: u32,         // rows of the batch that hold real samples
    inv_samples: f32,  // one over the samples of the whole accumulation window
    lr: f32,           // learning rate of this update
    bias1: f32,        // 1 - beta1^t of Adam, t counted from 1
    bias2: f32,        // 1 - beta2^t of Adam
    max_norm: f32,     // largest allowed global norm of the gradient, 0 for no clipping
}
