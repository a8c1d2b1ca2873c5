//! Records of a preset as Avro's bytes, without a value tree between.

use avro_decode::encode::{write_long, write_string};

use super::alias::{Alias, Thousandths, poisson};
use super::field::{Field, Length, Shape, Values};
use super::preset::Preset;
use super::random::Random;

/// Encodes the records of a preset, each fixed by its number and the seed.
///
/// ```
/// use atds::generate::{Preset, RecordEncoder};
///
/// let mut encoder = RecordEncoder::new(Preset::Ads, 0);
/// let mut block = Vec::new();
/// for record in 0..8 {
///     encoder.encode(record, &mut block);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct RecordEncoder {
    seed: u64,
    fields: Vec<(Values, Arrangement)>,
    array_draws: Draws,
    sparse_draws: Draws,
    /// The cells of a sparse field; kept for its memory.
    cells: Vec<u64>,
}

impl RecordEncoder {
    /// An encoder of records of `preset` under `seed`.
    pub fn new(preset: Preset, seed: u64) -> Self {
        let fields = preset.fields();
        RecordEncoder {
            seed,
            fields: fields
                .iter()
                .map(|field| (field.values, Arrangement::new(field)))
                .collect(),
            array_draws: Draws::new(ZEROS),
            sparse_draws: Draws::new(0.0),
            cells: Vec::new(),
        }
    }

    /// Appends record `index` to `out`.
    pub fn encode(&mut self, index: u64, out: &mut Vec<u8>) {
        let mut random = Random::new(self.seed, index);
        for (values, arrangement) in &self.fields {
            match arrangement {
                Arrangement::Array(counts) => {
                    self.array_draws.nested(*values, counts, &mut random, out);
                }
                Arrangement::Sparse { dims, count } => {
                    draw_cells(dims, count, &mut self.cells, &mut random);
                    write_indices(dims, &self.cells, out);
                    let len = self.cells.len();
                    self.sparse_draws.array(*values, len, &mut random, out);
                }
            }
        }
    }
}

/// The part of floats and doubles that is 0, but in sparse fields, which list what is not 0.
const ZEROS: f64 = 0.3;

/// The mean length of texts in characters and of bytes in bytes.
const TEXT_LENGTH: f64 = 12.0;

/// A field's shape, its distributions ready to draw from.
#[derive(Clone, Debug)]
enum Arrangement {
    Array(Vec<Count>),
    Sparse { dims: Vec<u64>, count: Alias },
}

#[derive(Clone, Debug)]
enum Count {
    Fixed(usize),
    Drawn(Alias),
}

impl Arrangement {
    fn new(field: &Field) -> Self {
        match &field.shape {
            Shape::Array(lengths) => Arrangement::Array(lengths.iter().map(Count::new).collect()),
            Shape::Sparse { dims, mean } => Arrangement::Sparse {
                dims: dims.clone(),
                count: poisson(*mean),
            },
        }
    }
}

impl Count {
    fn new(length: &Length) -> Self {
        match *length {
            Length::Fixed(n) => Count::Fixed(n),
            Length::Poisson(mean) => Count::Drawn(poisson(mean)),
        }
    }

    fn draw(&self, random: &mut Random) -> usize {
        match self {
            Count::Fixed(n) => *n,
            Count::Drawn(alias) => alias.draw(random),
        }
    }
}

/// Draws distinct cells of an array of `dims`, sorted. A cell is its row-major number.
fn draw_cells(dims: &[u64], count: &Alias, cells: &mut Vec<u64>, random: &mut Random) {
    let all: u64 = dims.iter().product();
    let count = count.draw(random).min(all as usize);
    cells.clear();
    while cells.len() < count {
        let missing = count - cells.len();
        cells.extend((0..missing).map(|_| random.below(all)));
        cells.sort_unstable();
        cells.dedup();
    }
}

/// Writes `indices0`, `indices1`, .. of `cells`.
fn write_indices(dims: &[u64], cells: &[u64], out: &mut Vec<u8>) {
    let mut stride: u64 = dims.iter().product();
    for dim in dims {
        stride /= dim;
        write_array(cells.len(), out, |out| {
            for cell in cells {
                write_long(out, (cell / stride % dim) as i64);
            }
        });
    }
}

/// Writes an array of `len` items, in one block (Avro 1.12, "Arrays").
fn write_array(len: usize, out: &mut Vec<u8>, items: impl FnOnce(&mut Vec<u8>)) {
    if len > 0 {
        write_long(out, len as i64);
        items(out);
    }
    out.push(0);
}

/// What values are drawn from.
#[derive(Clone, Debug)]
struct Draws {
    thousandths: Thousandths,
    /// The least of the integers below 1,000.
    least: u64,
    text_length: Alias,
    /// A text; kept for its memory.
    text: String,
}

impl Draws {
    /// Draws floats of which the part `zeros` is 0, and integers that may be 0 if any float may.
    fn new(zeros: f64) -> Self {
        Draws {
            thousandths: Thousandths::new(zeros),
            least: if zeros > 0.0 { 0 } else { 1 },
            text_length: poisson(TEXT_LENGTH),
            text: String::new(),
        }
    }

    /// Writes nested arrays of `counts`, the outermost first; a single value if there are none.
    fn nested(&mut self, values: Values, counts: &[Count], random: &mut Random, out: &mut Vec<u8>) {
        match counts {
            [] => self.run(values, 1, random, out),
            [count] => {
                let len = count.draw(random);
                self.array(values, len, random, out);
            }
            [count, inner @ ..] => {
                let len = count.draw(random);
                write_array(len, out, |out| {
                    for _ in 0..len {
                        self.nested(values, inner, random, out);
                    }
                });
            }
        }
    }

    fn array(&mut self, values: Values, len: usize, random: &mut Random, out: &mut Vec<u8>) {
        write_array(len, out, |out| self.run(values, len, random, out));
    }

    /// Writes `len` values, one loop for each type.
    fn run(&mut self, values: Values, len: usize, random: &mut Random, out: &mut Vec<u8>) {
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
            Values::Country => (0..len).for_each(|_| {
                write_string(
                    out,
                    COUNTRIES[random.below(COUNTRIES.len() as u64) as usize],
                );
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

/// ISO 3166-1 codes.
const COUNTRIES: [&str; 16] = [
    "AU", "BR", "CA", "CN", "DE", "ES", "FR", "GB", "ID", "IN", "IT", "JP", "MX", "NG", "US", "ZA",
];

/// Letters of one to four bytes in UTF-8, most of one.
const LETTERS: [char; 32] = [
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's',
    't', 'u', 'v', 'w', ' ', ' ', 'é', 'ß', 'ж', 'ω', '語', '한', '🦀',
];
