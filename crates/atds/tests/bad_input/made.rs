//! Unusual bytes, made by hand.

use atds::Codec;
use avro_decode::encode::write_long;

use crate::common::{SCHEMA, container};

/// A varint of eleven bytes.
pub(crate) const OVERLONG: [u8; 11] = [0x80; 11];

/// A varint of ten bytes and more than 64 bits.
pub(crate) const OVERFLOW: [u8; 10] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];

/// Varints, end to end.
pub(crate) fn longs(values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    values.iter().for_each(|&value| write_long(&mut out, value));
    out
}

// The indices of [`fields`].
pub(crate) const ID: usize = 0;
pub(crate) const SKIPPED: usize = 1;
pub(crate) const PAIR: usize = 2;
pub(crate) const TEXT: usize = 3;
pub(crate) const LIST: usize = 4;
pub(crate) const INDICES: usize = 5;
pub(crate) const VALUES: usize = 6;

/// A valid record of [`SCHEMA`] in sixteen bytes, field by field.
pub(crate) fn fields() -> [Vec<u8>; 7] {
    let pair = [&[4][..], &[0; 8], &[0]].concat();
    [vec![0], vec![0], pair, vec![0], vec![0], vec![0], vec![0]]
}

/// A file of two records; in the second, `bytes` replace a field.
pub(crate) fn with_field(codec: Codec, field: usize, bytes: &[u8]) -> Vec<u8> {
    let mut record = fields();
    record[field] = bytes.to_vec();
    let payload = [fields().concat(), record.concat()].concat();
    container(SCHEMA, codec, [(2, payload)])
}

/// The schema of a record with one field, `f`.
pub(crate) fn field_schema(ty: &str) -> String {
    format!(r#"{{"type": "record", "name": "R", "fields": [{{"name": "f", "type": {ty}}}]}}"#)
}
