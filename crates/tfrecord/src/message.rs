//! Messages as trees of values, for tools that look at records or make them: read and written one by one.
//!
//! Batches are made by a [`Plan`](crate::Plan), which is many times as fast.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::decode::{DecodeErrorKind, Fault, Kind, List, Message};
use crate::encode::{ExampleEncoder, put_varint};
use crate::wire::{Cursor, WireType};

/// The values of a key, or of a step of a feature list.
#[derive(Clone, Debug, PartialEq)]
pub enum FeatureValues {
    /// A `bytes_list`.
    Bytes(Vec<Vec<u8>>),
    /// A `float_list`.
    Float(Vec<f32>),
    /// An `int64_list`.
    Int64(Vec<i64>),
}

impl FeatureValues {
    /// The kind of the values.
    pub fn kind(&self) -> Kind {
        match self {
            FeatureValues::Bytes(_) => Kind::Bytes,
            FeatureValues::Float(_) => Kind::Float,
            FeatureValues::Int64(_) => Kind::Int64,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            FeatureValues::Bytes(values) => values.len(),
            FeatureValues::Float(values) => values.len(),
            FeatureValues::Int64(values) => values.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An `Example` or a `SequenceExample`.
///
/// ```
/// use atds_tfrecord::{Example, FeatureValues};
///
/// let mut example = Example::default();
/// example.features.push(("age".to_owned(), FeatureValues::Int64(vec![7])));
/// let mut record = Vec::new();
/// example.encode(&mut record);
/// assert_eq!(record, b"\x0a\x0e\x0a\x0c\x0a\x03age\x12\x05\x1a\x03\x0a\x01\x07");
/// assert_eq!(Example::parse(&record)?, example);
/// # Ok::<(), atds_tfrecord::DecodeErrorKind>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Example {
    /// The keys of an `Example`, or of the context, each once, with their values. A key whose feature
    /// has no kind is missing.
    pub features: Vec<(String, FeatureValues)>,
    /// The feature lists of a `SequenceExample`, each key once, with the values of their steps. A step
    /// whose feature has no kind is `None`. An `Example` has no lists at all, so this is `None`.
    pub feature_lists: Option<Vec<(String, Vec<Option<FeatureValues>>)>>,
}

impl Example {
    /// Reads a record: everything that protocol buffers allow. A record with feature lists is a
    /// `SequenceExample`; others are read as an `Example`, whose encoding is that of a
    /// `SequenceExample` without lists.
    ///
    /// # Errors
    /// The record is no message of protocol buffers, it has a key that is no UTF-8, or it has bytes but
    /// none of the fields of the two messages.
    pub fn parse(record: &[u8]) -> Result<Self, DecodeErrorKind> {
        parse(record).map_err(Fault::into_kind)
    }

    /// The message that this is.
    pub fn message(&self) -> Message {
        match self.feature_lists {
            None => Message::Example,
            Some(_) => Message::SequenceExample,
        }
    }

    /// Appends the encoded message: numbers packed, keys in their order here.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut features = ExampleEncoder::new();
        for (key, values) in &self.features {
            match values {
                FeatureValues::Bytes(values) => features.bytes_list(key, values),
                FeatureValues::Float(values) => features.float_list(key, values.iter().copied()),
                FeatureValues::Int64(values) => features.int64_list(key, values.iter().copied()),
            }
        }
        // The context of a `SequenceExample` is the same field.
        features.take_into(out);
        let Some(lists) = &self.feature_lists else {
            return;
        };
        let (mut map, mut value) = (Vec::new(), Vec::new());
        for (key, steps) in lists {
            let mut list = Vec::new();
            for step in steps {
                value.clear();
                if let Some(values) = step {
                    encode_feature(values, &mut value);
                }
                write_field(1, &value, &mut list);
            }
            let mut entry = Vec::with_capacity(key.len() + list.len() + 12);
            write_field(1, key.as_bytes(), &mut entry);
            write_field(2, &list, &mut entry);
            write_field(1, &entry, &mut map);
        }
        write_field(2, &map, out);
    }
}

fn parse(record: &[u8]) -> Result<Example, Fault> {
    let mut example = Example::default();
    let features = map_of(record, 1)?;
    let lists = map_of(record, 2)?;
    if features.is_none() && lists.is_none() && !record.is_empty() {
        return Err(DecodeErrorKind::NoExample.into());
    }
    for (key, message) in features.unwrap_or_default() {
        if let Some(values) = feature(&message)? {
            example.features.push((key, values));
        }
    }
    if let Some(lists) = lists {
        let lists = lists.into_iter().map(|(key, message)| {
            let mut steps = Vec::new();
            fields(&message, |number, step| {
                if number == 1 {
                    steps.push(feature(step)?);
                }
                Ok(())
            })?;
            Ok((key, steps))
        });
        example.feature_lists = Some(lists.collect::<Result<_, Fault>>()?);
    }
    Ok(example)
}

/// The keys of a map with their encoded values.
type Entries = Vec<(String, Vec<u8>)>;

/// The entries of the map in field `number` of a record, each key once: its last value. `None` if the
/// record does not have the field.
fn map_of(record: &[u8], number: u32) -> Result<Option<Entries>, Fault> {
    let mut entries: Option<Entries> = None;
    let mut places = HashMap::new();
    fields(record, |found, map| {
        if found != number {
            return Ok(());
        }
        let entries = entries.get_or_insert_default();
        fields(map, |found, entry| {
            if found != 1 {
                return Ok(());
            }
            // A value in several pieces is their bytes end to end.
            let (mut key, mut value) = (&[][..], Vec::new());
            fields(entry, |found, bytes| {
                match found {
                    1 => key = bytes,
                    2 => value.extend_from_slice(bytes),
                    _ => {}
                }
                Ok(())
            })?;
            let key = std::str::from_utf8(key);
            let key = key.map_err(|_| Fault::from(DecodeErrorKind::KeyNotText))?;
            match places.entry(key.to_owned()) {
                Entry::Occupied(place) => {
                    let place: &usize = place.get();
                    entries[*place].1 = value;
                }
                Entry::Vacant(place) => {
                    place.insert(entries.len());
                    entries.push((key.to_owned(), value));
                }
            }
            Ok(())
        })
    })?;
    Ok(entries)
}

/// The values of a `Feature`; `None` if it has no kind. Pieces of one kind are merged; of two kinds the
/// last one counts.
fn feature(message: &[u8]) -> Result<Option<FeatureValues>, Fault> {
    let mut found: Option<(Kind, Vec<u8>)> = None;
    fields(message, |number, piece| {
        let kind = match number {
            1 => Kind::Bytes,
            2 => Kind::Float,
            3 => Kind::Int64,
            _ => return Ok(()),
        };
        match &mut found {
            Some((of, list)) if *of == kind => list.extend_from_slice(piece),
            _ => found = Some((kind, piece.to_vec())),
        }
        Ok(())
    })?;
    let values = found.map(|(kind, message)| {
        let message = &message;
        values(&List { kind, message })
    });
    values.transpose()
}

fn values(list: &List<'_>) -> Result<FeatureValues, Fault> {
    Ok(match list.kind {
        Kind::Bytes => {
            let mut values = Vec::new();
            list.strings(|string| {
                values.push(string.to_vec());
                Ok(())
            })?;
            FeatureValues::Bytes(values)
        }
        Kind::Float => {
            let mut values = vec![0.0; list.len()?];
            list.fill_floats(&mut values, |value| value)?;
            FeatureValues::Float(values)
        }
        Kind::Int64 => {
            let mut values = vec![0; list.len()?];
            list.fill_ints(&mut values, Ok)?;
            FeatureValues::Int64(values)
        }
    })
}

/// Calls `each` with every field of a message that has a length: its number and its bytes.
fn fields<'a>(
    message: &'a [u8],
    mut each: impl FnMut(u32, &'a [u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut cursor = Cursor::new(message);
    while !cursor.is_empty() {
        match cursor.tag()? {
            (number, WireType::Delimited) => each(number, cursor.delimited()?)?,
            (number, wire_type) => cursor.skip(number, wire_type)?,
        }
    }
    Ok(())
}

fn encode_feature(values: &FeatureValues, out: &mut Vec<u8>) {
    let (mut list, mut packed) = (Vec::new(), Vec::new());
    let number = match values {
        FeatureValues::Bytes(values) => {
            values
                .iter()
                .for_each(|value| write_field(1, value, &mut list));
            1
        }
        FeatureValues::Float(values) => {
            packed.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            2
        }
        FeatureValues::Int64(values) => {
            values
                .iter()
                .for_each(|value| put_varint(&mut packed, *value as u64));
            3
        }
    };
    if !packed.is_empty() {
        write_field(1, &packed, &mut list);
    }
    write_field(number, &list, out);
}

/// Appends a field with a length.
fn write_field(number: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(out, number << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
