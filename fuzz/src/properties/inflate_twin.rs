//! Compares inflating several streams at once with the bit-by-bit twin and with libdeflate.

#[path = "../../../crates/inflate/tests/common/encoder.rs"]
mod encoder;
#[path = "../../../crates/inflate/tests/common/twin.rs"]
mod twin;

use atds_inflate::{Error, Inflater, Stream};
use encoder::{BitWriter, Code, Item, complete_lengths, dynamic_block};
use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::input::{Input, damage};

/// Limits on the decompressed size.
const LIMITS: [usize; 5] = [1 << 18, 0, 1, 300, 5000];

/// See [`INFLATE_TWIN`](super::INFLATE_TWIN).
pub(super) fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let limit = LIMITS[usize::from(input.byte()) % LIMITS.len()];
    let payloads = payloads(&mut input);

    let expected: Vec<_> = payloads.iter().map(|p| twin::inflate(p, limit)).collect();
    for mut inflater in Inflater::of_each_kind() {
        let together = inflate(&mut inflater, &payloads, limit);
        assert!(together == expected, "{inflater:?}: together");
        for (payload, expected) in payloads.iter().zip(&expected) {
            let alone = inflate(&mut inflater, std::slice::from_ref(payload), limit).remove(0);
            assert!(alone == *expected, "{inflater:?}: alone");
        }
    }
    for (payload, expected) in payloads.iter().zip(&expected) {
        let mut output = vec![0; limit];
        let theirs = Decompressor::new().deflate_decompress(payload, &mut output);
        let theirs = theirs.ok().map(|len| &output[..len]);
        assert_eq!(theirs, expected.as_deref().ok(), "libdeflate");
    }
}

/// Streams made from the input in several ways; some are damaged.
fn payloads(input: &mut Input<'_>) -> Vec<Vec<u8>> {
    let mut payloads = vec![any_block(input)];
    let level = CompressionLvl::new(i32::from(input.byte()) % 13).unwrap_or_default();
    let mut damages = Input::new(input.take(40));
    let rest = input.rest();
    payloads.push(compressed(level, rest));
    payloads.push(compressed(CompressionLvl::default(), &rest.repeat(30)));
    for nth in 0..payloads.len() {
        let mut payload = payloads[nth].clone();
        damage(&mut payload, &mut damages);
        payloads.push(payload);
    }
    payloads.extend([rest.to_vec(), rest[rest.len() / 2..].to_vec()]);
    payloads
}

fn compressed(level: CompressionLvl, bytes: &[u8]) -> Vec<u8> {
    let mut compressor = Compressor::new(level);
    let mut payload = vec![0; compressor.deflate_compress_bound(bytes.len())];
    let len = compressor.deflate_compress(bytes, &mut payload);
    payload.truncate(len.expect("enough space"));
    payload
}

/// A block with two complete codes of any shape.
fn any_block(input: &mut Input<'_>) -> Vec<u8> {
    let litlens = any_code(input, 286, 256);
    let distances = any_code(input, 30, 0);
    let (litlen_symbols, distance_symbols) = (litlens.symbols(), distances.symbols());
    let mut items = Vec::new();
    for _ in 0..input.below(400) {
        match litlen_symbols[input.below(litlen_symbols.len())] {
            256 => {}
            literal @ 0..256 => items.push(Item::Literal(literal as u8)),
            length => items.push(Item::Match {
                length,
                length_extra: input.below(32),
                distance: distance_symbols[input.below(distance_symbols.len())],
                distance_extra: input.below(1 << 13),
            }),
        }
    }
    let mut writer = BitWriter::default();
    dynamic_block(&litlens, &distances, &items, &mut writer);
    writer.bytes
}

/// A complete code of some of `count` symbols and of the symbol `always`.
fn any_code(input: &mut Input<'_>, count: usize, always: usize) -> Code {
    let (start, step) = (input.below(count), 1 + input.below(9));
    let mut symbols: Vec<_> = (0..count).filter(|s| (s + start) % step == 0).collect();
    symbols.extend([always, (always + 1) % count]);
    symbols.sort_unstable();
    symbols.dedup();
    let turn = start % symbols.len();
    symbols.rotate_left(turn);
    Code::new(&complete_lengths(count, &symbols, &input.array::<8>()))
}

fn inflate(
    inflater: &mut Inflater,
    payloads: &[Vec<u8>],
    limit: usize,
) -> Vec<Result<Vec<u8>, Error>> {
    let mut outputs = vec![Vec::new(); payloads.len()];
    let mut results = vec![Ok(0); payloads.len()];
    let streams = payloads.iter().zip(&mut outputs).zip(&mut results);
    let streams = streams.map(|((payload, output), result)| {
        let stream = Stream {
            payload,
            output,
            limit,
        };
        (result, stream)
    });
    inflater.inflate(streams, |result, inflated| *result = inflated);
    let all = outputs.into_iter().zip(results);
    all.map(|(mut output, result)| {
        assert!(output.len() <= limit, "{} bytes", output.len());
        output.truncate(result.unwrap_or(0));
        result.map(|_| output)
    })
    .collect()
}
