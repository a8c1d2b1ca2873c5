//! Reading runs of strings.

use tensor_batch::{SHORT_STRING, Strings};

use super::cursor::Cursor;
use crate::utf8;

/// Reads `n` strings, or bytes if they need not be `utf8`, behind those of `strings`;
/// whether all of them were there and good. If not, what was read is unspecified.
#[inline]
pub(super) fn read_strings(
    cursor: &mut Cursor<'_>,
    strings: &mut Strings,
    n: usize,
    utf8: bool,
) -> bool {
    let first = strings.len();
    let mut ascii = true;
    for _ in 0..n {
        let Ok(length) = cursor.length() else {
            return false;
        };
        let data = cursor.rest();
        match data.first_chunk() {
            Some(window) if length <= SHORT_STRING => {
                ascii &= is_ascii(window, length);
                strings.push_short(window, length);
            }
            _ => {
                ascii = false;
                strings.push(&data[..length]);
            }
        }
        cursor.advance(length);
    }
    !utf8 || ascii || is_utf8_from(strings, first)
}

/// Whether the first `length` bytes are ASCII.
#[inline]
fn is_ascii(window: &[u8; SHORT_STRING], length: usize) -> bool {
    const HIGH_BITS: u128 = u128::from_ne_bytes([0x80; SHORT_STRING]);
    let others = u128::from_le_bytes(*window) & HIGH_BITS;
    others.trailing_zeros() as usize / 8 >= length
}

/// Whether the strings from `first` on are UTF-8: all are checked in one go,
/// and that none of them begins within a character.
#[inline(never)] // Most are short and ASCII.
fn is_utf8_from(strings: &Strings, first: usize) -> bool {
    let starts = &strings.offsets()[first..];
    let data = &strings.data()[starts[0] as usize..];
    let begins_within = |start: &i64| {
        let byte = strings.data().get(*start as usize);
        byte.is_some_and(|byte| byte & 0xc0 == 0x80)
    };
    utf8::is_utf8(data) && !starts.iter().any(begins_within)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encode::write_long;

    proptest! {
        /// As one string after the other is read, and checked by the standard library.
        #[test]
        fn strings_are_read_as_one_by_one(
            all in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(0x20u8..0x7f, 0..40),
                    prop::collection::vec(any::<u8>(), 0..20),
                    "\\PC{0,12}".prop_map(String::into_bytes),
                ],
                0..6,
            ),
            behind in 0usize..20,
            utf8 in any::<bool>(),
        ) {
            let mut data = Vec::new();
            for string in &all {
                write_long(&mut data, string.len() as i64);
                data.extend(string);
            }
            let end = data.len();
            data.extend(std::iter::repeat_n(0xff, behind));
            let mut strings = Strings::new();
            strings.push(b"before");
            let mut cursor = Cursor::new(&data, 0);
            let is_good = read_strings(&mut cursor, &mut strings, all.len(), utf8);
            let expected = !utf8 || all.iter().all(|string| std::str::from_utf8(string).is_ok());
            prop_assert_eq!(is_good, expected);
            prop_assert_eq!(cursor.position(), end);
            let read: Vec<_> = strings.iter().skip(1).collect();
            prop_assert_eq!(read, all);
        }

        /// Where a string is not all there, that is found.
        #[test]
        fn a_string_that_is_cut_short_is_found(length in 1usize..40, cut in 1usize..40) {
            let mut data = Vec::new();
            write_long(&mut data, length as i64);
            data.extend(std::iter::repeat_n(b'a', length.saturating_sub(cut)));
            let mut cursor = Cursor::new(&data, 0);
            prop_assert!(!read_strings(&mut cursor, &mut Strings::new(), 1, true));
        }
    }
}
