//! Avro's `long`: zig-zag, then seven bits a byte, the lowest first.

/// Maximum number of bytes of a 64-bit varint.
pub(crate) const MAX_LEN: usize = 10;

/// The result of decoding the front of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Varint {
    /// A whole value, and its length in bytes.
    Value(i64, usize),
    /// The slice ends before the value does.
    Incomplete,
    /// More than ten bytes, or more than 64 bits.
    Overlong,
}

/// Decodes the value at the front of `bytes`.
pub(crate) fn decode(bytes: &[u8]) -> Varint {
    let mut raw = 0u64;
    for (i, &byte) in bytes.iter().take(MAX_LEN).enumerate() {
        // The tenth byte may hold one bit only.
        if i == MAX_LEN - 1 && byte > 1 {
            return Varint::Overlong;
        }
        raw |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            let value = (raw >> 1) as i64 ^ -((raw & 1) as i64);
            return Varint::Value(value, i + 1);
        }
    }
    Varint::Incomplete
}

/// Appends `value` in its shortest form.
pub(crate) fn encode(value: i64, out: &mut Vec<u8>) {
    let mut raw = ((value << 1) ^ (value >> 63)) as u64;
    while raw >= 0x80 {
        out.push(raw as u8 | 0x80);
        raw >>= 7;
    }
    out.push(raw as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_round_trip() {
        for value in [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            encode(value, &mut bytes);
            assert_eq!(decode(&bytes), Varint::Value(value, bytes.len()), "{value}");
            let cut = &bytes[..bytes.len() - 1];
            assert_eq!(decode(cut), Varint::Incomplete, "{value} cut short");
        }
    }

    #[test]
    fn the_examples_of_the_specification_hold() {
        for (value, hex) in [
            (0, &[0x00][..]),
            (-1, &[0x01]),
            (1, &[0x02]),
            (-2, &[0x03]),
            (-64, &[0x7f]),
            (64, &[0x80, 0x01]),
        ] {
            assert_eq!(decode(hex), Varint::Value(value, hex.len()));
        }
    }

    #[test]
    fn longer_forms_of_a_small_value_are_read() {
        assert_eq!(decode(&[0x82, 0x80, 0x00]), Varint::Value(1, 3));
    }

    #[test]
    fn what_does_not_fit_64_bits_is_overlong() {
        let mut bytes = [0xff; 10];
        bytes[9] = 2;
        assert_eq!(decode(&bytes), Varint::Overlong);
        assert_eq!(decode(&[0x80; 11]), Varint::Overlong);
        assert_eq!(decode(&[0x80; 9]), Varint::Incomplete);
    }
}
