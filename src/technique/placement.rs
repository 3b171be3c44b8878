//! Where checkpoints go under a budget: the placement with the least recomputed work whose peak stays below it.
//!
//! The blocks of the forward pass are a chain. A placement cuts it into segments that are computed again and blocks that
//! keep everything. Going along the chain, a state is how many bytes are kept so far and how much work will be done
//! twice; of the states at a block only those stay that no other beats in both. This is the dynamic programme of Kusumoto
//! et al. 2019, "A Graph Theoretic Framework of Recomputation Algorithms for Memory-Efficient Backpropagation",
//! arXiv:1905.11722, on the chain of blocks. Its estimate of the peak leaves out what the planner knows: workspace and
//! values that share bytes. So the limit it works under is found by bisection, with real plans as the judge.

use super::checkpointing::{Forward, Placement, n_blocks};
use crate::graph::{Graph, GraphError, Op, ValueId};
use crate::units::round_to_buffer;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Steps of the bisection: the limit is then known to a thousandth.
const BISECTIONS: usize = 10;
/// Limits that are tried for the curve of bytes against work.
const CURVE_POINTS: u64 = 32;
/// Most states kept at a block. They are thinned evenly beyond that.
const MOST_STATES: usize = 400;

/// A placement with what it needs and costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The placement.
    pub placement: Placement,
    /// Peak of the whole plan, in bytes.
    pub peak_bytes: u64,
    /// Multiply-adds done twice in a micro-batch.
    pub recomputed: u64,
}

/// The placement under `budget` bytes with the least recomputed work. `graph` has its backward pass and is not rewritten
/// yet; `judge` gives peak and recomputed multiply-adds of the real plan of a placement.
///
/// # Errors
/// [`GraphError::Budget`] if no placement stays under the budget, and what `judge` gives.
pub fn under_budget(
    graph: &Graph,
    budget: u64,
    judge: &dyn Fn(&Placement) -> Result<(u64, u64), GraphError>,
) -> Result<Placement, GraphError> {
    let chain = Chain::of(graph);
    let point = |limit: u64| chain.judged(limit, judge);
    let (mut low, mut high) = (0, chain.everything());
    if let Some(all) = point(high)?
        && all.peak_bytes <= budget
    {
        return Ok(all.placement);
    }
    let mut best = None;
    let mut least = u64::MAX;
    for _ in 0..BISECTIONS {
        let middle = u64::midpoint(low, high);
        match point(middle)? {
            Some(found) if found.peak_bytes <= budget => {
                low = middle;
                least = least.min(found.peak_bytes);
                best = Some(found.placement);
            }
            Some(found) => {
                high = middle;
                least = least.min(found.peak_bytes);
            }
            // Less than any placement needs.
            None => low = middle,
        }
    }
    // The limit at which the estimate has no answer may lie between the last steps.
    best.ok_or(GraphError::Budget { budget, least })
}

/// Placements of which none needs both more bytes and more work than another, from the most bytes to the least.
///
/// # Errors
/// What `judge` gives.
pub fn curve(
    graph: &Graph,
    judge: &dyn Fn(&Placement) -> Result<(u64, u64), GraphError>,
) -> Result<Vec<Point>, GraphError> {
    let chain = Chain::of(graph);
    let all = chain.everything();
    let mut points: Vec<Point> = Vec::new();
    for step in (1..=CURVE_POINTS).rev() {
        let limit = all / CURVE_POINTS * step
            + if step == CURVE_POINTS {
                all % CURVE_POINTS
            } else {
                0
            };
        let Some(point) = chain.judged(limit, judge)? else {
            continue;
        };
        if points.iter().all(|p| p.peak_bytes > point.peak_bytes) {
            points.push(point);
        }
    }
    // Work must pay: a point with more bytes and no less work than a later one is none.
    let mut kept: Vec<Point> = Vec::new();
    for point in points.into_iter().rev() {
        if kept.last().is_none_or(|p| p.recomputed > point.recomputed) {
            kept.push(point);
        }
    }
    kept.reverse();
    Ok(kept)
}

/// Bytes and work of every segment of the chain.
struct Chain {
    /// Bytes of the values that each block keeps for the backward pass.
    kept: Vec<u64>,
    /// The segments that start at each block, from the shortest to the longest.
    segments: Vec<Vec<Segment>>,
}

/// What a segment needs and costs if it is computed again.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    /// Bytes that it hands on to later blocks, which are kept.
    handed_on: u64,
    /// Bytes of its other activations, which are there while its backward pass runs.
    inside: u64,
    /// Multiply-adds that are done twice.
    work: u64,
}

impl Chain {
    fn of(graph: &Graph) -> Self {
        let forward = Forward::of(graph);
        let blocks = n_blocks(graph);
        let mut values = vec![Vec::new(); blocks];
        for (value, node) in &forward.producers {
            if node.op != Op::Reshape {
                values[node.block].push(*value);
            }
        }
        let bytes = |value: &ValueId| round_to_buffer(graph[*value].bytes());
        let kept = values.iter().map(|of_block| {
            let kept = of_block.iter().filter(|v| forward.activations.contains(v));
            kept.map(bytes).sum()
        });
        let measure = |range: Range<usize>| {
            let mut sums = Segment::default();
            let mut needed = BTreeSet::new();
            for value in values[range.clone()].iter().flatten() {
                if forward.is_handed_on(*value, &range) {
                    sums.handed_on += bytes(value);
                } else if forward.activations.contains(value) {
                    sums.inside += bytes(value);
                    needed.insert(*value);
                }
            }
            sums.work = work(graph, &forward, &range, needed);
            sums
        };
        let from = |start| {
            (start + 1..=blocks)
                .map(|end| measure(start..end))
                .collect()
        };
        Self {
            kept: kept.collect(),
            segments: (0..blocks).map(from).collect(),
        }
    }

    /// Bytes if every block keeps everything.
    fn everything(&self) -> u64 {
        self.kept.iter().sum()
    }

    fn judged(
        &self,
        limit: u64,
        judge: &dyn Fn(&Placement) -> Result<(u64, u64), GraphError>,
    ) -> Result<Option<Point>, GraphError> {
        let Some(placement) = self.cheapest(limit) else {
            return Ok(None);
        };
        let (peak_bytes, recomputed) = judge(&placement)?;
        Ok(Some(Point {
            placement,
            peak_bytes,
            recomputed,
        }))
    }

    /// The placement with the least work of those that keep at most `limit` bytes by the estimate; none if there is none.
    fn cheapest(&self, limit: u64) -> Option<Placement> {
        let blocks = self.kept.len();
        let mut states: Vec<Vec<State>> = vec![Vec::new(); blocks + 1];
        states[0].push(State::default());
        for start in 0..blocks {
            let here = thinned(std::mem::take(&mut states[start]));
            for state in &here {
                let bytes = state.bytes + self.kept[start];
                if bytes <= limit {
                    let mut kept = state.clone();
                    kept.bytes = bytes;
                    states[start + 1].push(kept);
                }
            }
            for (end, segment) in (start + 1..).zip(&self.segments[start]) {
                for state in &here {
                    if state.bytes + segment.handed_on + segment.inside > limit {
                        continue;
                    }
                    let mut next = state.clone();
                    next.bytes += segment.handed_on;
                    next.work += segment.work;
                    next.segments.push(start..end);
                    states[end].push(next);
                }
            }
        }
        let last = thinned(states.pop().unwrap_or_default());
        let best = last.into_iter().min_by_key(|s| (s.work, s.bytes))?;
        Some(Placement {
            segments: best.segments,
        })
    }
}

/// How far along the chain, at which price.
#[derive(Clone, Debug, Default)]
struct State {
    bytes: u64,
    work: u64,
    segments: Vec<Range<usize>>,
}

/// The states that no other beats in both bytes and work, evenly thinned where they are too many.
fn thinned(mut states: Vec<State>) -> Vec<State> {
    states.sort_by_key(|s| (s.bytes, s.work));
    let mut kept: Vec<State> = Vec::new();
    for state in states {
        if kept.last().is_none_or(|last| state.work < last.work) {
            kept.push(state);
        }
    }
    let stride = kept.len().div_ceil(MOST_STATES).max(1);
    let last = kept.len().saturating_sub(1);
    let mut index = 0;
    kept.retain(|_| {
        let stays = index % stride == 0 || index == last;
        index += 1;
        stays
    });
    kept
}

/// Multiply-adds of the nodes of a segment that make the `needed` values from what it is handed.
fn work(
    graph: &Graph,
    forward: &Forward,
    segment: &Range<usize>,
    mut needed: BTreeSet<ValueId>,
) -> u64 {
    let mut open: Vec<ValueId> = needed.iter().copied().collect();
    let mut nodes = BTreeMap::new();
    while let Some(value) = open.pop() {
        let Some(node) = forward.producers.get(&value) else {
            continue;
        };
        nodes.insert(&node.name, graph.multiply_adds(node));
        for read in node.reads.iter().map(|v| forward.root(*v)) {
            let made_here = forward
                .producers
                .get(&read)
                .is_some_and(|n| segment.contains(&n.block));
            if made_here && !forward.is_handed_on(read, segment) && needed.insert(read) {
                open.push(read);
            }
        }
    }
    nodes.values().sum()
}
