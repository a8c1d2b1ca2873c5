//! Encodes generated records as Avro, without building values first.

use avro_decode::encode::{write_long, write_string};

use crate::alias::{Alias, poisson};
use crate::draws::Draws;
use crate::field::{Field, Length, ONE_NULL_IN, Type, Values};
use crate::random::Random;
use crate::shape::RecordShape;

/// Encodes the records of a shape. The seed and a record's number fix its values.
///
/// ```
/// use atds_generate::{Preset, RecordEncoder};
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
    fields: Vec<FieldEncoder>,
    writer: PartWriter,
}

impl RecordEncoder {
    /// An encoder of records of `shape` under `seed`.
    pub fn new(shape: impl Into<RecordShape>, seed: u64) -> Self {
        let part = |field: &Field| FieldEncoder::new(&field.ty);
        RecordEncoder {
            seed,
            fields: shape.into().fields.iter().map(part).collect(),
            writer: PartWriter {
                values: Draws::new(ZEROS),
                sparse_values: Draws::new(0.0),
                cells: Vec::new(),
                arrays: ArrayWriter::default(),
            },
        }
    }

    /// Sets whether arrays are written with their size in bytes
    /// ([`GenerateOptions::byte_sizes`](crate::GenerateOptions::byte_sizes)).
    pub fn with_byte_sizes(mut self, byte_sizes: bool) -> Self {
        self.writer.arrays = ArrayWriter { byte_sizes };
        self
    }

    /// Appends record `index` to `out`.
    pub fn encode(&mut self, index: u64, out: &mut Vec<u8>) {
        let mut random = Random::new(self.seed, index);
        for field in &self.fields {
            self.writer.write(field, &mut random, out);
        }
    }
}

/// The fraction of floats and doubles that are 0. Sparse fields have only other values.
const ZEROS: f64 = 0.3;

/// A type with its distributions prepared for drawing.
#[derive(Clone, Debug)]
enum FieldEncoder {
    Value(Values),
    /// An array of single values.
    Values(Count, Values),
    Array(Count, Box<FieldEncoder>),
    Map {
        keys: &'static [&'static str],
        values: Box<FieldEncoder>,
    },
    Record(Vec<FieldEncoder>),
    Sparse {
        values: Values,
        dims: Vec<u64>,
        count: Alias,
    },
    Nullable(Box<FieldEncoder>),
}

#[derive(Clone, Debug)]
enum Count {
    Fixed(usize),
    /// A drawn number plus a constant.
    Sampled(Alias, usize),
}

impl FieldEncoder {
    fn new(ty: &Type) -> Self {
        match ty {
            Type::Value(values) => FieldEncoder::Value(*values),
            Type::Array(length, items) => match &**items {
                Type::Value(values) => FieldEncoder::Values(Count::new(length), *values),
                items => {
                    FieldEncoder::Array(Count::new(length), Box::new(FieldEncoder::new(items)))
                }
            },
            Type::Map { keys, values } => FieldEncoder::Map {
                keys,
                values: Box::new(FieldEncoder::new(values)),
            },
            Type::Record { fields, .. } => FieldEncoder::Record(
                fields
                    .iter()
                    .map(|field| FieldEncoder::new(&field.ty))
                    .collect(),
            ),
            Type::Sparse { values, dims, mean } => FieldEncoder::Sparse {
                values: *values,
                dims: dims.clone(),
                count: poisson(*mean),
            },
            Type::Nullable(ty) => FieldEncoder::Nullable(Box::new(FieldEncoder::new(ty))),
        }
    }
}

impl Count {
    fn new(length: &Length) -> Self {
        match *length {
            Length::Fixed(n) => Count::Fixed(n),
            Length::Poisson(mean) => Count::Sampled(poisson(mean), 0),
            Length::AtLeast(least, mean) => Count::Sampled(poisson(mean), least),
        }
    }

    fn draw(&self, random: &mut Random) -> usize {
        match self {
            Count::Fixed(n) => *n,
            Count::Sampled(alias, least) => alias.draw(random) + least,
        }
    }
}

/// Draws and writes parts of records.
#[derive(Clone, Debug)]
struct PartWriter {
    values: Draws,
    sparse_values: Draws,
    /// The cells of a sparse field; the memory is reused.
    cells: Vec<u64>,
    arrays: ArrayWriter,
}

impl PartWriter {
    fn write(&mut self, part: &FieldEncoder, random: &mut Random, out: &mut Vec<u8>) {
        let arrays = self.arrays;
        match part {
            FieldEncoder::Value(values) => self.values.run(*values, 1, random, out),
            FieldEncoder::Values(count, values) => {
                let len = count.draw(random);
                arrays.write(len, out, |out| self.values.run(*values, len, random, out));
            }
            FieldEncoder::Array(count, items) => {
                let len = count.draw(random);
                arrays.write(len, out, |out| {
                    (0..len).for_each(|_| self.write(items, random, out));
                });
            }
            FieldEncoder::Map { keys, values } => {
                let chosen = random.bits() | 1;
                let chosen = keys
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| chosen >> i & 1 == 1);
                let chosen: Vec<&str> = chosen.map(|(_, key)| *key).collect();
                arrays.write(chosen.len(), out, |out| {
                    for key in chosen {
                        write_string(out, key);
                        self.write(values, random, out);
                    }
                });
            }
            FieldEncoder::Record(fields) => {
                for field in fields {
                    self.write(field, random, out);
                }
            }
            FieldEncoder::Sparse {
                values,
                dims,
                count,
            } => {
                draw_cells(dims, count, &mut self.cells, random);
                self.write_indices(dims, out);
                let (len, draws) = (self.cells.len(), &mut self.sparse_values);
                arrays.write(len, out, |out| draws.run(*values, len, random, out));
            }
            FieldEncoder::Nullable(part) => {
                let is_null = random.below(ONE_NULL_IN) == 0;
                write_long(out, i64::from(!is_null));
                if !is_null {
                    self.write(part, random, out);
                }
            }
        }
    }

    /// Writes `indices0`, `indices1`, .. of the cells.
    fn write_indices(&self, dims: &[u64], out: &mut Vec<u8>) {
        let mut stride: u64 = dims.iter().product();
        for dim in dims {
            stride /= dim;
            self.arrays.write(self.cells.len(), out, |out| {
                for cell in &self.cells {
                    write_long(out, (cell / stride % dim) as i64);
                }
            });
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

/// Writes arrays and maps (Avro 1.12, "Arrays", "Maps").
#[derive(Clone, Copy, Debug, Default)]
struct ArrayWriter {
    /// Whether arrays and maps are written with their size in bytes.
    byte_sizes: bool,
}

impl ArrayWriter {
    /// Writes `len` items, or keys with values, in one block.
    fn write(self, len: usize, out: &mut Vec<u8>, items: impl FnOnce(&mut Vec<u8>)) {
        let len = len as i64;
        if len > 0 && self.byte_sizes {
            write_long(out, -len);
            let start = out.len();
            items(out);
            let mut size = Vec::new();
            write_long(&mut size, (out.len() - start) as i64);
            out.splice(start..start, size);
        } else if len > 0 {
            write_long(out, len);
            items(out);
        }
        out.push(0);
    }
}
