//! The masked CRC-32C of TFRecord.

/// Added to the rotated checksum, so that the checksum of bytes that hold a checksum is none that
/// is likely to fit.
const MASK_DELTA: u32 = 0xa282_ead8;

/// The masked CRC-32C (Castagnoli) of `bytes`, as TFRecord stores it: rotated right by 15 bits, plus
/// a constant.
///
/// ```
/// assert_eq!(atds_tfrecord::masked_crc(b""), 0xa282_ead8);
/// ```
#[inline]
pub fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
        .rotate_right(15)
        .wrapping_add(MASK_DELTA)
}
