//! Choices about bytes that are read.

use crate::limits::MAX_DECODE_DEPTH;

/// Choices about the values that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Whether U+FFFD stands for what is not UTF-8 in a text, as in
    /// [`String::from_utf8_lossy`]; an error by default. Filters and the ids of texts do not check
    /// texts then, and take them as they are.
    pub replace_invalid_utf8: bool,
    /// Records, arrays, maps and unions that may be open at once in a value:
    /// [`MAX_DECODE_DEPTH`] by default. At most [`DEEPEST`](crate::limits::DEEPEST) count: readers
    /// recurse.
    pub max_depth: usize,
    /// Whether bytes are left where a record stands for itself and does not end with them
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
