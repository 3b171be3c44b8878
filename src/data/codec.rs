//! Tokenizers: from text to tokens and back.

use super::error::DataError;
use crate::experiment::Tokenizer;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{
    Decoder, Model, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, Trainer,
};

/// Text is cut into pieces of about this many bytes: the tokenizer keeps some 100 bytes of notes for each byte of a piece.
const PIECE_BYTES: usize = 1 << 15;

/// A piece in which no place to cut was found ends here, between two letters.
const LONGEST_PIECE_BYTES: usize = 4 * PIECE_BYTES;

/// Turns text into tokens and tokens into text.
#[derive(Clone, Debug, PartialEq)]
pub struct Codec {
    kind: Kind,
    vocabulary: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Bytes,
    /// Boxed, because it is by far the larger one.
    Bpe(Box<BPE>),
}

impl Codec {
    /// The codec of `tokenizer`; what there is to learn is learned from `text`, the same from the same text.
    ///
    /// # Errors
    /// [`DataError::Format`] naming `file` where the tokenizer cannot be learned.
    pub(super) fn new(tokenizer: Tokenizer, text: &str, file: &str) -> Result<Self, DataError> {
        let kind = match tokenizer {
            Tokenizer::Bytes => Kind::Bytes,
            Tokenizer::Bpe { vocabulary } => {
                let bpe = train(text, vocabulary).map_err(|error| {
                    DataError::format(file, format!("no tokenizer could be learned: {error}"))
                })?;
                Kind::Bpe(Box::new(bpe))
            }
        };
        Ok(Self {
            kind,
            vocabulary: tokenizer.vocabulary(),
        })
    }

    /// The word for it in `data.tokenizer.kind`.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Bytes => "bytes",
            Kind::Bpe(_) => "bpe",
        }
    }

    /// Number of tokens a model must tell apart: every token is below it.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Number of tokens there are: fewer than [`Codec::vocabulary`] where the text had no more pairs to merge.
    pub fn learned(&self) -> usize {
        match &self.kind {
            Kind::Bytes => self.vocabulary,
            Kind::Bpe(bpe) => bpe.get_vocab_size(),
        }
    }

    /// The tokens of `text`. Every text has some, whatever the codec was learned from.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        self.encode_each(text, |token| tokens.push(token));
        tokens
    }

    /// Calls `each` with every token of `text`, in order.
    pub(super) fn encode_each(&self, text: &str, mut each: impl FnMut(u32)) {
        match &self.kind {
            Kind::Bytes => text.bytes().for_each(|byte| each(u32::from(byte))),
            Kind::Bpe(bpe) => {
                for word in pieces(text).flat_map(|piece| words(piece).unwrap_or_default()) {
                    // Every byte is a token of its own, so there is no word without tokens.
                    let tokens = bpe.tokenize(&word).unwrap_or_default();
                    tokens.iter().for_each(|token| each(token.id));
                }
            }
        }
    }

    /// The text of `tokens`. Bytes that are no UTF-8, as a model may well write them, become U+FFFD; numbers that are no
    /// tokens are left out.
    pub fn decode(&self, tokens: &[u32]) -> String {
        match &self.kind {
            Kind::Bytes => {
                let byte = |&token: &u32| u8::try_from(token).ok();
                let bytes: Vec<u8> = tokens.iter().filter_map(byte).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Kind::Bpe(bpe) => {
                let names = tokens.iter().filter_map(|&token| bpe.id_to_token(token));
                byte_level()
                    .decode_chain(names.collect())
                    .unwrap_or_default()
                    .concat()
            }
        }
    }
}

/// Words are found as GPT-2 does (Radford et al. 2019), and nothing is added in front of the text.
fn byte_level() -> ByteLevel {
    ByteLevel::new(false, false, true)
}

fn train(text: &str, vocabulary: usize) -> tokenizers::Result<BPE> {
    let mut trainer = BpeTrainer::builder()
        .vocab_size(vocabulary)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .show_progress(false)
        .build();
    trainer.feed(pieces(text), words)?;
    let mut bpe = BPE::default();
    trainer.train(&mut bpe)?;
    Ok(bpe)
}

/// The words of `piece`, each byte written as a letter of the alphabet of tokens.
fn words(piece: &str) -> tokenizers::Result<Vec<String>> {
    let mut cut = PreTokenizedString::from(piece);
    byte_level().pre_tokenize(&mut cut)?;
    let words = cut.get_splits(OffsetReferential::Normalized, OffsetType::Byte);
    Ok(words
        .into_iter()
        .map(|(word, ..)| word.to_owned())
        .collect())
}

/// Cuts `text` where a word ends and white space begins. No word goes over such a place, so the tokens are those of the
/// whole text.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(piece_end(rest));
        rest = after;
        Some(piece)
    })
}

fn piece_end(text: &str) -> usize {
    let mut after_word = false;
    for (place, letter) in text.char_indices() {
        let space = letter.is_whitespace();
        let may_end = place >= PIECE_BYTES && after_word && space;
        if may_end || place >= LONGEST_PIECE_BYTES {
            return place;
        }
        after_word = !space;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "It is a truth universally acknowledged, that a single man in possession of a good fortune, \
        must be in want of a wife. It is a truth, and a truth it is.\n\nA wife.";

    fn bpe(text: &str, vocabulary: usize) -> Codec {
        Codec::new(Tokenizer::Bpe { vocabulary }, text, "test.txt").unwrap()
    }

    fn bytes() -> Codec {
        Codec::new(Tokenizer::Bytes, "", "test.txt").unwrap()
    }

    #[test]
    fn every_text_comes_back_as_it_was() {
        for codec in [bytes(), bpe(TEXT, 300), bpe("", 257)] {
            for text in [
                TEXT,
                "",
                " ",
                "\n\n  \r\n\t x",
                "żółw 日本語 🦀\u{0}\u{feff}",
                "it's  we'll",
                "\u{a0}a\u{3000} b",
            ] {
                let tokens = codec.encode(text);
                assert_eq!(codec.decode(&tokens), text, "{}", codec.name());
                assert!(
                    tokens
                        .iter()
                        .all(|&token| (token as usize) < codec.vocabulary())
                );
            }
        }
    }

    #[test]
    fn pairs_that_come_often_are_one_token() {
        let codec = bpe(TEXT, 300);
        assert_eq!(
            (codec.name(), codec.vocabulary(), codec.learned()),
            ("bpe", 300, 300)
        );
        assert_eq!(codec.encode(" truth").len(), 1);
        assert!(codec.encode(TEXT).len() < bytes().encode(TEXT).len() / 2);
        assert_eq!(
            (bytes().name(), bytes().vocabulary(), bytes().learned()),
            ("bytes", 256, 256)
        );
        assert_eq!(bytes().encode("aé"), [97, 195, 169]);
        let short = bpe("aa", 1_000);
        assert_eq!((short.vocabulary(), short.learned()), (1_000, 257));
    }

    #[test]
    fn the_same_text_gives_the_same_tokens_each_time() {
        let first = bpe(TEXT, 320);
        for _ in 0..5 {
            let again = bpe(TEXT, 320);
            assert_eq!(again.encode(TEXT), first.encode(TEXT));
            for token in 0..320 {
                assert_eq!(again.decode(&[token]), first.decode(&[token]));
            }
        }
    }

    #[test]
    fn tokens_that_make_no_text_are_shown_and_do_not_panic() {
        for codec in [bytes(), bpe(TEXT, 300)] {
            assert_eq!(codec.decode(&[u32::MAX, 70_000]), "");
            let half = codec.encode("é")[0];
            assert_eq!(codec.decode(&[half]), "\u{fffd}");
            for token in 0..300 {
                codec.decode(&[token, token]);
            }
        }
    }

    #[test]
    fn a_long_text_is_cut_without_changing_its_tokens() {
        let codec = bpe(TEXT, 300);
        let long: String = (0..20_000)
            .map(|i| format!("word{}  \n\u{3000}it's", i % 97))
            .collect();
        assert!(long.len() > 4 * PIECE_BYTES);
        let parts: Vec<&str> = pieces(&long).collect();
        assert!(parts.len() > 2);
        assert_eq!(parts.concat(), long);
        let whole: Vec<String> = words(&long).unwrap();
        let cut: Vec<String> = parts
            .iter()
            .flat_map(|piece| words(piece).unwrap())
            .collect();
        assert_eq!(cut, whole);
        assert_eq!(codec.decode(&codec.encode(&long)), long);
        // Without white space it is cut between letters, never inside one.
        let endless = "日".repeat(LONGEST_PIECE_BYTES);
        assert_eq!(pieces(&endless).collect::<String>(), endless);
        assert!(pieces(&endless).all(|piece| piece.len() < LONGEST_PIECE_BYTES + 4));
        assert_eq!(
            codec.decode(&codec.encode(&endless[..3_000])),
            endless[..3_000]
        );
    }
}
