//! Layers: those who have read an epoch before, when others go on.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use atds_pipeline::{LayerPart, Options, Rest};
use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::StateMismatch;
use crate::limits::{MAX_LAYERS, MAX_READERS};
use crate::shares::{Uneven, World};

/// The layers of an epoch, one after another. As text in a state: a list would change its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layers(Vec<Layer>);

/// Readers that were at work side by side, up to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) world: World,
    pub(crate) batch_size: u64,
    /// Number of batches that each rank has given out.
    pub(crate) step: u64,
}

/// Who reads: a worker of a rank of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reader {
    pub(crate) world: World,
    pub(crate) rank: u64,
    pub(crate) worker: u64,
}

impl Reader {
    /// One that reads all.
    pub(crate) const ALL: Reader = Reader {
        world: World::ONE,
        rank: 0,
        worker: 0,
    };
}

/// What layers have left of an epoch for a reader.
pub(crate) struct Left {
    pub(crate) rest: Rest,
    /// Number of records that they left for all readers together.
    pub(crate) records: u64,
}

impl Layers {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a layer; false if there is no room for it.
    pub(crate) fn push(&mut self, layer: Layer) -> bool {
        let has_room = self.0.len() < MAX_LAYERS;
        if has_room {
            self.0.push(layer);
        }
        has_room
    }

    /// What they leave of an epoch for a reader, of files of `file_records` records.
    ///
    /// # Errors
    /// An epoch has fewer batches than a layer has given out.
    pub(crate) fn leave(
        &self,
        epoch: u64,
        file_records: Arc<[u64]>,
        reader: &Reader,
        options: &Options,
    ) -> Result<Left, StateMismatch> {
        let mut left = file_records.iter().copied().fold(0, u64::saturating_add);
        let mut layers = Vec::with_capacity(self.0.len());
        for layer in &self.0 {
            let steps = layer
                .world
                .steps(left, layer.batch_size, options.drop_remainder);
            if layer.step > steps {
                let batches = layer.step;
                return Err(StateMismatch::Batches { batches });
            }
            let parts = layer.parts(left, options.drop_remainder);
            // Nothing is left of an epoch that has ended: what its ranks left out was reported.
            left = match layer.step == steps {
                true => 0,
                false => left - read(&parts),
            };
            layers.push(parts);
        }
        if left == 0 {
            layers.clear();
        }
        let batch_size = options.batch_size as u64;
        let Reader {
            world,
            rank,
            worker,
        } = *reader;
        let share = world.share(left, batch_size, options.drop_remainder, rank);
        Ok(Left {
            rest: Rest {
                epoch,
                layers,
                records: share.worker(worker).records,
                file_records,
            },
            records: left,
        })
    }
}

/// Number of records that the readers of a layer have read.
fn read(layer: &atds_pipeline::Layer) -> u64 {
    let read = layer.parts.iter().map(|part| {
        let own = part.records.end - part.records.start;
        own.min(part.batches.saturating_mul(layer.batch_size))
    });
    read.sum()
}

impl Layer {
    /// What each of its readers has read of `records` records.
    fn parts(&self, records: u64, drop_remainder: bool) -> atds_pipeline::Layer {
        let ranks = (0..self.world.ranks).flat_map(|rank| {
            let share = self
                .world
                .share(records, self.batch_size, drop_remainder, rank);
            let given = share.given(self.step.min(share.batches));
            (0..).zip(given).map(move |(worker, given)| {
                let of_worker = share.worker(worker);
                LayerPart {
                    rank,
                    worker,
                    batches: given.min(of_worker.taken),
                    records: of_worker.records,
                }
            })
        });
        atds_pipeline::Layer {
            batch_size: self.batch_size,
            parts: ranks.collect(),
        }
    }
}

/// Of each layer ranks, workers, batch size, step, and the number of `uneven` among its choices; nothing
/// between them.
impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for layer in &self.0 {
            let World {
                ranks,
                workers,
                uneven,
            } = layer.world;
            let mut choices = Uneven::ALL.into_iter();
            let uneven = choices.position(|choice| choice == uneven).unwrap_or(0);
            let numbers = [ranks, workers, layer.batch_size, layer.step, uneven as u64];
            for number in numbers {
                f.write_str(&letters(number))?;
            }
        }
        Ok(())
    }
}

/// A number in base 26 with the digits `a` to `z`, of which the last is a capital.
fn letters(mut number: u64) -> String {
    let mut reversed = vec![b'A' + (number % 26) as u8];
    while number >= 26 {
        number /= 26;
        reversed.push(b'a' + (number % 26) as u8);
    }
    reversed.into_iter().rev().map(char::from).collect()
}

/// The number of some [`letters`].
fn number(letters: &str) -> Option<u64> {
    let (last, before) = letters.as_bytes().split_last()?;
    let digits = before.iter().map(|letter| letter.wrapping_sub(b'a'));
    let mut digits = digits.chain([last.wrapping_sub(b'A')]);
    digits.try_fold(0u64, |number, digit| {
        let digit = (digit < 26).then_some(u64::from(digit))?;
        number.checked_mul(26)?.checked_add(digit)
    })
}

impl FromStr for Layers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("'{text}' are no layers");
        if text.contains(',') {
            return Layers::of_version_2(text);
        }
        let numbers: Vec<&str> = text.split_inclusive(char::is_uppercase).collect();
        let mut layers = Layers::default();
        for numbers in numbers.chunks(5) {
            let numbers = numbers.iter().map(|letters| number(letters));
            let numbers: Option<Vec<u64>> = numbers.collect();
            let [ranks, workers, batch_size, step, uneven] = *numbers.ok_or_else(invalid)? else {
                return Err(invalid());
            };
            let uneven = Uneven::ALL.get(uneven as usize).ok_or_else(invalid)?;
            let layer = Layer::checked([ranks, workers, batch_size, step], *uneven);
            layers.add(layer.ok_or_else(invalid)?)?;
        }
        Ok(layers)
    }
}

impl Layers {
    /// Of the text that version 2 has: decimal numbers and the name of `uneven` with commas between them, and
    /// semicolons between layers. What is that of the layer before is left out, and so are commas at the end.
    fn of_version_2(text: &str) -> Result<Self, String> {
        let invalid = || format!("'{text}' are no layers");
        let (mut layers, mut before) = (Layers::default(), [""; 5]);
        for layer in text.split(';').filter(|layer| !layer.is_empty()) {
            let mut parts: Vec<_> = layer.split(',').collect();
            parts.resize(parts.len().max(5), "");
            let mut parts: [&str; 5] = parts.try_into().map_err(|_| invalid())?;
            for (part, before) in parts.iter_mut().zip(before) {
                if part.is_empty() {
                    *part = before;
                }
            }
            before = parts;
            layers.add(Layer::of_parts(parts).ok_or_else(invalid)?)?;
        }
        Ok(layers)
    }

    fn add(&mut self, layer: Layer) -> Result<(), String> {
        match self.push(layer) {
            true => Ok(()),
            false => Err(format!("it has more than {MAX_LAYERS} layers")),
        }
    }
}

impl Layer {
    fn of_parts(parts: [&str; 5]) -> Option<Self> {
        let [numbers @ .., uneven] = parts;
        let [ranks, workers, batch_size, step] = numbers.map(|number| number.parse().ok());
        let uneven = Uneven::ALL
            .into_iter()
            .find(|known| known.name() == uneven)?;
        Layer::checked([ranks?, workers?, batch_size?, step?], uneven)
    }

    fn checked([ranks, workers, batch_size, step]: [u64; 4], uneven: Uneven) -> Option<Self> {
        let world = World {
            ranks,
            workers,
            uneven,
        };
        let is_valid = (1..=MAX_READERS).contains(&world.readers()) && batch_size > 0;
        is_valid.then_some(Layer {
            world,
            batch_size,
            step,
        })
    }
}

impl Serialize for Layers {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Layers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Layers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("layers as text")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Layers, E> {
                text.parse().map_err(E::custom)
            }

            /// Version 1 has an empty list.
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Layers, A::Error> {
                match list.next_element::<IgnoredAny>()? {
                    None => Ok(Layers::default()),
                    Some(_) => Err(A::Error::custom("layers are text, and no list")),
                }
            }
        }

        from.deserialize_any(Text)
    }
}
