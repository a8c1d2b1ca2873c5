//! Compares the fast reading of varints with the readable one, at every distance from the end.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::Cursor;
use crate::DecodeErrorKind as Kind;
use crate::varint::{read_int, read_long, write_long};

/// Numbers of bytes after a varint. With few bytes it is read byte by byte, otherwise as a word.
const DISTANCES: std::ops::Range<usize> = 0..12;

/// Reads in both ways. On an error, the fast one must not move.
fn check_long(data: &[u8], start: usize) {
    let mut position = start;
    let expected = read_long(data, &mut position);
    let mut cursor = Cursor::new(data, start);
    let actual = cursor.long().map_err(|kind| *kind);
    assert_eq!(actual, expected, "{data:x?}");
    assert_eq!(cursor.position(), position, "{data:x?}");
}

fn check_int(data: &[u8], start: usize) {
    let mut position = start;
    let expected = read_int(data, &mut position);
    let mut cursor = Cursor::new(data, start);
    let actual = cursor.int();
    // If a varint is wrong in two ways, either error may be reported.
    assert_eq!(actual.ok(), expected.ok(), "{data:x?}");
    assert_eq!(cursor.position(), position, "{data:x?}");
}

/// Checks `varint` with any number of bytes around it.
fn check_around(varint: &[u8]) {
    for before in [0, 1, 7] {
        for after in DISTANCES {
            for filling in [0x00, 0x7f, 0x80, 0xff] {
                let mut data = vec![filling; before];
                data.extend_from_slice(varint);
                data.resize(data.len() + after, filling);
                check_long(&data, before);
                check_int(&data, before);
            }
        }
    }
}

#[test]
fn every_length_up_to_ten_bytes() {
    for bits in 0..64 {
        let power = 1i64 << bits;
        for value in [power, power.wrapping_sub(1), power.wrapping_neg(), !power] {
            let mut varint = Vec::new();
            write_long(&mut varint, value);
            check_around(&varint);
            assert_eq!(Cursor::new(&varint, 0).long().unwrap(), value);
        }
    }
}

#[test]
fn padded_varints_of_every_length() {
    for len in 1..=10 {
        let mut varint = vec![0x80; len];
        varint[0] |= 0x02;
        varint[len - 1] &= 0x7f;
        check_around(&varint);
        assert_eq!(Cursor::new(&varint, 0).long().unwrap(), 1);
    }
}

#[test]
fn too_long_and_too_large() {
    let nine = [0xff; 9];
    let with_tenth = |byte| [&nine[..], &[byte]].concat();
    let refused = |data: &[u8]| *Cursor::new(data, 0).long().unwrap_err();

    assert_eq!(Cursor::new(&with_tenth(1), 0).long().unwrap(), i64::MIN);
    for tenth in [0x02, 0x03, 0x7f] {
        check_around(&with_tenth(tenth));
        assert_eq!(refused(&with_tenth(tenth)), Kind::VarintOverflow);
    }
    for tenth in [0x80, 0x81, 0xff] {
        check_around(&with_tenth(tenth));
        assert_eq!(refused(&with_tenth(tenth)), Kind::VarintTooLong);
    }
    for len in 0..10 {
        assert_eq!(refused(&vec![0x80; len]), Kind::UnexpectedEnd);
    }
}

#[test]
fn ints_take_five_bytes_and_32_bits() {
    let refused = |data: &[u8]| *Cursor::new(data, 0).int().unwrap_err();
    assert_eq!(
        refused(&[0x82, 0x80, 0x80, 0x80, 0x80, 0]),
        Kind::VarintTooLong
    );
    for value in [i64::from(i32::MAX) + 1, i64::from(i32::MIN) - 1] {
        let mut data = Vec::new();
        write_long(&mut data, value);
        assert_eq!(refused(&data), Kind::IntOutOfRange(value));
    }
}

#[test]
fn skipping_counts_ends_of_varints() {
    // The length of each varint depends on its index, so that varints cross words at every offset.
    let lens = (0..40).map(|i| 1 + i * 7 % 10);
    let mut data = Vec::new();
    let mut ends = vec![0];
    for len in lens {
        data.extend(vec![0x80; len - 1]);
        data.push(0x01);
        ends.push(data.len());
    }
    for (first, &start) in ends.iter().enumerate() {
        for n in 0..ends.len() - first {
            let end = ends[first + n];
            // The data after the run must not matter.
            for data in [&data[..end], &data] {
                let mut cursor = Cursor::new(data, start);
                cursor.skip_varints(n).unwrap();
                assert_eq!(cursor.position(), end, "{n} from {start}");
            }
            if n > 0 {
                let mut cursor = Cursor::new(&data[..end - 1], start);
                assert_eq!(*cursor.skip_varints(n).unwrap_err(), Kind::UnexpectedEnd);
                assert_eq!(cursor.position(), start);
            }
        }
    }
}

#[test]
fn lengths_are_within_the_data() {
    assert_eq!(Cursor::new(&[4, 0, 0], 0).length().unwrap(), 2);
    let refused = |data: &[u8]| {
        let mut cursor = Cursor::new(data, 0);
        let kind = *cursor.length().unwrap_err();
        assert_eq!(cursor.position(), 0);
        kind
    };
    let kind = Kind::LengthBeyondEnd {
        length: 3,
        remaining: 2,
    };
    assert_eq!(refused(&[6, 0, 0]), kind);
    assert_eq!(refused(&[3, 0, 0]), Kind::NegativeLength(-2));
}

proptest! {
    #[test]
    fn any_bytes(data in prop::collection::vec(any::<u8>(), 0..24), start in 0..8usize) {
        let start = start.min(data.len());
        check_long(&data, start);
        check_int(&data, start);
    }

    #[test]
    fn mostly_continued_bytes(
        data in prop::collection::vec(prop_oneof![3 => 0x80..=0xffu8, 1 => any::<u8>()], 0..24),
    ) {
        check_long(&data, 0);
        check_int(&data, 0);
    }
}
