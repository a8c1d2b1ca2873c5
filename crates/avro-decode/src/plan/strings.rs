//! Reads runs of strings.

use tensor_batch::{SHORT_STRING, Strings};

use super::cursor::Cursor;
use crate::utf8;

/// Appends `n` strings to `strings`, or bytes if `utf8` is false; returns whether all of them exist
/// and are valid, and have `most` bytes at most with those before. If not, the appended strings are
/// unspecified.
///
/// Many strings are checked in one pass over the data, lengths included. A length of one byte is an
/// ASCII character, so no other character can extend across it.
#[inline]
pub(super) fn read_strings(
    cursor: &mut Cursor<'_>,
    strings: &mut Strings,
    n: usize,
    utf8: bool,
    most: usize,
) -> bool {
    if n == 1 && read_short(cursor, strings, utf8) {
        return true;
    }
    let mut unchecked = cursor.position();
    for _ in 0..n {
        let start = cursor.position();
        let Ok(length) = cursor.length() else {
            return false;
        };
        let (string, end) = (cursor.position(), cursor.position() + length);
        if utf8 && string - start > 1 {
            let data = cursor.data();
            if !utf8::is_utf8(&data[unchecked..start]) || !utf8::is_utf8(&data[string..end]) {
                return false;
            }
            unchecked = end;
        }
        if strings.data().len() + length > most {
            return false;
        }
        let data = cursor.rest();
        match data.first_chunk() {
            Some(window) if length <= SHORT_STRING => strings.push_short(window, length),
            _ => strings.push(&data[..length]),
        }
        cursor.advance(length);
    }
    let all = cursor.position() - unchecked;
    !utf8 || utf8::starts_with_utf8(&cursor.data()[unchecked..], all)
}

/// Reads a string if it is a common one: its length and its bytes are in the next 32 bytes, and it
/// is ASCII if `utf8` is set. Returns whether it was.
#[inline]
fn read_short(cursor: &mut Cursor<'_>, strings: &mut Strings, utf8: bool) -> bool {
    let Some((window, _)) = cursor.rest().split_first_chunk::<{ SHORT_STRING + 1 }>() else {
        return false;
    };
    let (&header, string) = (&window[0], window.last_chunk().expect("all but a byte"));
    let length = usize::from(header / 2);
    let is_short = header & 0x81 == 0 && length < SHORT_STRING;
    if !is_short || utf8 && !utf8::starts_with_ascii(window, 1 + length) {
        return false;
    }
    strings.push_short(string, length);
    cursor.advance(1 + length);
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encode::write_long;

    proptest! {
        /// Runs of strings give the same result as strings read one by one and checked by the standard
        /// library.
        #[test]
        fn strings_are_read_as_one_by_one(
            all in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(0x20u8..0x7f, 0..100),
                    prop::collection::vec(any::<u8>(), 0..20),
                    "\\PC{0,30}".prop_map(String::into_bytes),
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
            let is_good = read_strings(&mut cursor, &mut strings, all.len(), utf8, usize::MAX);
            let expected = !utf8 || all.iter().all(|string| std::str::from_utf8(string).is_ok());
            prop_assert_eq!(is_good, expected);
            if is_good {
                prop_assert_eq!(cursor.position(), end);
                let read: Vec<_> = strings.iter().skip(1).collect();
                prop_assert_eq!(read, all);
            }
        }

        /// A truncated character at the end of a string is found, even if the bytes of the next length
        /// would complete it.
        #[test]
        fn a_length_is_no_end_of_a_character(
            cut in prop::sample::select(vec![&b"\xc3"[..], b"\xe8\xaa", b"\xf0\x9f\xa6"]),
            behind in prop_oneof!["[a-z]{0,70}", "\\PC{0,30}"],
            long_form in any::<bool>(),
        ) {
            let mut data = Vec::new();
            write_long(&mut data, cut.len() as i64);
            data.extend(cut);
            write_long(&mut data, behind.len() as i64);
            if long_form && let Some(last) = data.last_mut() {
                *last |= 0x80;
                data.push(0);
            }
            data.extend(behind.as_bytes());
            let read = |n: usize, start: usize, utf8: bool| {
                let mut cursor = Cursor::new(&data, start);
                read_strings(&mut cursor, &mut Strings::new(), n, utf8, usize::MAX)
            };
            prop_assert!(!read(2, 0, true));
            prop_assert!(read(2, 0, false));
            prop_assert!(read(1, 1 + cut.len(), true));
        }

        /// A bad byte is found at each position of a string, with any data after the string.
        #[test]
        fn one_string_is_read_whatever_follows(
            length in 0usize..40,
            bad in prop::option::of((any::<prop::sample::Index>(), 0x80u8..)),
            behind in prop::collection::vec(any::<u8>(), 0..80),
            utf8 in any::<bool>(),
        ) {
            let mut string = vec![b'a'; length];
            if let Some((position, byte)) = bad && length > 0 {
                string[position.index(length)] = byte;
            }
            let mut data = Vec::new();
            write_long(&mut data, length as i64);
            data.extend(&string);
            let end = data.len();
            data.extend(&behind);
            let mut strings = Strings::new();
            let mut cursor = Cursor::new(&data, 0);
            let is_good = read_strings(&mut cursor, &mut strings, 1, utf8, usize::MAX);
            prop_assert_eq!(is_good, !utf8 || std::str::from_utf8(&string).is_ok());
            if is_good {
                prop_assert_eq!(cursor.position(), end);
                prop_assert_eq!(strings.get(0), Some(&string[..]));
            }
        }

        /// A string that is cut short is found.
        #[test]
        fn a_string_that_is_cut_short_is_found(length in 1usize..40, cut in 1usize..40) {
            let mut data = Vec::new();
            write_long(&mut data, length as i64);
            data.extend(std::iter::repeat_n(b'a', length.saturating_sub(cut)));
            let mut cursor = Cursor::new(&data, 0);
            prop_assert!(!read_strings(&mut cursor, &mut Strings::new(), 1, true, usize::MAX));
        }
    }
}
