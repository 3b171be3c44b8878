//! What would fit: replans an experiment with settings that need fewer bytes and lists those that stay under a limit.

use crate::data::SourceInfo;
use crate::experiment::{Experiment, Optimizer, OptimizerKind};
use crate::step;
use crate::units::Bytes;

/// Settings under which `experiment` would take at most `limit` bytes of the device, as sentences with the `--set` to
/// use: of each kind of change the smallest that is enough, the kinds that change the training least first. Empty if
/// nothing helps.
pub fn suggestions(experiment: &Experiment, source: &SourceInfo, limit: u64) -> Vec<String> {
    let fitting = |kind: Vec<Candidate>| {
        kind.into_iter().find_map(|candidate| {
            let step = step::plan(&candidate.experiment, source).ok()?;
            let bytes = step.plan.reserved_bytes();
            let Candidate { set, what, .. } = candidate;
            (bytes <= limit)
                .then(|| format!("{set}: {what}; needs {} ({bytes} bytes)", Bytes(bytes)))
        })
    };
    kinds(experiment).into_iter().filter_map(fitting).collect()
}

/// A change and the experiment it makes.
struct Candidate {
    set: String,
    what: &'static str,
    experiment: Experiment,
}

/// Kinds of change, each from its mildest form on: accumulation, which costs only time; lighter optimizers; both; a
/// smaller batch.
fn kinds(experiment: &Experiment) -> Vec<Vec<Candidate>> {
    let same = "the same update from smaller micro-batches";
    let mut all = vec![accumulated(experiment, "", same)];
    for kind in [OptimizerKind::Momentum, OptimizerKind::Sgd] {
        if !is_lighter(kind, experiment.train.optimizer.kind) {
            continue;
        }
        let lr = experiment.train.optimizer.lr;
        let mut changed = experiment.clone();
        changed.train.optimizer = Optimizer::new(kind, lr);
        let set = format!(
            "--set 'train.optimizer={{kind=\"{}\", lr={lr}}}'",
            kind.name()
        );
        let both = accumulated(
            &changed,
            &format!("{set} "),
            "less optimizer state and smaller micro-batches",
        );
        let what = "an optimizer with less state; tune its learning rate";
        let alone = Candidate {
            set,
            what,
            experiment: changed,
        };
        all.push(std::iter::once(alone).chain(both).collect());
    }
    let halves = (1..usize::BITS).map(|shift| experiment.data.batch >> shift);
    let fewer = halves.take_while(|batch| *batch >= experiment.techniques.accumulate.max(1));
    all.push(
        fewer
            .map(|batch| {
                let mut changed = experiment.clone();
                changed.data.batch = batch;
                let set = format!("--set data.batch={batch}");
                Candidate {
                    set,
                    what: "a smaller batch; the training changes",
                    experiment: changed,
                }
            })
            .collect(),
    );
    all
}

/// `experiment` with two, four ... times as many micro-batches; `set` stands before the setting.
fn accumulated(experiment: &Experiment, set: &str, what: &'static str) -> Vec<Candidate> {
    let doubled =
        (1..usize::BITS).map_while(|power| experiment.techniques.accumulate.checked_shl(power));
    let possible = doubled.take_while(|k| *k > 0 && *k <= experiment.data.batch);
    possible
        .map(|k| {
            let mut changed = experiment.clone();
            changed.techniques.accumulate = k;
            Candidate {
                set: format!("{set}--set techniques.accumulate={k}"),
                what,
                experiment: changed,
            }
        })
        .collect()
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
