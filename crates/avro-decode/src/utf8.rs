//! Checking text.

/// Bytes from which on the vectorised check is one; below, it takes a byte at a
/// time.
const BLOCK: usize = 64;

/// Whether `bytes` are UTF-8.
#[inline]
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    if bytes.len() >= BLOCK {
        return simdutf8::basic::from_utf8(bytes).is_ok();
    }
    bytes.is_ascii() || is_short_utf8(bytes)
}

/// Most strings are short: as a whole block, with zeros behind.
fn is_short_utf8(bytes: &[u8]) -> bool {
    let mut block = [0; BLOCK];
    block[..bytes.len()].copy_from_slice(bytes);
    simdutf8::basic::from_utf8(&block).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that two bytes can be, wherever they stand: a character must not end
    /// in the zeros behind.
    #[test]
    fn short_bytes_are_checked_as_the_standard_library_does() {
        for len in 0..BLOCK {
            for (first, second) in
                (0..=255u8).flat_map(|a| [0x20, 0x80, 0xbf, 0xc3].map(|b| (a, b)))
            {
                let mut bytes = vec![b'a'; len];
                for place in [0, len / 2] {
                    bytes
                        .iter_mut()
                        .skip(place)
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
