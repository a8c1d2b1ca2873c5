//! Draws and writes single values.

use avro_decode::encode::{write_long, write_string};

use crate::alias::{Alias, Thousandths, poisson};
use crate::field::{Symbols, Values};
use crate::random::Random;

/// The distributions of values.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    thousandths: Thousandths,
    /// The least of the integers below 1,000.
    least: u64,
    text_length: Alias,
    /// A text; the memory is reused.
    text: String,
}

impl Draws {
    /// Distributions in which a fraction `zeros` of the floats is 0. Integers can be 0 only if
    /// `zeros` is above 0.
    pub(crate) fn new(zeros: f64) -> Self {
        Draws {
            thousandths: Thousandths::new(zeros),
            least: if zeros > 0.0 { 0 } else { 1 },
            text_length: poisson(TEXT_LENGTH),
            text: String::new(),
        }
    }

    /// Writes `len` values, one loop for each type.
    pub(crate) fn run(
        &mut self,
        values: Values,
        len: usize,
        random: &mut Random,
        out: &mut Vec<u8>,
    ) {
        match values {
            Values::Int | Values::Long => {
                let draw = |random: &mut Random| self.least + random.below(1_000 - self.least);
                (0..len).for_each(|_| write_long(out, draw(random) as i64));
            }
            Values::Id => (0..len).for_each(|_| write_long(out, random.below(1 << 40) as i64)),
            Values::Float => {
                let draw = |_| (self.thousandths.draw(random) as f32 / 1e3).to_le_bytes();
                out.extend((0..len).flat_map(draw));
            }
            Values::Double => {
                let draw = |_| (f64::from(self.thousandths.draw(random)) / 1e3).to_le_bytes();
                out.extend((0..len).flat_map(draw));
            }
            Values::Boolean => out.extend((0..len).map(|_| (random.bits() >> 63) as u8)),
            Values::Small => (0..len).for_each(|_| write_long(out, random.below(100) as i64)),
            Values::Word(words) => (0..len).for_each(|_| {
                write_string(out, words[random.below(words.len() as u64) as usize]);
            }),
            Values::Symbol(Symbols { symbols, .. }) => (0..len).for_each(|_| {
                write_long(out, random.below(symbols.len() as u64) as i64);
            }),
            Values::Text => (0..len).for_each(|_| {
                let len = self.text_length.draw(random);
                let letter = |_| LETTERS[random.below(LETTERS.len() as u64) as usize];
                self.text.clear();
                self.text.extend((0..len).map(letter));
                write_string(out, &self.text);
            }),
            Values::Bytes => (0..len).for_each(|_| {
                let len = self.text_length.draw(random);
                write_long(out, len as i64);
                out.extend((0..len).map(|_| (random.bits() >> 56) as u8));
            }),
        }
    }
}

/// The mean length of texts in characters and of bytes in bytes.
const TEXT_LENGTH: f64 = 12.0;

/// Letters of one to four bytes in UTF-8, mostly of one.
const LETTERS: [char; 32] = [
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's',
    't', 'u', 'v', 'w', ' ', ' ', 'é', 'ß', 'ж', 'ω', '語', '한', '🦀',
];
