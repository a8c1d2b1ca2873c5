//! Payloads decompressed together. The result of each must not depend on the others.
#![allow(clippy::unwrap_used)]

use atds_codec::{
    Codec, Compressor, DecompressBuffer, DecompressError, DecompressJob, Decompressor,
};
use bytes::BytesMut;

/// Similar records, with some repetition and some noise.
fn sample(len: usize, seed: usize) -> Vec<u8> {
    let byte = |at: usize| match at % 7 {
        0..4 => (at / 40 + seed) as u8,
        _ => ((at * at * 31 + seed * 17) >> 3) as u8,
    };
    (0..len).map(byte).collect()
}

fn compress(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut compressor = Compressor::new(codec, None).unwrap();
    compressor.compress(bytes, &mut payload).unwrap();
    payload
}

/// Valid payloads of many sizes, and some that are cut or damaged.
fn payloads(codec: Codec) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    for nth in 0..40 {
        let mut payload = compress(codec, &sample(nth * nth * 40, nth));
        let half = payload.len() / 2;
        match nth % 8 {
            3 => payload.truncate(half),
            5 => payload.splice(half..half, [0xff; 9]).for_each(drop),
            7 => payload[half] ^= 0x10,
            _ => {}
        }
        payloads.push(payload);
    }
    payloads
}

#[test]
fn together_is_as_one_by_one() {
    const LIMIT: usize = 50_000;
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_enabled()) {
        let payloads = payloads(codec);
        let (mut decompressor, mut out) = (Decompressor::new(), DecompressBuffer::new());
        let mut alone = |payload: &Vec<u8>| {
            let result = decompressor.decompress(codec, payload, &mut out, LIMIT);
            result.map(|()| out.to_vec())
        };
        let expected: Vec<_> = payloads.iter().map(&mut alone).collect();
        let too_large = Err(DecompressError::TooLarge { limit: LIMIT });
        assert!(expected.contains(&too_large), "{codec}");

        let mut buffers = vec![DecompressBuffer::new(); payloads.len()];
        for together in [1, 2, 3, 4, 7, payloads.len()] {
            let mut decompressor = Decompressor::new();
            let mut results = Vec::new();
            for (payloads, buffers) in payloads.chunks(together).zip(buffers.chunks_mut(together)) {
                let jobs = payloads.iter().zip(buffers);
                let mut jobs: Vec<_> = jobs
                    .map(|(payload, out)| DecompressJob::new(payload, out, LIMIT))
                    .collect();
                decompressor.decompress_many(codec, &mut jobs);
                results.extend(jobs.into_iter().map(|job| {
                    assert!(
                        job.out.capacity() <= LIMIT,
                        "{codec} took more than its limit"
                    );
                    assert!(job.result.is_ok() || job.out.is_empty(), "{codec}");
                    job.result.map(|()| job.out.to_vec())
                }));
            }
            assert!(results == expected, "{codec}, {together} together");
        }
    }
}

/// Memory that a buffer was given is used as far as it goes, and given back whole.
#[test]
fn results_do_not_depend_on_given_memory() {
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_enabled()) {
        let contents: Vec<_> = (0..9).map(|nth| sample(nth * 1_000, nth)).collect();
        let payloads: Vec<_> = contents
            .iter()
            .map(|bytes| compress(codec, bytes))
            .collect();
        for given in [0, 100, 4_096, 4_097, 100_000] {
            let memory: Vec<_> = payloads.iter().map(|_| BytesMut::zeroed(given)).collect();
            let addresses: Vec<_> = memory.iter().map(|memory| memory.as_ptr()).collect();
            let buffers = memory.into_iter().map(DecompressBuffer::with_memory);
            let mut buffers: Vec<_> = buffers.collect();
            for together in [1, payloads.len()] {
                let mut decompressor = Decompressor::new();
                for (payloads, buffers) in
                    payloads.chunks(together).zip(buffers.chunks_mut(together))
                {
                    let jobs = payloads.iter().zip(buffers);
                    let mut jobs: Vec<_> = jobs
                        .map(|(payload, out)| DecompressJob::new(payload, out, 1 << 20))
                        .collect();
                    decompressor.decompress_many(codec, &mut jobs);
                    assert!(jobs.iter().all(|job| job.result.is_ok()));
                }
                let found = buffers.iter().map(|out| out.to_vec());
                assert!(found.eq(contents.iter().cloned()), "{codec}, {given}");
            }
            for (buffer, address) in buffers.iter_mut().zip(addresses) {
                let is_own = buffer.capacity() != given;
                assert!(is_own || buffer.len() <= given);
                let memory = buffer.take_memory();
                assert_eq!((memory.len(), memory.as_ptr()), (given, address));
                assert!(buffer.is_empty() && buffer.take_memory().is_empty());
                assert_eq!(buffer.capacity() > 0, is_own, "{codec}, {given}");
            }
        }
    }
}

#[cfg(feature = "deflate")]
/// Buffers allocate once, however often they are used.
#[test]
fn buffers_are_used_again() {
    let payloads: Vec<_> = (0..6)
        .map(|nth| compress(Codec::Deflate, &sample(9_000, nth)))
        .collect();
    let mut buffers = vec![DecompressBuffer::new(); payloads.len()];
    let mut decompressor = Decompressor::new();
    let mut positions = Vec::new();
    for _ in 0..2 {
        let jobs = payloads.iter().zip(&mut buffers);
        let mut jobs: Vec<_> = jobs
            .map(|(payload, out)| DecompressJob::new(payload, out, 1 << 20))
            .collect();
        decompressor.decompress_many(Codec::Deflate, &mut jobs);
        assert!(jobs.iter().all(|job| job.result.is_ok()));
        positions.push(
            buffers
                .iter()
                .map(|out| (out.as_ptr(), out.capacity()))
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(positions[0], positions[1]);
}

/// A group is a multiple of what is decompressed side by side, and only deflate has groups.
#[test]
fn groups_fill_all_lanes() {
    for codec in Codec::ALL {
        let (group, lanes) = (
            Decompressor::preferred_group(codec),
            Decompressor::lanes(codec),
        );
        assert_eq!(group % lanes, 0, "{codec}");
        let has_groups = codec == Codec::Deflate && codec.is_enabled();
        assert_eq!((group > 1, lanes > 1), (has_groups, has_groups), "{codec}");
    }
}
