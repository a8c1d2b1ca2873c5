//! Every codec: round trips, limits, corruption, cut streams.
#![allow(clippy::unwrap_used)]

use atds_codec::{
    Codec, CompressError, Compressor, DecompressBuffer, DecompressError, Decompressor,
};
use proptest::prelude::*;

/// The codecs that are compiled in.
fn codecs() -> impl Iterator<Item = Codec> {
    Codec::ALL.into_iter().filter(|codec| codec.is_enabled())
}

fn compress(codec: Codec, decompressed: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    Compressor::new(codec, None)
        .unwrap()
        .compress(decompressed, &mut payload)
        .unwrap();
    payload
}

/// Decompresses with a new decompressor and buffer.
fn decompress(codec: Codec, payload: &[u8], limit: usize) -> Result<Vec<u8>, DecompressError> {
    let mut out = DecompressBuffer::new();
    let result = Decompressor::new().decompress(codec, payload, &mut out, limit);
    assert!(out.capacity() <= limit, "{codec} took more than its limit");
    match result {
        Ok(()) => Ok(out.to_vec()),
        Err(error) => {
            assert!(out.is_empty(), "{codec} left bytes behind its error");
            Err(error)
        }
    }
}

/// Bytes that compress a little: pseudo-random numbers, with zeros at every other byte.
fn sample(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = |_| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        match state >> 63 {
            0 => 0,
            _ => (state >> 40) as u8,
        }
    };
    (0..len).map(next).collect()
}

#[test]
fn every_codec_round_trips() {
    for codec in codecs() {
        let mut decompressor = Decompressor::new();
        let mut out = DecompressBuffer::new();
        // Large and small payloads alternate, with the same state.
        for len in [0, 1, 100, 5 << 20, 17, 16_000, 0, 70_000] {
            let bytes = sample(len);
            let payload = compress(codec, &bytes);
            decompressor
                .decompress(codec, &payload, &mut out, 8 << 20)
                .unwrap();
            assert!(*out == bytes, "{codec}, {len} bytes");
        }
    }
}

#[test]
fn every_level_round_trips() {
    let bytes = sample(3000);
    for codec in codecs() {
        for level in codec.levels().into_iter().flatten() {
            let mut payload = Vec::new();
            let mut compressor = Compressor::new(codec, Some(level)).unwrap();
            compressor.compress(&bytes, &mut payload).unwrap();
            assert_eq!(
                decompress(codec, &payload, 4096).unwrap(),
                bytes,
                "{codec} {level}"
            );
        }
    }
}

#[test]
fn levels_that_do_not_exist_are_refused() {
    for codec in codecs() {
        for level in [-1, 100] {
            let error = Compressor::new(codec, Some(level)).unwrap_err();
            assert_eq!(error, CompressError::BadLevel { codec, level });
        }
    }
}

#[test]
fn codecs_left_out_say_so() {
    for codec in Codec::ALL {
        if codec.is_enabled() {
            continue;
        }
        let error = decompress(codec, &[], 10).unwrap_err();
        assert_eq!(error, DecompressError::Disabled(codec));
        let error = Compressor::new(codec, None).unwrap_err();
        assert_eq!(error, CompressError::Disabled(codec));
    }
}

#[test]
fn the_limit_is_exact() {
    for codec in codecs() {
        for len in [1, 4096, 100_000] {
            for bytes in [sample(len), vec![0; len]] {
                let payload = compress(codec, &bytes);
                assert_eq!(
                    decompress(codec, &payload, len).as_ref(),
                    Ok(&bytes),
                    "{codec} {len}"
                );
                let limit = len - 1;
                let error = decompress(codec, &payload, limit).unwrap_err();
                assert_eq!(error, DecompressError::TooLarge { limit }, "{codec} {len}");
            }
        }
        let nothing = compress(codec, &[]);
        assert_eq!(decompress(codec, &nothing, 0), Ok(vec![]), "{codec}");
    }
}

/// A length that the payload cannot have is damage, whatever the limit is.
#[test]
#[cfg(feature = "snappy")]
fn a_false_length_is_damage() {
    // 2 GiB, in front of a short literal and a checksum.
    let payload = [0x80, 0x80, 0x80, 0x80, 0x08, 0x00, b'a', 0, 0, 0, 0];
    for limit in [1, 1_000, usize::MAX] {
        let error = decompress(Codec::Snappy, &payload, limit).unwrap_err();
        assert!(
            matches!(error, DecompressError::Corrupt { .. }),
            "{error}, limit {limit}"
        );
    }
}

#[test]
fn a_larger_buffer_does_not_lift_the_limit() {
    for codec in codecs() {
        let payload = compress(codec, &sample(5000));
        let (mut decompressor, mut out) = (Decompressor::new(), DecompressBuffer::new());
        decompressor
            .decompress(codec, &payload, &mut out, 5000)
            .unwrap();
        let error = decompressor
            .decompress(codec, &payload, &mut out, 4999)
            .unwrap_err();
        assert_eq!(error, DecompressError::TooLarge { limit: 4999 }, "{codec}");
    }
}

#[test]
fn a_bomb_takes_no_more_than_the_limit() {
    let zeros = vec![0; 100_000_000];
    let limit = 1_000_000;
    for codec in codecs() {
        let payload = compress(codec, &zeros);
        // `decompress` checks the buffer's memory against the limit.
        let error = decompress(codec, &payload, limit).unwrap_err();
        assert_eq!(error, DecompressError::TooLarge { limit }, "{codec}");
    }
}

#[test]
fn a_buffer_takes_no_more_than_the_payload_explains() {
    for codec in codecs() {
        let payload = compress(codec, &sample(100_000));
        let mut out = DecompressBuffer::new();
        let mut decompressor = Decompressor::new();
        decompressor
            .decompress(codec, &payload, &mut out, usize::MAX)
            .unwrap();
        assert!(out.capacity() <= 500_000, "{codec}: {out:?}");

        // A block with a high ratio does not make the buffer of the next block large.
        let far = compress(codec, &vec![0; 4 << 20]);
        decompressor
            .decompress(codec, &far, &mut out, usize::MAX)
            .unwrap();
        let mut fresh = DecompressBuffer::new();
        decompressor
            .decompress(codec, &payload, &mut fresh, usize::MAX)
            .unwrap();
        assert!(fresh.capacity() <= 20 * payload.len(), "{codec}: {fresh:?}");
    }
}

#[test]
fn a_buffer_keeps_its_memory() {
    for codec in codecs() {
        let large = compress(codec, &sample(200_000));
        let small = compress(codec, &sample(10));
        let (mut decompressor, mut out) = (Decompressor::new(), DecompressBuffer::new());
        decompressor
            .decompress(codec, &large, &mut out, 1 << 20)
            .unwrap();
        let (position, capacity) = (out.as_ptr(), out.capacity());
        decompressor
            .decompress(codec, &small, &mut out, 1 << 20)
            .unwrap();
        decompressor
            .decompress(codec, &large, &mut out, 1 << 20)
            .unwrap();
        assert_eq!(
            (out.as_ptr(), out.capacity()),
            (position, capacity),
            "{codec}"
        );
    }
}

#[test]
fn a_stream_cut_at_any_byte_is_an_error() {
    for codec in codecs().filter(|codec| *codec != Codec::Null) {
        for bytes in [vec![], sample(600), vec![5; 4000]] {
            let payload = compress(codec, &bytes);
            for cut in 0..payload.len() {
                let result = decompress(codec, &payload[..cut], 1 << 20);
                assert!(result.is_err(), "{codec}: {cut} of {} bytes", payload.len());
            }
        }
    }
}

#[test]
fn an_empty_payload_is_no_stream() {
    for codec in codecs() {
        let result = decompress(codec, &[], 100);
        assert_eq!(result.is_ok(), codec == Codec::Null, "{codec}: {result:?}");
    }
}

#[test]
fn noise_is_an_error() {
    let noise = [0xff; 300];
    for codec in codecs().filter(|codec| *codec != Codec::Null) {
        let error = decompress(codec, &noise, 1 << 20).unwrap_err();
        assert!(
            matches!(error, DecompressError::Corrupt { codec: named, .. } if named == codec),
            "{codec}: {error:?}"
        );
    }
}

/// Flips every bit, for the codecs whose streams have a checksum of all data.
#[test]
fn a_flipped_bit_never_gives_other_bytes() {
    let bytes = sample(500);
    for codec in codecs() {
        if !matches!(codec, Codec::Snappy | Codec::Bzip2 | Codec::Xz) {
            continue;
        }
        let payload = compress(codec, &bytes);
        let mut errors = 0;
        for bit in 0..payload.len() * 8 {
            let mut flipped = payload.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            match decompress(codec, &flipped, 1 << 20) {
                // Some bits have no effect, such as bzip2's block size.
                Ok(decompressed) => assert_eq!(decompressed, bytes, "{codec}, bit {bit}"),
                Err(_) => errors += 1,
            }
        }
        assert!(errors > payload.len() * 7, "{codec}: {errors} errors");
    }
}

#[cfg(feature = "snappy")]
#[test]
fn snappy_checks_its_crc() {
    let bytes = sample(100);
    let mut payload = compress(Codec::Snappy, &bytes);
    let stored = payload.split_off(payload.len() - 4);
    let expected = u32::from_be_bytes(stored.try_into().unwrap());
    payload.extend((expected ^ 1).to_be_bytes());
    let error = decompress(Codec::Snappy, &payload, 1000).unwrap_err();
    assert_eq!(
        error,
        DecompressError::ChecksumMismatch {
            expected: expected ^ 1,
            actual: expected
        }
    );
    // The standard check value of CRC-32 for these nine digits.
    assert!(compress(Codec::Snappy, b"123456789").ends_with(&[0xcb, 0xf4, 0x39, 0x26]));
}

#[cfg(feature = "snappy")]
#[test]
fn snappy_lengths_are_not_believed() {
    // Five bytes that declare a length of 2^32 - 1.
    let payload = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0];
    let mut out = DecompressBuffer::new();
    let result = Decompressor::new().decompress(Codec::Snappy, &payload, &mut out, usize::MAX);
    assert!(
        matches!(result, Err(DecompressError::Corrupt { .. })),
        "{result:?}"
    );
    assert_eq!(out.capacity(), 0);
}

#[cfg(feature = "deflate")]
#[test]
fn what_follows_a_deflate_stream_is_passed_over() {
    let bytes = sample(100);
    let mut payload = compress(Codec::Deflate, &bytes);
    payload.extend([1, 2, 3]);
    assert_eq!(decompress(Codec::Deflate, &payload, 1000).unwrap(), bytes);
}

#[test]
fn streams_and_frames_may_follow_one_another() {
    let (first, second) = (sample(5000), sample(300));
    for codec in codecs() {
        if !matches!(codec, Codec::Zstandard | Codec::Bzip2 | Codec::Xz) {
            continue;
        }
        let payload = [compress(codec, &first), compress(codec, &second)].concat();
        let both = [first.clone(), second.clone()].concat();
        assert_eq!(decompress(codec, &payload, 5300).unwrap(), both, "{codec}");
        let cut = &payload[..payload.len() - 1];
        assert!(decompress(codec, cut, 5300).is_err(), "{codec}");
        let noise = [compress(codec, &first), vec![1, 2, 3, 4, 5, 6, 7]].concat();
        assert!(decompress(codec, &noise, 1 << 20).is_err(), "{codec}");
    }
}

/// Ten bytes as an xz stream with a dictionary of `dictionary` bytes.
#[cfg(feature = "xz")]
fn xz_stream(dictionary: u32) -> Vec<u8> {
    use liblzma::stream::{Action, Check, Filters, LzmaOptions, Status, Stream};
    let mut options = LzmaOptions::new_preset(0).unwrap();
    options.dict_size(dictionary);
    let mut filters = Filters::new();
    filters.lzma2(&options);
    let mut encoder = Stream::new_stream_encoder(&filters, Check::Crc32).unwrap();
    let mut payload = Vec::with_capacity(1000);
    let status = encoder.process_vec(&[0; 10], &mut payload, Action::Finish);
    assert!(matches!(status, Ok(Status::StreamEnd)));
    payload
}

#[cfg(feature = "xz")]
#[test]
fn xz_may_not_ask_for_gigabytes() {
    let payload = xz_stream(192 << 20);
    assert!(matches!(
        decompress(Codec::Xz, &payload, 1000),
        Err(DecompressError::NeedsMemory { .. })
    ));
    assert!(Decompressor::working_memory(Codec::Xz, &payload) <= 80 << 20);
}

#[cfg(feature = "xz")]
#[test]
fn a_decoder_of_xz_takes_the_memory_of_its_largest_stream() {
    let (small, large) = (xz_stream(1 << 16), xz_stream(24 << 20));
    let padding = [0; 8];
    for streams in [
        [&small[..], &large].concat(),
        [&large[..], &small].concat(),
        [&small[..], &large, &padding, &small, &padding].concat(),
    ] {
        let memory = Decompressor::working_memory(Codec::Xz, &streams);
        assert!((24 << 20..25 << 20).contains(&memory), "{memory}");
        // The library is given no more memory than that.
        let decompressed = decompress(Codec::Xz, &streams, 1000).unwrap();
        assert_eq!(decompressed.len() % 10, 0);
    }
    assert!(Decompressor::working_memory(Codec::Xz, &small) < 1 << 20);
}

#[cfg(feature = "zstandard")]
#[test]
fn zstandard_may_not_ask_for_gigabytes() {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    // 5,000 times the letter a. The header has this size, and a window of 256 MiB.
    let sizes = [0x40, 0x90, (5000 - 256) as u8, ((5000 - 256) >> 8) as u8];
    let block = u32::to_le_bytes(5000 << 3 | 0b011);
    let large_window = [&MAGIC[..], &sizes, &block[..3], b"a"].concat();
    // The same content as a single segment, whose header claims 1 GiB.
    let sizes = [0xa0, 0, 0, 0, 0x40];
    let one_segment = [&MAGIC[..], &sizes, &block[..3], b"a"].concat();
    let small = compress(Codec::Zstandard, b"small");

    let (mut decompressor, mut large) = (Decompressor::new(), DecompressBuffer::new());
    let zeros = compress(Codec::Zstandard, &[0; 100_000]);
    decompressor
        .decompress(Codec::Zstandard, &zeros, &mut large, 1 << 20)
        .unwrap();
    for payload in [large_window, one_segment] {
        for payload in [payload.clone(), [&small[..], &payload].concat()] {
            // It is refused before the library takes memory for it.
            let memory = Decompressor::working_memory(Codec::Zstandard, &payload);
            assert!(memory < 1 << 20, "{memory}");
            // The result is the same for any buffer, though the library needs no window if the
            // buffer holds all.
            for out in [&mut DecompressBuffer::new(), &mut large] {
                let result = decompressor.decompress(Codec::Zstandard, &payload, out, 1 << 20);
                let is_refused = matches!(result, Err(DecompressError::NeedsMemory { .. }));
                assert!(is_refused, "{result:?}");
            }
        }
    }
}

#[cfg(feature = "zstandard")]
#[test]
fn a_zstandard_frame_has_the_size_it_says() {
    // The last block is empty, but the header promises 9,992 bytes.
    let frame = b"\x28\xb5\x2f\xfd\x80\x00\x08\x27\x00\x00\x01\x00\x00";
    for limit in [5000, 1 << 20] {
        let result = decompress(Codec::Zstandard, frame, limit);
        assert!(
            matches!(result, Err(DecompressError::Corrupt { .. })),
            "{result:?}"
        );
    }
}

/// A frame of literals stays valid if a literal changes. Only the checksum finds the change.
#[cfg(feature = "zstandard")]
#[test]
fn damage_of_zstandard_is_found_by_its_checksum() {
    let noise: Vec<u8> = (0..2000u32)
        .map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8)
        .collect();
    for level in [None, Some(1), Some(19)] {
        let mut compressor = Compressor::new(Codec::Zstandard, level).unwrap();
        let mut payload = Vec::new();
        compressor.compress(&noise, &mut payload).unwrap();
        for at in 0..payload.len() {
            let mut damaged = payload.clone();
            damaged[at] ^= 0x10;
            let result = decompress(Codec::Zstandard, &damaged, 1 << 20);
            assert!(
                result.is_err() || result.as_ref() == Ok(&noise),
                "byte {at}"
            );
        }
    }
}

/// A reused buffer never shows its earlier content.
#[test]
fn errors_do_not_depend_on_the_capacity() {
    let mut damaged = Vec::new();
    for codec in codecs() {
        let payload = compress(codec, &sample(9000));
        let cuts = (0..payload.len()).step_by(97);
        damaged.extend(cuts.map(|cut| (codec, payload[..cut].to_vec())));
        let flips = (0..payload.len()).step_by(61).map(|at| {
            let mut payload = payload.clone();
            payload[at] ^= 0x55;
            (codec, payload)
        });
        damaged.extend(flips);
        damaged.push((
            codec,
            [vec![0; 17], vec![0xb1], vec![0; 15], vec![0xb1]].concat(),
        ));
    }
    let (mut decompressor, mut large) = (Decompressor::new(), DecompressBuffer::new());
    decompressor
        .decompress(Codec::Null, &[0; 1 << 18], &mut large, 1 << 18)
        .unwrap();
    for (codec, payload) in damaged {
        let result = decompressor.decompress(codec, &payload, &mut large, 1 << 18);
        let result = result.map(|()| large.to_vec());
        assert_eq!(result, decompress(codec, &payload, 1 << 18));
    }
}

#[test]
fn a_decompressor_recovers_from_errors() {
    for codec in codecs().filter(|codec| *codec != Codec::Null) {
        let bytes = sample(9000);
        let payload = compress(codec, &bytes);
        let (mut decompressor, mut out) = (Decompressor::new(), DecompressBuffer::new());
        for broken in [&payload[..payload.len() / 2], &[0xff; 50]] {
            assert!(
                decompressor
                    .decompress(codec, broken, &mut out, 1 << 20)
                    .is_err()
            );
            decompressor
                .decompress(codec, &payload, &mut out, 1 << 20)
                .unwrap();
            assert!(*out == bytes, "{codec}");
        }
    }
}

/// A thread may own a decompressor and a buffer, and send back an error.
#[test]
fn values_may_change_threads() {
    fn send<T: Send>() {}
    fn share<T: Send + Sync>() {}
    send::<Decompressor>();
    send::<Compressor>();
    share::<DecompressBuffer>();
    share::<DecompressError>();
    share::<CompressError>();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        for codec in codecs() {
            let payload = compress(codec, &bytes);
            prop_assert_eq!(decompress(codec, &payload, bytes.len()), Ok(bytes.clone()));
        }
    }

    #[test]
    fn damaged_payloads_do_no_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        at in any::<prop::sample::Index>(),
        damage in prop::collection::vec(any::<u8>(), 1..20),
    ) {
        for codec in codecs() {
            let mut payload = compress(codec, &bytes);
            if !payload.is_empty() {
                let at = at.index(payload.len());
                let end = payload.len().min(at + damage.len());
                payload.splice(at..end, damage.iter().copied());
            }
            // It must return, within the limit that `decompress` checks.
            let _ = decompress(codec, &payload, 10_000);
            let _ = decompress(codec, &damage, 10_000);
        }
    }
}
