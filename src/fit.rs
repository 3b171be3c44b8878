//! What would fit: replans an experiment with settings that need fewer bytes and lists those that stay under a limit.

use crate::data::SourceInfo;
use crate::experiment::{Experiment, Form, Model, Optimizer, OptimizerKind, Transformer};
use crate::step;
use crate::units::Bytes;

/// Settings under which `experiment` would take at most `limit` bytes of the device, as sentences with the `--set` to
/// use; the one that changes the training least comes first. Of each kind of change only the smallest that fits is named.
/// Empty if none of them fits.
pub fn suggestions(experiment: &Experiment, source: &SourceInfo, limit: u64) -> Vec<String> {
    let first_that_fits = |family: Vec<Candidate>| {
        family.into_iter().find_map(|candidate| {
            let step = step::plan(&candidate.experiment, source).ok()?;
            let bytes = step.plan.reserved_bytes();
            let (set, what) = (candidate.set, candidate.what);
            (bytes <= limit)
                .then(|| format!("{set}: {what}; needs {} ({bytes} bytes)", Bytes(bytes)))
        })
    };
    families(experiment)
        .into_iter()
        .filter_map(first_that_fits)
        .collect()
}

/// A variation of an experiment.
struct Candidate {
    /// The arguments that make it.
    set: String,
    /// What it changes, in words.
    what: &'static str,
    experiment: Experiment,
}

/// Kinds of change, each from the smallest change to the largest: fused forms and accumulation first, which change
/// nothing but time;
/// then a lighter optimizer, with as little accumulation as is needed; then a smaller batch.
fn families(experiment: &Experiment) -> Vec<Vec<Candidate>> {
    let mut all = vec![
        fused(experiment),
        accumulated(experiment, "", "the same update from smaller micro-batches"),
    ];
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
            "less optimizer state, to be tuned anew, and smaller micro-batches",
        );
        let mut family = vec![Candidate {
            set,
            what: "an optimizer with less state; tune its learning rate",
            experiment: changed,
        }];
        family.extend(both);
        all.push(family);
    }
    let batches = (1..usize::BITS).map(|shift| experiment.data.batch >> shift);
    let smaller = batches.take_while(|batch| *batch >= experiment.techniques.accumulate.max(1));
    let smaller = smaller.map(|batch| {
        let mut changed = experiment.clone();
        changed.data.batch = batch;
        Candidate {
            set: format!("--set data.batch={batch}"),
            what: "a smaller batch; the training changes",
            experiment: changed,
        }
    });
    all.push(smaller.collect());
    all
}

/// A transformer with the forms that keep less: first the one, then the other, then both.
fn fused(experiment: &Experiment) -> Vec<Candidate> {
    let Model::Transformer(now) = &experiment.model else {
        return Vec::new();
    };
    let choices = [
        ("--set model.loss=fused", now.attention, Form::Fused),
        ("--set model.attention=fused", Form::Fused, now.loss),
        (
            "--set model.attention=fused --set model.loss=fused",
            Form::Fused,
            Form::Fused,
        ),
    ];
    let lighter = choices
        .into_iter()
        .filter(|(_, attention, loss)| (*attention, *loss) != (now.attention, now.loss));
    lighter
        .map(|(set, attention, loss)| {
            let mut changed = experiment.clone();
            changed.model = Model::Transformer(Transformer {
                attention,
                loss,
                ..now.clone()
            });
            Candidate {
                set: set.into(),
                what: "the same numbers, less of them kept",
                experiment: changed,
            }
        })
        .collect()
}

/// `experiment` with twice, four times, ... as many micro-batches, down to one sample in each.
fn accumulated(experiment: &Experiment, before: &str, what: &'static str) -> Vec<Candidate> {
    let now = experiment.techniques.accumulate.max(1);
    let more = std::iter::successors(now.checked_mul(2), |k| k.checked_mul(2));
    more.take_while(|k| *k <= experiment.data.batch)
        .map(|k| {
            let mut changed = experiment.clone();
            changed.techniques.accumulate = k;
            Candidate {
                set: format!("{before}--set techniques.accumulate={k}"),
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

    const TEXT: &str = "name = \"t\"\n[model]\nkind = \"mlp\"\nhidden = [64]\n[data]\nsource = \"fashion-mnist\"\nbatch = 1024\n\
        [train]\nsteps = 1\noptimizer = { kind = \"adam\", lr = 0.001 }\n";

    fn experiment() -> (Experiment, SourceInfo) {
        let none = |path: &str| Err(format!("no {path}"));
        let experiment = Experiment::from_toml(TEXT, "t.toml", &none).unwrap();
        let source = crate::data::source_info(&experiment.data).unwrap();
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
                assert_eq!(bytes, planned_as_advised(line, &source), "{line}");
            }
        }
        assert_eq!(
            suggestions(&experiment, &source, 1000),
            Vec::<String>::new()
        );
    }
    /// Reserved bytes of the experiment with the settings that a line says, read as the command line reads them.
    fn planned_as_advised(line: &str, source: &SourceInfo) -> u64 {
        let settings = line.split(": ").next().unwrap();
        let sets: Vec<String> = settings
            .split("--set ")
            .skip(1)
            .map(|set| set.trim().trim_matches('\'').to_owned())
            .collect();
        assert!(!sets.is_empty(), "{line}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.toml");
        std::fs::write(&file, TEXT).unwrap();
        let changed = Experiment::load(&file, &sets).unwrap();
        step::plan(&changed, source).unwrap().plan.reserved_bytes()
    }

    #[test]
    fn of_each_kind_of_change_the_smallest_is_named() {
        let (experiment, source) = experiment();
        let needed = step::plan(&experiment, &source)
            .unwrap()
            .plan
            .reserved_bytes();
        let found = suggestions(&experiment, &source, needed - 1);
        let starts = [
            "--set techniques.accumulate=2: ",
            "--set 'train.optimizer={kind=\"momentum\", lr=0.001}': ",
            "--set 'train.optimizer={kind=\"sgd\", lr=0.001}': ",
            "--set data.batch=512: ",
        ];
        assert_eq!(found.len(), starts.len(), "{found:#?}");
        for (line, start) in found.iter().zip(starts) {
            assert!(line.starts_with(start), "{line}");
        }
    }
}
