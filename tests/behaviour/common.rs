//! What the integration tests share: experiments, tiny data, and engines that must be there.
use headroom::data::{Dataset, Samples, SourceInfo, Split, Values, source_info};
use headroom::engine::{Engine, EngineChoice, open};
use headroom::experiment::Experiment;
use headroom::train::{Trainer, UpdateResult};
use std::sync::Arc;

/// An experiment from TOML lines after the name.
pub(crate) fn experiment(lines: &str) -> Experiment {
    let text = format!("name = \"test\"\n{lines}");
    Experiment::from_toml(&text, "test.toml", &|path| Err(format!("no file {path}"))).unwrap()
}

/// A small MLP experiment with what is usually varied.
pub(crate) fn mlp(hidden: &str, batch: usize, steps: usize, rest: &str) -> Experiment {
    experiment(&format!(
        "seed = 7\n[model]\nkind = \"mlp\"\nhidden = {hidden}\nactivation = \"gelu\"\n\
         [data]\nsource = \"fashion-mnist\"\nbatch = {batch}\n[train]\nsteps = {steps}\n{rest}"
    ))
}

/// AdamW lines for [`mlp`].
pub(crate) const ADAMW: &str = "optimizer = { kind = \"adamw\", lr = 1e-3 }\n";

/// What is known of Fashion-MNIST without loading it.
pub(crate) fn fashion_mnist() -> SourceInfo {
    source_info(&mlp("[8]", 8, 1, ADAMW).data).unwrap()
}

/// `n` training and 10 test samples of the shape of Fashion-MNIST, a pure function of their index.
pub(crate) fn tiny_data(n: usize) -> Arc<Split> {
    let part = |n: usize, salt: usize| Dataset {
        features: 784,
        values: Values::Bytes(
            (0..n * 784)
                .map(|i| ((i * 31 + salt + (i / 784 % 10) * 97 + i * i % 7) % 256) as u8)
                .collect(),
        ),
        labels: (0..n).map(|i| (i % 10) as u32).collect(),
    };
    split(fashion_mnist(), part(n, 1), part(10, 5))
}

/// A text of `n` tokens below 256 with `context` of them to a sample, and a tenth as many held out.
pub(crate) fn tiny_text(n: usize, context: usize) -> Arc<Split> {
    let part = |n: usize, salt: usize| Dataset {
        features: context,
        values: Values::Tokens(
            (0..n)
                .map(|i| ((i * i + salt * i) % 97 + 32) as u16)
                .collect(),
        ),
        labels: Vec::new(),
    };
    let info = SourceInfo {
        name: "austen".into(),
        samples: Samples::Text { vocabulary: 256 },
    };
    split(info, part(n, 3), part(n / 10, 5))
}

fn split(info: SourceInfo, train: Dataset, test: Dataset) -> Arc<Split> {
    Arc::new(Split {
        info,
        train,
        test,
        codec: None,
        notices: Vec::new(),
    })
}

/// The shipped subset.
pub(crate) fn shipped_data() -> Arc<Split> {
    let experiment = mlp("[8]", 8, 1, ADAMW);
    Arc::new(
        pollster::block_on(headroom::data::load(
            &experiment.data,
            experiment.model.context(),
        ))
        .unwrap(),
    )
}

/// An engine; for the GPU an adapter must be there. Says on stderr which one runs a test.
pub(crate) fn engine(choice: EngineChoice, test: &str) -> Box<dyn Engine> {
    let (engine, _) = pollster::block_on(open(choice))
        .expect("the tests need a GPU adapter, a software one will do");
    announce(engine.as_ref(), test);
    engine
}

/// A trainer; announced like [`engine`].
pub(crate) fn trainer(
    experiment: Experiment,
    data: &Arc<Split>,
    choice: EngineChoice,
    test: &str,
) -> Trainer {
    let mut trainer = pollster::block_on(Trainer::new(experiment, data.clone(), choice)).unwrap();
    announce(trainer.engine_mut(), test);
    trainer
}

fn announce(engine: &dyn Engine, test: &str) {
    use std::io::Write as _;
    let info = engine.info();
    if info.kind == "gpu" {
        // Straight to the stream, so that the line shows without --nocapture.
        let _ = writeln!(
            std::io::stderr(),
            "[gpu] {test} on {} ({})",
            info.adapter,
            info.backend
        );
    }
}

/// Makes `n` updates and gives all their results.
pub(crate) fn train(trainer: &mut Trainer, n: usize) -> Vec<UpdateResult> {
    pollster::block_on(async {
        let mut results = Vec::new();
        for _ in 0..n {
            results.extend(trainer.step().await.unwrap());
        }
        results.extend(trainer.flush().await.unwrap());
        results
    })
}

/// The losses of the first `n` updates of a new training.
pub(crate) fn losses(
    experiment: Experiment,
    data: &Arc<Split>,
    choice: EngineChoice,
    test: &str,
    n: usize,
) -> Vec<f32> {
    let mut trainer = trainer(experiment, data, choice, test);
    train(&mut trainer, n).iter().map(|r| r.loss).collect()
}
