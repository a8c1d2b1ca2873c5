//! Shared parts of the tests.
#![allow(dead_code)]

pub(crate) mod data;
pub(crate) mod encoder;
pub(crate) mod twin;

use atds_inflate::{Error, Inflater, Stream};

/// A limit above all outputs of the tests, unless a test says otherwise.
pub(crate) const LIMIT: usize = 1 << 20;

/// Decompresses one stream.
pub(crate) fn inflate(
    inflater: &mut Inflater,
    payload: &[u8],
    limit: usize,
) -> Result<Vec<u8>, Error> {
    inflate_all(inflater, &[payload], limit).remove(0)
}

/// Decompresses streams together.
pub(crate) fn inflate_all(
    inflater: &mut Inflater,
    payloads: &[&[u8]],
    limit: usize,
) -> Vec<Result<Vec<u8>, Error>> {
    let mut outputs = vec![Vec::new(); payloads.len()];
    let mut results = vec![None; payloads.len()];
    let streams = payloads.iter().zip(&mut outputs).enumerate();
    let streams = streams.map(|(nth, (payload, output))| {
        (
            nth,
            Stream {
                payload,
                output,
                limit,
            },
        )
    });
    inflater.inflate(streams, |nth, result| {
        assert!(results[nth].replace(result).is_none(), "done twice");
    });
    let all = outputs.into_iter().zip(results);
    all.map(|(mut output, result)| {
        assert!(output.len() <= limit, "more bytes than the limit");
        let result = result.expect("every stream is done");
        result.map(|len| {
            output.truncate(len);
            output
        })
    })
    .collect()
}

/// The output of libdeflate; `None` if it refuses the stream.
pub(crate) fn libdeflate(payload: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut output = vec![0; limit];
    let mut decoder = libdeflater::Decompressor::new();
    let len = decoder.deflate_decompress(payload, &mut output).ok()?;
    output.truncate(len);
    Some(output)
}

/// Compares all kernels of the processor with the twin, and the twin with libdeflate.
pub(crate) fn check(payload: &[u8]) {
    let expected = twin::inflate(payload, LIMIT);
    for mut inflater in Inflater::of_each_kind() {
        let result = inflate(&mut inflater, payload, LIMIT);
        assert!(
            result == expected,
            "{inflater:?}: {}",
            difference(&result, &expected)
        );
    }
    let theirs = libdeflate(payload, LIMIT);
    assert!(
        theirs == expected.clone().ok(),
        "libdeflate disagrees with {expected:?}"
    );
}

fn difference(ours: &Result<Vec<u8>, Error>, expected: &Result<Vec<u8>, Error>) -> String {
    match (ours, expected) {
        (Ok(ours), Ok(expected)) => {
            let same = ours.iter().zip(expected).take_while(|(a, b)| a == b);
            let (len, expected_len) = (ours.len(), expected.len());
            format!(
                "{len} bytes instead of {expected_len}, alike up to {}",
                same.count()
            )
        }
        _ => format!("{ours:?} instead of {expected:?}"),
    }
}
