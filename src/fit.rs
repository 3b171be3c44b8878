//! What would fit: replans an experiment with settings that need fewer bytes and lists those that stay under a limit.

use crate::data::SourceInfo;
use crate::experiment::{Experiment, Optimizer, OptimizerKind};
use crate::step;
use crate::units::Bytes;

/// Settings under which `experiment` would take at most `limit` bytes of the device, as sentences with the `--set` to
/// use; the one that changes the training least comes first. Empty if none of them fits.
pub fn suggestions(experiment: &Experiment, source: &SourceInfo, limit: u64) -> Vec<String> {
    let mut found = Vec::new();
    for (set, what, changed) in candidates(experiment) {
        let Ok(step) = step::plan(&changed, source) else {
            continue;
        };
        let bytes = step.plan.reserved_bytes();
        if bytes <= limit {
            found.push(format!(
                "{set}: {what}; needs {} ({bytes} bytes)",
                Bytes(bytes)
            ));
        }
    }
    found
}

/// Accumulation first, which changes nothing but time; then the optimizer; then both; then a smaller batch.
fn candidates(experiment: &Experiment) -> Vec<(String, &'static str, Experiment)> {
    let mut all = Vec::new();
    let accumulate = |base: &Experiment, micro_batches: usize| {
        let mut changed = base.clone();
        changed.techniques.accumulate = micro_batches;
        changed
    };
    let more: Vec<usize> = (1..8)
        .map(|power| experiment.techniques.accumulate << power)
        .filter(|k| *k <= experiment.data.batch)
        .collect();
    for k in &more {
        let set = format!("--set techniques.accumulate={k}");
        all.push((
            set,
            "the same update from smaller micro-batches",
            accumulate(experiment, *k),
        ));
    }
    for kind in [OptimizerKind::Momentum, OptimizerKind::Sgd] {
        if !is_lighter(kind, experiment.train.optimizer.kind) {
            continue;
        }
        let mut changed = experiment.clone();
        changed.train.optimizer = Optimizer::new(kind, experiment.train.optimizer.lr);
        let (name, lr) = (kind.name(), experiment.train.optimizer.lr);
        let set = format!("--set 'train.optimizer={{kind=\"{name}\", lr={lr}}}'");
        all.push((
            set.clone(),
            "an optimizer with less state; tune its learning rate",
            changed.clone(),
        ));
        for k in &more {
            let both = format!("{set} --set techniques.accumulate={k}");
            all.push((
                both,
                "less optimizer state and smaller micro-batches",
                accumulate(&changed, *k),
            ));
        }
    }
    for shift in 1..8 {
        let batch = experiment.data.batch >> shift;
        if batch < experiment.techniques.accumulate.max(1) {
            break;
        }
        let mut changed = experiment.clone();
        changed.data.batch = batch;
        all.push((
            format!("--set data.batch={batch}"),
            "a smaller batch; the training changes",
            changed,
        ));
    }
    all
}

/// Whether `a` keeps fewer state values per weight than `b`.
fn is_lighter(a: OptimizerKind, b: OptimizerKind) -> bool {
    let n_states = |kind| crate::technique::optimizer::state_names(kind).len();
    n_states(a) < n_states(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment() -> (Experiment, SourceInfo) {
        let text = "name = \"t\"\n[model]\nkind = \"mlp\"\nhidden = [64]\n[data]\nsource = \"fashion-mnist\"\nbatch = 1024\n\
            [train]\nsteps = 1\noptimizer = { kind = \"adam\", lr = 0.001 }\n";
        let none = |path: &str| Err(format!("no {path}"));
        let experiment = Experiment::from_toml(text, "t.toml", &none).unwrap();
        let source = crate::data::source_info("fashion-mnist").unwrap();
        (experiment, source)
    }

    #[test]
    fn every_suggestion_fits_and_none_is_made_below_what_is_possible() {
        let (experiment, source) = experiment();
        let needed = step::plan(&experiment, &source)
            .unwrap()
            .plan
            .reserved_bytes();
        for limit in [needed - 1, needed / 2, needed / 4] {
            let found = suggestions(&experiment, &source, limit);
            assert!(!found.is_empty(), "nothing under {limit}");
            for line in &found {
                let bytes: u64 = line
                    .rsplit('(')
                    .next()
                    .unwrap()
                    .trim_end_matches(" bytes)")
                    .parse()
                    .unwrap();
                assert!(bytes <= limit, "{line} is above {limit}");
            }
        }
        assert_eq!(
            suggestions(&experiment, &source, 1000),
            Vec::<String>::new()
        );
    }
}
