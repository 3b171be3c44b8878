//! Memory-saving techniques, one file each: a rewrite of the step graph, what it promises, and what it costs.
//!
//! A technique knows nothing of a model.

pub mod accumulation;
pub mod clipping;
pub mod optimizer;

/// What a technique tells its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Technique {
    /// The field's usual name for it.
    pub name: &'static str,
    /// The idea in one paragraph.
    pub explanation: &'static str,
    /// What it does to the bytes of a step, and what it leaves as it was.
    pub promise: &'static str,
}

/// All techniques of this version.
pub const TECHNIQUES: [Technique; 3] = [accumulation::ABOUT, optimizer::ABOUT, clipping::ABOUT];
