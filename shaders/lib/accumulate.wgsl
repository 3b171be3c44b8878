// Whether a kernel that produces a gradient adds to what its output holds, or overwrites it.

// mode 0: overwrite. mode 1: overwrite in the first micro-batch of a window, add in the others. mode 2: always add.
// Overwriting in the first micro-batch saves a pass that sets the gradients to zero.
fn adds_to_output(mode: u32, micro: u32) -> bool {
    return mode == 2u || (mode == 1u && micro > 0u);
}
