//! Decompression.

use atds_codec::{Codec, Compressor, DecompressBuffer, DecompressError, Decompressor};

use super::input::Input;

/// Limits on the decompressed size.
const LIMITS: [usize; 6] = [1 << 20, 0, 1, 100, 5000, 1 << 16];

/// The minimum first size of a buffer.
const MIN_CAPACITY: usize = 4096;

/// See [`DECOMPRESS_DEFLATE`](super::DECOMPRESS_DEFLATE).
pub(super) fn check(codec: Codec, data: &[u8]) {
    let mut input = Input::new(data);
    let limit = LIMITS[usize::from(input.byte()) % LIMITS.len()];
    let level = input.byte();
    any_payload(codec, input.rest(), limit);
    round_trip(codec, level, input.rest());
}

fn any_payload(codec: Codec, payload: &[u8], limit: usize) {
    let (mut decompressor, mut fresh) = (Decompressor::new(), DecompressBuffer::new());
    let result = decompressor.decompress(codec, payload, &mut fresh, limit);
    assert!(fresh.capacity() <= limit, "{} bytes", fresh.capacity());
    match &result {
        Ok(()) => {
            // The first size is four bytes for each byte of the payload.
            let guess = 5 * payload.len();
            let most = (2 * fresh.len()).max(guess).max(MIN_CAPACITY);
            assert!(fresh.capacity() <= most, "{fresh:?}");
        }
        Err(_) => assert!(fresh.is_empty(), "no payload is left of one that failed"),
    }

    // The decompressor and the buffer were used for other payloads, and for a part of this one.
    let mut used = DecompressBuffer::new();
    let mut again = |payload: &[u8], limit| {
        let result = decompressor.decompress(codec, payload, &mut used, limit);
        result.map(|()| used.to_vec())
    };
    let fastest = codec.levels().map(|levels| *levels.start());
    let other = again(&compressed(codec, fastest, &[7; 9000]), 1 << 20);
    assert_eq!(other, Ok(vec![7; 9000]));
    let half = &payload[..payload.len() / 2];
    assert_same(codec, again(half, limit), decompress(codec, half, limit));
    let result = result.map(|()| fresh.to_vec());
    assert_same(codec, again(payload, limit), result.clone());

    // Another limit changes only which payloads are too large.
    match result {
        Ok(data) => {
            let exact = data.len();
            assert_same(codec, again(payload, exact), Ok(data));
            if let Some(limit) = exact.checked_sub(1) {
                let result = again(payload, limit);
                if codec == Codec::Zstandard {
                    assert!(result.is_err(), "{result:?}");
                } else {
                    assert_eq!(result, Err(DecompressError::TooLarge { limit }));
                }
            }
        }
        Err(DecompressError::TooLarge { .. }) => {}
        Err(_) if codec == Codec::Zstandard => {}
        Err(error) => {
            let result = again(payload, LIMITS[0]);
            assert!(result.is_err(), "no longer: {error}");
        }
    }
}

type Decompressed = Result<Vec<u8>, DecompressError>;

fn decompress(codec: Codec, payload: &[u8], limit: usize) -> Decompressed {
    let mut out = DecompressBuffer::new();
    let result = Decompressor::new().decompress(codec, payload, &mut out, limit);
    result.map(|()| out.to_vec())
}

fn assert_same(codec: Codec, used: Decompressed, fresh: Decompressed) {
    if codec == Codec::Zstandard {
        // Zstandard's library accepts more if the buffer holds the whole frame, such as blocks
        // larger than the window. An invalid payload may pass or fail, but the bytes must not
        // differ.
        if let (Ok(used), Ok(fresh)) = (used, fresh) {
            assert_eq!(used, fresh);
        }
    } else {
        assert_eq!(used, fresh);
    }
}

fn round_trip(codec: Codec, level: u8, data: &[u8]) {
    let level = codec.levels().and_then(|mut levels| {
        let count = levels.clone().count() + 1;
        levels.nth(usize::from(level) % count)
    });
    let payload = compressed(codec, level, data);
    let result = decompress(codec, &payload, data.len());
    assert_eq!(result.as_deref(), Ok(data), "level {level:?}");
}

fn compressed(codec: Codec, level: Option<i32>, data: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    Compressor::new(codec, level)
        .and_then(|mut compressor| compressor.compress(data, &mut payload))
        .expect("anything can be compressed");
    payload
}
