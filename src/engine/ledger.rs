//! The ledger: what is allocated now by class, the most there ever was, and the bytes during each node as it ran.

use crate::graph::{ByClass, Class, Phase, Program};
use crate::plan::Moment;
use crate::units::Bytes;
use std::fmt;

/// Counts every byte the pool holds. Only the pool writes it.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    now: ByClass,
    peak: Option<Moment>,
    peak_by_class: ByClass,
    /// One per node of the last run of each program.
    moments: Vec<Moment>,
    live_buffers: usize,
}

impl Ledger {
    /// Bytes by class at this moment.
    pub fn now(&self) -> &ByClass {
        &self.now
    }

    /// The moment with the most bytes in use since the plan was loaded; none before the first node ran.
    pub fn peak(&self) -> Option<&Moment> {
        self.peak.as_ref()
    }

    /// For each class the most bytes it had at any node.
    pub fn peak_by_class(&self) -> &ByClass {
        &self.peak_by_class
    }

    /// Bytes during each node, from the last run of each program, programs in the order of a step.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Buffers that exist.
    pub fn live_buffers(&self) -> usize {
        self.live_buffers
    }

    /// A buffer was created for `class`.
    pub(super) fn created(&mut self, class: Class, bytes: u64) {
        self.now.add(class, bytes);
        self.live_buffers += 1;
    }

    /// A buffer of `class` was destroyed.
    pub(super) fn destroyed(&mut self, class: Class, bytes: u64) {
        self.now.sub(class, bytes);
        self.live_buffers = self.live_buffers.saturating_sub(1);
    }

    /// Bytes of a slot that were cached are used for `class` now.
    pub(super) fn taken(&mut self, class: Class, bytes: u64) {
        self.now.sub(Class::Cached, bytes);
        self.now.add(class, bytes);
    }

    /// Bytes of a slot that were used for `class` are cached now.
    pub(super) fn given_back(&mut self, class: Class, bytes: u64) {
        self.now.sub(class, bytes);
        self.now.add(Class::Cached, bytes);
    }

    /// A program starts: its moments of the last run are forgotten.
    pub(super) fn enter(&mut self, program: Program) {
        self.moments.retain(|m| m.program != program);
    }

    /// A node is about to run with everything it needs in place.
    pub(super) fn record(&mut self, program: Program, phase: Phase, node: &str) {
        let moment = Moment {
            program,
            phase,
            node: node.into(),
            by_class: self.now,
        };
        if self.peak.as_ref().is_none_or(|p| {
            self.now.allocated() > p.by_class.allocated()
                || (p.program, p.node.as_str()) == (program, node)
        }) {
            self.peak = Some(moment.clone());
        }
        self.peak_by_class = self.peak_by_class.max(&self.now);
        // Programs keep the order of a step whichever ran last.
        let at = self
            .moments
            .iter()
            .position(|m| m.program > program)
            .unwrap_or(self.moments.len());
        self.moments.insert(at, moment);
    }

    /// Forgets the peak and the moments, as when another plan is loaded; what is allocated stays counted.
    pub(super) fn forget(&mut self) {
        self.peak = None;
        self.peak_by_class = ByClass::default();
        self.moments.clear();
    }
}

/// There was no memory for a buffer: the budget does not allow it, or the device refused. Nothing of the training state
/// is lost.
#[derive(Clone, Debug, PartialEq)]
pub struct OutOfMemory {
    /// What the buffer was for.
    pub asked_for: String,
    /// Its bytes.
    pub asked_bytes: u64,
    /// Program, phase and node that needed it; none while the persistent buffers are made.
    pub during: Option<(Program, Phase, String)>,
    /// The budget; none where the device itself refused.
    pub budget_bytes: Option<u64>,
    /// What is allocated, by class.
    pub by_class: ByClass,
    /// The largest values alive: name, class, bytes.
    pub largest: Vec<(String, Class, u64)>,
    /// What would have fitted, as sentences; filled in by `fit`.
    pub would_fit: Vec<String>,
}

impl std::error::Error for OutOfMemory {}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = Bytes(self.asked_bytes);
        write!(f, "out of memory: {} for \"{}\" ", asked, self.asked_for)?;
        match &self.during {
            Some((program, phase, node)) => write!(
                f,
                "at node \"{node}\" of the {} phase ({})",
                phase.name(),
                program.name()
            )?,
            None => write!(f, "before the first step")?,
        }
        let taken = self.by_class.reserved();
        match self.budget_bytes {
            Some(budget) => writeln!(
                f,
                " does not fit: {taken} of the budget of {budget} bytes ({}) are taken.",
                Bytes(budget)
            )?,
            None => writeln!(
                f,
                " was refused by the device, with {} taken.",
                Bytes(taken)
            )?,
        }
        if taken > 0 {
            writeln!(
                f,
                "Taken now, by class (cached bytes count, they are taken from the device too):"
            )?;
        }
        for (class, bytes) in self.by_class.iter().filter(|(_, b)| *b > 0) {
            writeln!(f, "  {:<16} {:>12}", class.name(), Bytes(bytes))?;
        }
        if !self.largest.is_empty() {
            writeln!(f, "The largest values:")?;
        }
        for (name, class, bytes) in &self.largest {
            writeln!(
                f,
                "  {:<40} {:<16} {:>12}",
                name,
                class.name(),
                Bytes(*bytes)
            )?;
        }
        if self.would_fit.is_empty() {
            write!(
                f,
                "No setting that this version can change on its own would fit; use a narrower model."
            )?;
        } else {
            write!(f, "What would fit:")?;
            for line in &self.would_fit {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}
