//! Checks text for UTF-8.

use std::borrow::Cow;
use std::cell::Cell;

/// How to treat text that is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Utf8 {
    /// Invalid UTF-8 is an error.
    Checked,
    /// Invalid UTF-8 is replaced by U+FFFD.
    Replaced,
    /// The text is not checked.
    Any,
}

impl Utf8 {
    #[inline]
    pub(crate) fn is_checked(self) -> bool {
        self != Utf8::Any
    }
}

thread_local! {
    /// Number of texts that this thread has replaced.
    static REPLACED: Cell<u64> = const { Cell::new(0) };
}

/// Number of texts that this thread has read in which invalid UTF-8 was replaced.
pub fn replaced_texts() -> u64 {
    REPLACED.get()
}

/// The text with U+FFFD for invalid UTF-8; counts texts that change.
#[cold]
pub(crate) fn replace(bytes: &[u8]) -> Cow<'_, str> {
    REPLACED.set(REPLACED.get() + 1);
    String::from_utf8_lossy(bytes)
}

/// Minimum length for the vectorised check; shorter texts are checked byte by byte.
const BLOCK: usize = 64;

/// Upper bound on most strings' size in bytes, with their length.
const WINDOW: usize = 32;

/// Whether the first `len` bytes are UTF-8. This is faster if `bytes` has at least 32 bytes.
#[inline]
pub(crate) fn starts_with_utf8(bytes: &[u8], len: usize) -> bool {
    starts_with_ascii(bytes, len) || is_utf8(&bytes[..len])
}

/// Whether a quick check finds the first `len` bytes to be ASCII. It can only succeed if `bytes`
/// has at least 32 bytes and `len` is at most 32.
#[inline]
pub(crate) fn starts_with_ascii(bytes: &[u8], len: usize) -> bool {
    bytes
        .first_chunk()
        .is_some_and(|window| ascii_len(window) >= len)
}

/// Number of ASCII bytes at the start of the window.
#[inline]
fn ascii_len(window: &[u8; WINDOW]) -> usize {
    const HIGH_BITS: u128 = u128::from_ne_bytes([0x80; WINDOW / 2]);
    let (halves, _) = window.as_chunks();
    let [low, high] = [halves[0], halves[1]].map(|half| u128::from_le_bytes(half) & HIGH_BITS);
    let others = match low {
        0 => u128::BITS + high.trailing_zeros(),
        _ => low.trailing_zeros(),
    };
    others as usize / 8
}

/// Whether `bytes` are UTF-8.
#[inline]
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    if bytes.len() >= BLOCK {
        return simdutf8::basic::from_utf8(bytes).is_ok();
    }
    bytes.is_ascii() || is_short_utf8(bytes)
}

/// Checks a short string as a whole block, padded with zeros.
fn is_short_utf8(bytes: &[u8]) -> bool {
    let mut block = [0; BLOCK];
    block[..bytes.len()].copy_from_slice(bytes);
    simdutf8::basic::from_utf8(&block).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_ascii_is_found() {
        for len in 0..=WINDOW {
            for (byte, is_ascii) in [(0x7f, true), (0x80, false), (0xff, false)] {
                let mut bytes = [b'a'; WINDOW + 1];
                bytes[len] = byte;
                let window = bytes.first_chunk().expect("as many bytes");
                let ascii = if is_ascii { WINDOW } else { len };
                assert_eq!(ascii_len(window), ascii);
            }
        }
    }

    #[test]
    fn bytes_that_follow_do_not_count() {
        let text = "Ωmega, ein Wort und noch eines, und mehr als hundert Bytes, wenn man alle zählt, die hier stehen";
        for start in [0, 2] {
            let text = &text.as_bytes()[start..];
            for len in 0..=text.len() {
                for behind in [&b""[..], b"\xff", &[0x80; 2 * BLOCK]] {
                    let bytes = [&text[..len], behind].concat();
                    let expected = std::str::from_utf8(&text[..len]).is_ok();
                    assert_eq!(starts_with_utf8(&bytes, len), expected, "{len} bytes");
                }
            }
        }
    }

    /// Every pair of bytes at every position. A character must not end in the zeros after it.
    #[test]
    fn short_bytes_are_checked_as_the_standard_library_does() {
        for len in 0..BLOCK {
            for (first, second) in
                (0..=255u8).flat_map(|a| [0x20, 0x80, 0xbf, 0xc3].map(|b| (a, b)))
            {
                let mut bytes = vec![b'a'; len];
                for start in [0, len / 2] {
                    bytes
                        .iter_mut()
                        .skip(start)
                        .zip([first, second])
                        .for_each(|(to, byte)| *to = byte);
                }
                let mut at_end = bytes.clone();
                at_end
                    .iter_mut()
                    .rev()
                    .zip([second, first])
                    .for_each(|(to, byte)| *to = byte);
                for bytes in [bytes, at_end] {
                    assert_eq!(
                        is_utf8(&bytes),
                        std::str::from_utf8(&bytes).is_ok(),
                        "{bytes:x?}"
                    );
                }
            }
        }
    }
}
