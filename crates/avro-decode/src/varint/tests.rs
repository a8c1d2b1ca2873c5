#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn long(bytes: &[u8]) -> Result<(i64, usize), DecodeErrorKind> {
    let mut position = 0;
    read_long(bytes, &mut position).map(|value| (value, position))
}

fn int(bytes: &[u8]) -> Result<(i32, usize), DecodeErrorKind> {
    let mut position = 0;
    read_int(bytes, &mut position).map(|value| (value, position))
}

#[test]
fn the_examples_of_the_specification() {
    for (value, bytes) in [
        (0, &[0x00][..]),
        (-1, &[0x01]),
        (1, &[0x02]),
        (-2, &[0x03]),
        (2, &[0x04]),
        (-64, &[0x7f]),
        (64, &[0x80, 0x01]),
    ] {
        let mut out = Vec::new();
        write_long(&mut out, value);
        assert_eq!(out, bytes);
        assert_eq!(long(bytes).unwrap(), (value, bytes.len()));
    }
}

#[test]
fn the_extremes() {
    let mut out = Vec::new();
    write_long(&mut out, i64::MIN);
    assert_eq!(out, [[0xff; 9].as_slice(), &[0x01]].concat());
    assert_eq!(long(&out).unwrap(), (i64::MIN, 10));
    assert_eq!(int(&[0xff, 0xff, 0xff, 0xff, 0x0f]).unwrap(), (i32::MIN, 5));
    assert_eq!(int(&[0xfe, 0xff, 0xff, 0xff, 0x0f]).unwrap(), (i32::MAX, 5));
}

#[test]
fn padded_encodings_are_read_up_to_the_type_s_length() {
    assert_eq!(long(&[0x82, 0x80, 0x00]).unwrap(), (1, 3));
    let mut padded = [0x80; 10];
    padded[9] = 0;
    assert_eq!(long(&padded).unwrap(), (0, 10));
    assert_eq!(int(&[0x82, 0x80, 0x80, 0x80, 0x00]).unwrap(), (1, 5));
    assert_eq!(
        int(&[0x82, 0x80, 0x80, 0x80, 0x80, 0x00]),
        Err(DecodeErrorKind::VarintTooLong)
    );
}

#[test]
fn too_long_too_many_bits_and_cut_off() {
    assert_eq!(long(&[0x80; 11]), Err(DecodeErrorKind::VarintTooLong));
    let mut bits_65 = [0xff; 10];
    bits_65[9] = 0x02;
    assert_eq!(long(&bits_65), Err(DecodeErrorKind::VarintOverflow));
    assert_eq!(long(&[0x80; 9]), Err(DecodeErrorKind::UnexpectedEnd));
    assert_eq!(long(&[]), Err(DecodeErrorKind::UnexpectedEnd));
    assert_eq!(
        int(&[0x80, 0x80, 0x80, 0x80, 0x10]),
        Err(DecodeErrorKind::IntOutOfRange(1 << 31))
    );
}

#[test]
fn an_error_leaves_the_position() {
    let mut position = 1;
    assert!(read_long(&[0x00, 0x80], &mut position).is_err());
    assert!(read_int(&[0x00, 0x80], &mut position).is_err());
    assert_eq!(position, 1);
}

proptest! {
    #[test]
    fn what_is_written_is_read(value: i64, shift in 0u32..64) {
        let value = value >> shift;
        let mut out = Vec::new();
        write_long(&mut out, value);
        prop_assert_eq!(long(&out).unwrap(), (value, out.len()));
    }
}
