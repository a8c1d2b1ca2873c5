//! Encodes `tf.train.Example`.

use std::fmt;

use crate::decode::Kind;

/// An `Example` that is encoded key by key.
///
/// Keys keep the order in which they are added. A key that is added twice is in the message twice, and
/// readers take the last one.
///
/// ```
/// use atds_tfrecord::{ExampleEncoder, Writer};
///
/// let mut example = ExampleEncoder::new();
/// example.int64_list("age", [7]);
/// example.float_list("scores", [0.5, 0.25]);
/// example.bytes_list("name", [b"Ada"]);
/// let mut writer = Writer::new(Vec::new());
/// writer.write(&example.take())?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct ExampleEncoder {
    /// The `Features` message so far.
    features: Vec<u8>,
    /// The values of the key that is added. Kept to reuse its memory.
    values: Vec<u8>,
}

// Tags of fields: the field's number and wire type (`example.proto`, `feature.proto`).
const EXAMPLE_FEATURES: u8 = 1 << 3 | DELIMITED;
const FEATURES_ENTRY: u8 = 1 << 3 | DELIMITED;
const ENTRY_KEY: u8 = 1 << 3 | DELIMITED;
const ENTRY_VALUE: u8 = 2 << 3 | DELIMITED;
const LIST_VALUE: u8 = 1 << 3 | DELIMITED;
const DELIMITED: u8 = 2;

impl ExampleEncoder {
    /// An `Example` without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key with an `Int64List`.
    pub fn int64_list(&mut self, key: &str, values: impl IntoIterator<Item = i64>) {
        self.values.clear();
        for value in values {
            put_varint(&mut self.values, value as u64);
        }
        self.put_packed(key, Kind::Int64);
    }

    /// Adds a key with a `FloatList`.
    pub fn float_list(&mut self, key: &str, values: impl IntoIterator<Item = f32>) {
        self.values.clear();
        for value in values {
            self.values.extend(value.to_le_bytes());
        }
        self.put_packed(key, Kind::Float);
    }

    /// Adds a key with a `BytesList`.
    pub fn bytes_list<B: AsRef<[u8]>>(&mut self, key: &str, values: impl IntoIterator<Item = B>) {
        self.values.clear();
        for value in values {
            put_field(&mut self.values, LIST_VALUE, value.as_ref().len());
            self.values.extend_from_slice(value.as_ref());
        }
        self.put_entry(key, Some((Kind::Bytes, None)));
    }

    /// Adds a key of no kind and without values, which readers take for a missing key.
    pub fn no_values(&mut self, key: &str) {
        self.values.clear();
        self.put_entry(key, None);
    }

    /// The message. The encoder is then empty.
    pub fn take(&mut self) -> Vec<u8> {
        let mut message = Vec::new();
        self.take_into(&mut message);
        message
    }

    /// Appends the message to `out`. The encoder is then empty.
    pub fn take_into(&mut self, out: &mut Vec<u8>) {
        put_field(out, EXAMPLE_FEATURES, self.features.len());
        out.append(&mut self.features);
    }

    /// Adds a key with `values`, of numbers end to end.
    fn put_packed(&mut self, key: &str, kind: Kind) {
        let packed = (!self.values.is_empty()).then_some(LIST_VALUE);
        self.put_entry(key, Some((kind, packed)));
    }

    /// Adds a key with `values`, in a list of a kind and in the list's field `packed`.
    fn put_entry(&mut self, key: &str, list: Option<(Kind, Option<u8>)>) {
        let values = self.values.len();
        let (tag, packed) = list.unzip();
        let packed = packed.flatten();
        let list = values + packed.map_or(0, |_| field_len(values));
        let feature = list + tag.map_or(0, |_| field_len(list));
        let entry = field_len(key.len()) + key.len() + field_len(feature) + feature;
        let out = &mut self.features;
        put_field(out, FEATURES_ENTRY, entry);
        put_field(out, ENTRY_KEY, key.len());
        out.extend_from_slice(key.as_bytes());
        put_field(out, ENTRY_VALUE, feature);
        if let Some(kind) = tag {
            put_field(out, list_tag(kind), list);
        }
        if let Some(tag) = packed {
            put_field(out, tag, values);
        }
        out.extend_from_slice(&self.values);
    }
}

impl fmt::Debug for ExampleEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExampleEncoder")
            .field("bytes", &self.features.len())
            .finish_non_exhaustive()
    }
}

/// The tag of a feature's list.
fn list_tag(kind: Kind) -> u8 {
    let field = match kind {
        Kind::Bytes => 1,
        Kind::Float => 2,
        Kind::Int64 => 3,
    };
    field << 3 | DELIMITED
}

/// Appends the head of a field of `len` bytes.
fn put_field(out: &mut Vec<u8>, tag: u8, len: usize) {
    out.push(tag);
    put_varint(out, len as u64);
}

/// Number of bytes of the head of a field of `len` bytes.
fn field_len(len: usize) -> usize {
    let bits = (usize::BITS - len.leading_zeros()).max(1);
    1 + bits.div_ceil(7) as usize
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
