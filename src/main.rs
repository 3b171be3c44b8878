//! Starts Headroom.

fn main() {}
