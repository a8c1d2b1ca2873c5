//! Numbers as 11 digits of base 62, `0` to `9`, `A` to `Z`, `a` to `z`, as JSON numbers of 64 bits lose digits
//! in some programs. Versions 1 and 2 of states have 16 hexadecimal digits.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LEN: usize = 11;

pub(super) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
    let mut left = *number;
    let mut text = [0; LEN];
    for digit in text.iter_mut().rev() {
        *digit = DIGITS[(left % 62) as usize];
        left /= 62;
    }
    to.collect_str(&String::from_utf8_lossy(&text))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    if text.len() == LEN {
        let number = text.bytes().try_fold(0u64, |number, byte| {
            let digit = DIGITS.iter().position(|&digit| digit == byte)?;
            number.checked_mul(62)?.checked_add(digit as u64)
        });
        return number.ok_or_else(|| D::Error::custom(format!("'{text}' is no hash")));
    }
    u64::from_str_radix(&text, 16).map_err(D::Error::custom)
}
