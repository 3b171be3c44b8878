//! Sampling text from a trained language model, one token at a time.

use super::breathe::breathe;
use super::{TrainError, Trainer};
use crate::graph::Program;

/// How a text is sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// What the text goes on from; empty begins at a new line.
    pub prompt: String,
    /// Tokens to add.
    pub tokens: usize,
    /// Divides the logits: below 1 the likely tokens gain, 0 always takes the likeliest.
    pub temperature: f32,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            prompt: String::new(),
            tokens: 200,
            temperature: 0.8,
        }
    }
}

/// A text in the making.
#[derive(Clone, Debug)]
pub struct Generation {
    sampling: Sampling,
    tokens: Vec<u32>,
    made: usize,
}

impl Trainer {
    /// Goes on with a text, token by token, with the weights as they are. Training can go on afterwards.
    ///
    /// # Errors
    /// As [`Trainer::begin_text`] and [`Trainer::next_token`].
    pub async fn generate(&mut self, sampling: &Sampling) -> Result<String, TrainError> {
        let mut generation = self.begin_text(sampling).await?;
        while self.next_token(&mut generation).await? {
            breathe().await;
        }
        Ok(self.text_of(&generation))
    }

    /// Begins a text.
    ///
    /// # Errors
    /// [`TrainError::NoText`] if the model predicts no text, [`TrainError::Engine`] as for a step.
    pub async fn begin_text(&mut self, sampling: &Sampling) -> Result<Generation, TrainError> {
        let Some(codec) = self
            .split
            .codec
            .as_ref()
            .filter(|_| self.step.text.is_some())
        else {
            let kind = self.experiment.model.kind();
            return Err(TrainError::NoText { kind });
        };
        let prompt = if sampling.prompt.is_empty() {
            "\n"
        } else {
            &sampling.prompt
        };
        let tokens = codec.encode(prompt);
        self.flush().await?;
        Ok(Generation {
            sampling: sampling.clone(),
            tokens,
            made: 0,
        })
    }

    /// Adds a token to the text; false if it is complete. One forward pass over the last `model.context` tokens on the
    /// device; the choice among the logits is made on the host, from the experiment's seed.
    ///
    /// # Errors
    /// [`TrainError::Engine`] as for a step.
    pub async fn next_token(&mut self, generation: &mut Generation) -> Result<bool, TrainError> {
        let Some(text) = self.step.text else {
            return Ok(false);
        };
        if generation.made >= generation.sampling.tokens {
            return Ok(false);
        }
        let first = generation.tokens.len().saturating_sub(text.context);
        let mut window = generation.tokens.get(first..).unwrap_or_default().to_vec();
        let mut numbers = self.step_numbers(self.updates_done, 1, 0.0);
        numbers.rows = window.len() as u32;
        window.resize(text.context, 0);
        self.engine.upload(text.prompt, &window)?;
        self.run(Program::Generate, &numbers).await?;
        let words = self.engine.read(text.next_logits).await?;
        let logits: Vec<f32> = words.into_iter().map(f32::from_bits).collect();
        let chance = chance(self.experiment.seed, self.updates_done, generation.made);
        let token = choose(&logits, generation.sampling.temperature, chance);
        generation.tokens.push(token);
        generation.made += 1;
        Ok(true)
    }

    /// The text as far as it is made, with what it goes on from.
    pub fn text_of(&self, generation: &Generation) -> String {
        let codec = self.split.codec.as_ref();
        let text = codec.map_or_else(String::new, |codec| codec.decode(&generation.tokens));
        text.trim_start_matches('\n').to_owned()
    }
}

/// A number in [0, 1) for each token of each sampling.
fn chance(seed: u32, update: usize, index: usize) -> f64 {
    let key = super::init::mix(u64::from(seed) ^ super::init::mix(update as u64));
    let word = super::init::mix(key.wrapping_add(index as u64));
    (word >> 11) as f64 / (1u64 << 53) as f64
}

/// The token whose share of the softmax of `logits / temperature` the `chance` falls into. A logit that is no number is
/// never chosen; without any that is one, token 0.
fn choose(logits: &[f32], temperature: f32, chance: f64) -> u32 {
    let finite = logits.iter().enumerate().filter(|(_, l)| l.is_finite());
    let Some((best, largest)) = finite.clone().max_by(|a, b| a.1.total_cmp(b.1)) else {
        return 0;
    };
    if temperature <= 0.0 {
        return best as u32;
    }
    let weight = |l: &f32| (f64::from(l - largest) / f64::from(temperature)).exp();
    let total: f64 = finite.clone().map(|(_, l)| weight(l)).sum();
    let mut left = chance * total;
    for (token, logit) in finite {
        left -= weight(logit);
        if left < 0.0 {
            return token as u32;
        }
    }
    best as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_chosen_by_their_share() {
        let logits = [0.0, f32::NAN, 2f32.ln(), f32::NEG_INFINITY, 0.0];
        for (chance, expected) in [
            (0.0, 0),
            (0.24, 0),
            (0.26, 2),
            (0.74, 2),
            (0.76, 4),
            (0.999, 4),
        ] {
            assert_eq!(choose(&logits, 1.0, chance), expected, "{chance}");
        }
        assert_eq!(
            choose(&logits, 0.0, 0.9),
            2,
            "without temperature the likeliest"
        );
        assert_eq!(choose(&[f32::NAN; 3], 1.0, 0.5), 0);
    }

    #[test]
    fn chances_differ_and_are_the_same_every_time() {
        let all: Vec<f64> = (0..100).map(|i| chance(7, 3, i)).collect();
        assert!(all.iter().all(|c| (0.0..1.0).contains(c)));
        assert!((all.iter().sum::<f64>() / 100.0 - 0.5).abs() < 0.1);
        assert_eq!(all[5], chance(7, 3, 5));
        assert_ne!(chance(8, 3, 5), chance(7, 3, 5));
    }
}
