//! CRC-64-AVRO, a Rabin fingerprint (Avro 1.12, "Schema Fingerprints").

/// The fingerprint of empty input, which is also the polynomial.
const EMPTY: u64 = 0xc15d_213a_a4d7_a795;

/// The change of a fingerprint by each byte.
const TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bits = byte as u64;
        let mut shifted = 0;
        while shifted < 8 {
            let polynomial = if bits & 1 == 1 { EMPTY } else { 0 };
            bits = (bits >> 1) ^ polynomial;
            shifted += 1;
        }
        table[byte] = bits;
        byte += 1;
    }
    table
};

pub(super) fn crc_64_avro(bytes: &[u8]) -> u64 {
    bytes.iter().fold(EMPTY, |fingerprint, &byte| {
        (fingerprint >> 8) ^ TABLE[usize::from(fingerprint as u8 ^ byte)]
    })
}
