//! Wrong and missing checksums, and payloads of another format.
// The tests give payloads of one codec to others.
#![cfg(all(
    feature = "deflate",
    feature = "snappy",
    feature = "zstandard",
    feature = "bzip2",
    feature = "xz"
))]
#![allow(clippy::unwrap_used)]

use atds_codec::{
    Codec, CompressedFormat, Compressor, DecompressBuffer, DecompressError, DecompressJob,
    Decompressor,
};

fn compress(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut compressor = Compressor::new(codec, None).unwrap();
    compressor.compress(bytes, &mut payload).unwrap();
    payload
}

fn sample() -> Vec<u8> {
    (0..3000u32).map(|i| (i * i % 61) as u8).collect()
}

/// The decompressed payload, and the number of wrong checksums that were ignored.
fn decompress(
    codec: Codec,
    payload: &[u8],
    tolerates: bool,
) -> (Result<Vec<u8>, DecompressError>, u64) {
    let mut decompressor = Decompressor::new();
    decompressor.set_tolerates_checksums(tolerates);
    let mut out = DecompressBuffer::new();
    let result = decompressor.decompress(codec, payload, &mut out, 1 << 20);
    let result = result.map(|()| out.to_vec());
    let mut one_of_many = DecompressBuffer::new();
    let mut jobs = [DecompressJob::new(payload, &mut one_of_many, 1 << 20)];
    decompressor.decompress_many(codec, &mut jobs);
    assert_eq!(jobs[0].result.is_ok(), result.is_ok());
    (result, decompressor.bad_checksums() / 2)
}

/// A zstandard frame with its checksum.
fn zstandard_with_checksum(bytes: &[u8]) -> Vec<u8> {
    use zstd::zstd_safe::{CCtx, CParameter, compress_bound};
    let mut context = CCtx::create();
    context
        .set_parameter(CParameter::ChecksumFlag(true))
        .unwrap();
    let mut frame = Vec::with_capacity(compress_bound(bytes.len()));
    context.compress2(&mut frame, bytes).unwrap();
    frame
}

#[test]
fn a_snappy_payload_without_its_checksum() {
    let mut payload = compress(Codec::Snappy, &sample());
    payload.truncate(payload.len() - 4);
    let (result, bad) = decompress(Codec::Snappy, &payload, false);
    let error = result.unwrap_err();
    assert_eq!((&error, bad), (&DecompressError::MissingChecksum, 0));
    assert!(
        error.to_string().contains("`tolerate` 'checksum'"),
        "{error}"
    );
    assert_eq!(decompress(Codec::Snappy, &payload, true), (Ok(sample()), 1));
    // An empty payload without its checksum.
    let payload = &compress(Codec::Snappy, &[])[..1];
    assert_eq!(decompress(Codec::Snappy, payload, true), (Ok(vec![]), 1));
    // A payload that is cut elsewhere.
    let payload = compress(Codec::Snappy, &sample());
    let (result, bad) = decompress(Codec::Snappy, &payload[..payload.len() - 9], true);
    assert!(
        matches!(result, Err(DecompressError::Corrupt { .. })),
        "{result:?}"
    );
    assert_eq!(bad, 0);
}

#[test]
fn a_wrong_checksum() {
    // The last byte of each payload belongs to a checksum. In xz, the block's checksum is before
    // the index.
    let xz = {
        let mut payload = compress(Codec::Xz, &sample());
        // The footer has the length of the index, in units of four bytes, minus one.
        let footer = payload.len() - 12;
        let units = u32::from_le_bytes(*payload[footer + 4..].first_chunk().unwrap());
        let index = footer - (units as usize + 1) * 4;
        payload[index - 1] ^= 1;
        payload
    };
    let [snappy, zstandard] = [
        compress(Codec::Snappy, &sample()),
        zstandard_with_checksum(&sample()),
    ]
    .map(|mut payload| {
        *payload.last_mut().unwrap() ^= 1;
        payload
    });
    let frames = [
        zstandard_with_checksum(b"first "),
        zstandard.clone(),
        compress(Codec::Zstandard, b" last"),
    ]
    .concat();
    let in_frames = [b"first ", &sample()[..], b" last"].concat();
    for (codec, payload, bytes) in [
        (Codec::Snappy, snappy, sample()),
        (Codec::Zstandard, zstandard, sample()),
        (Codec::Zstandard, frames, in_frames),
        (Codec::Xz, xz, sample()),
    ] {
        let (result, bad) = decompress(codec, &payload, false);
        let error = result.unwrap_err();
        assert_eq!(bad, 0);
        match codec {
            Codec::Snappy => assert!(matches!(error, DecompressError::ChecksumMismatch { .. })),
            codec => assert_eq!(error, DecompressError::WrongChecksum { codec }),
        }
        assert!(
            error.to_string().contains("`tolerate` 'checksum'"),
            "{error}"
        );
        assert_eq!(decompress(codec, &payload, true), (Ok(bytes), 1), "{codec}");
    }
}

/// Only wrong checksums are ignored.
#[test]
fn other_damage_stays_an_error() {
    for codec in Codec::ALL.into_iter().filter(|codec| *codec != Codec::Null) {
        let payload = compress(codec, &sample());
        for len in 0..payload.len() {
            let (result, _) = decompress(codec, &payload[..len], true);
            if let Ok(bytes) = result {
                assert_eq!((codec, bytes), (Codec::Snappy, sample()), "cut at {len}");
                assert_eq!(len, payload.len() - 4);
            }
        }
    }
}

#[test]
fn a_payload_of_another_format_is_named() {
    let zlib = [
        b"\x78\x9c",
        &compress(Codec::Deflate, &sample())[..],
        b"abcd",
    ]
    .concat();
    let [zstandard, bzip2, xz] =
        [Codec::Zstandard, Codec::Bzip2, Codec::Xz].map(|codec| compress(codec, &sample()));
    for (codec, payload, found) in [
        (Codec::Deflate, &zlib, CompressedFormat::Zlib),
        (
            Codec::Deflate,
            &b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec(),
            CompressedFormat::Gzip,
        ),
        (Codec::Snappy, &zlib, CompressedFormat::Zlib),
        (Codec::Snappy, &zstandard, CompressedFormat::Zstandard),
        (Codec::Zstandard, &bzip2, CompressedFormat::Bzip2),
        (Codec::Bzip2, &xz, CompressedFormat::Xz),
        (Codec::Xz, &zstandard, CompressedFormat::Zstandard),
        (
            Codec::Zstandard,
            &b"\x04\x22\x4d\x18abcd".to_vec(),
            CompressedFormat::Lz4,
        ),
    ] {
        let (result, _) = decompress(codec, payload, true);
        let error = result.unwrap_err();
        assert_eq!(error, DecompressError::OtherFormat { codec, found });
        assert!(error.to_string().contains(&found.to_string()), "{error}");
    }
}
