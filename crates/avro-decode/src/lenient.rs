//! Options for decoding invalid data.

use crate::limits::MAX_DECODE_DEPTH;

/// Options for decoding values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Whether invalid UTF-8 in a text is replaced by U+FFFD, as in [`String::from_utf8_lossy`]; an
    /// error by default. If set, filters and the ids of texts use the text as it is, unchecked.
    pub replace_invalid_utf8: bool,
    /// Maximum nesting of records, arrays, maps and unions in a value: [`MAX_DECODE_DEPTH`] by
    /// default. Values above [`DEEPEST`](crate::limits::DEEPEST) count as `DEEPEST`, because
    /// decoders recurse.
    pub max_depth: usize,
    /// Whether bytes after a record that is decoded alone are ignored
    /// ([`Plan::execute_each`](crate::Plan::execute_each)); an error by default.
    pub leave_trailing_bytes: bool,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        DecodeOptions {
            replace_invalid_utf8: false,
            max_depth: MAX_DECODE_DEPTH,
            leave_trailing_bytes: false,
        }
    }
}
