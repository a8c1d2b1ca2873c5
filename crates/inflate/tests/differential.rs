//! Compares all kernels of the processor, the bit-by-bit twin and libdeflate on the same streams.
#![allow(clippy::unwrap_used)]

mod common;

use atds_inflate::{Error, Inflater, LANES, Stream};
use common::encoder::{BitWriter, Code, Item, complete_lengths, dynamic_block};
use common::{LIMIT, check, data, inflate, inflate_all, twin};
use proptest::prelude::*;

#[test]
fn streams_of_compressors() {
    for len in [100, 40_000] {
        for (kind, bytes) in data::kinds(len) {
            for (compressor, payload) in data::compressed(&bytes) {
                for mut inflater in Inflater::of_each_kind() {
                    let result = inflate(&mut inflater, &payload, LIMIT);
                    assert!(
                        result.as_deref() == Ok(&*bytes),
                        "{kind}, {compressor}, {inflater:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_twin_reads_streams_of_compressors() {
    for (kind, bytes) in data::kinds(3_000) {
        for (compressor, payload) in data::compressed(&bytes) {
            assert!(
                twin::inflate(&payload, LIMIT) == Ok(bytes.clone()),
                "{kind}, {compressor}"
            );
        }
    }
}

#[test]
fn cut_at_any_byte() {
    for (_, bytes) in data::kinds(600) {
        for (_, payload) in data::compressed(&bytes).into_iter().step_by(3) {
            for cut in 0..payload.len() {
                check(&payload[..cut]);
            }
        }
    }
}

#[test]
fn with_any_bit_flipped() {
    for (_, bytes) in data::kinds(200) {
        for (_, payload) in data::compressed(&bytes).into_iter().step_by(7) {
            for bit in 0..payload.len() * 8 {
                let mut flipped = payload.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                check(&flipped);
            }
        }
    }
}

#[test]
fn streams_are_independent() {
    let mut payloads = Vec::new();
    for len in [0, 50, 3_000, 20_000] {
        for (_, bytes) in data::kinds(len) {
            for (nth, (_, payload)) in data::compressed(&bytes).into_iter().enumerate() {
                let cut = payload.len() - payload.len() / 5 * usize::from(nth % 4 == 0);
                payloads.push(payload[..cut].to_vec());
            }
        }
    }
    let mut alone = Inflater::new();
    let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let expected: Vec<_> = payloads
        .iter()
        .map(|payload| inflate(&mut alone, payload, 15_000))
        .collect();
    assert!(expected.contains(&Err(Error::Truncated)));
    assert!(expected.contains(&Err(Error::TooLarge { limit: 15_000 })));
    for mut inflater in Inflater::of_each_kind() {
        for together in [2, 3, LANES, 2 * LANES + 1, payloads.len()] {
            let results = payloads.chunks(together);
            let results: Vec<_> = results
                .flat_map(|payloads| inflate_all(&mut inflater, payloads, 15_000))
                .collect();
            assert!(results == expected, "{together} together");
        }
    }
}

/// Tries limits around the length of the stream, and several initial lengths of the output.
#[test]
fn limits_and_initial_outputs() {
    for (kind, bytes) in data::kinds(2_000) {
        let payload = data::compressed(&bytes).remove(6).1;
        let mut inflater = Inflater::new();
        for limit in bytes.len().saturating_sub(40)..bytes.len() {
            let result = inflate(&mut inflater, &payload, limit);
            assert_eq!(result, Err(Error::TooLarge { limit }), "{kind}");
        }
        for limit in bytes.len()..bytes.len() + 40 {
            let result = inflate(&mut inflater, &payload, limit);
            assert!(result.as_deref() == Ok(&*bytes), "{kind}");
        }
        for len in (0..bytes.len() + 40).step_by(7) {
            let mut output = vec![0xaa; len];
            let stream = Stream {
                payload: &payload,
                output: &mut output,
                limit: LIMIT,
            };
            inflater.inflate([((), stream)], |(), result| {
                assert_eq!(result, Ok(bytes.len()), "{kind}");
            });
            assert!(output.starts_with(&bytes), "{kind}, {len} bytes of output");
        }
    }
}

#[test]
fn bytes_after_a_stream_are_ignored() {
    let mut payload = data::compressed(b"some bytes").remove(0).1;
    payload.extend([0xff; 9]);
    check(&payload);
    assert!(twin::inflate(&payload, LIMIT).is_ok());
}

#[test]
fn empty_blocks() {
    let mut writer = BitWriter::default();
    for _ in 0..1000 {
        // An empty fixed block, and an empty stored block.
        writer.bits(0b010, 3);
        writer.bits(0, 7);
    }
    writer.bits(0b1, 1);
    check(&writer.bytes);
    assert_eq!(twin::inflate(&writer.bytes, LIMIT), Err(Error::Truncated));
    writer.bits(0, 50);
    check(&writer.bytes);
}

/// Codes of few words have the meaning that libdeflate gives them.
#[test]
fn codes_of_few_words() {
    let literals = |lengths: &[(usize, u8)]| {
        let mut all = vec![0; 257];
        lengths
            .iter()
            .for_each(|&(symbol, length)| all[symbol] = length);
        all
    };
    let complete = literals(&[(97, 2), (98, 2), (256, 1)]);
    let with_length = {
        let mut lengths = complete.clone();
        lengths.resize(286, 0);
        (lengths[98], lengths[285]) = (0, 2);
        lengths
    };
    let repeated = Item::Match {
        length: 285,
        length_extra: 0,
        distance: 0,
        distance_extra: 0,
    };
    let a = Item::Literal(97);
    let cases: [(&[u8], &[u8], &[Item]); 11] = [
        (&complete, &[0], &[a]),
        (&complete, &[1], &[a]),
        (&with_length, &[1], &[a, repeated]),
        (&with_length, &[1, 1], &[a, repeated]),
        (&with_length, &[0, 1], &[a]),
        // Neither complete nor a single word of one bit.
        (&complete, &[2], &[a]),
        (&complete, &[1, 2], &[a]),
        (&literals(&[(97, 2), (256, 2)]), &[0], &[a]),
        // The code has the end of the block alone.
        (&literals(&[(256, 1)]), &[0], &[]),
        // Too many words.
        (&literals(&[(97, 1), (98, 1), (256, 1)]), &[0], &[a]),
        (&complete, &[1, 1, 1], &[a]),
    ];
    for (litlens, distances, items) in cases {
        let mut writer = BitWriter::default();
        dynamic_block(
            &Code::new(litlens),
            &Code::new(distances),
            items,
            &mut writer,
        );
        check(&writer.bytes);
        // A match whose distance has no word, for each value of the bit.
        for more in 0..64 {
            let mut bytes = writer.bytes.clone();
            let last = bytes.len() - 1;
            bytes[last] ^= more << 2;
            bytes.extend([0; 4]);
            check(&bytes);
        }
    }
}

/// A code for `symbols` in this order, whose words become longer by one bit each.
fn steep(count: usize, symbols: impl Iterator<Item = usize>) -> Code {
    Code::new(&complete_lengths(count, &symbols.collect::<Vec<_>>(), &[0]))
}

/// A code with the maximum number of words that are too long for one lookup.
fn many_long_words() -> Code {
    let lengths = [1, 2, 3]
        .into_iter()
        .chain([11; 255])
        .chain([12, 13, 14, 15, 15]);
    let mut of_symbols = vec![0; 286];
    // Symbols of all kinds, so that a length has the shortest word.
    for (symbol, length) in (30..286).rev().chain(0..30).zip(lengths) {
        of_symbols[symbol] = length;
    }
    Code::new(&of_symbols)
}

/// A code of distances with a word of 15 bits and the maximum number of words above eight bits.
fn many_long_distances(first: usize) -> Code {
    let lengths = [1, 2, 3, 4, 6, 7]
        .into_iter()
        .chain([9; 19])
        .chain([10, 11, 12, 13, 14, 15, 15]);
    let mut of_symbols = vec![0; 32];
    for (nth, length) in lengths.enumerate() {
        of_symbols[(nth + first) % 32] = length;
    }
    Code::new(&of_symbols)
}

/// Words of each length with the maximum number of extra bits.
#[test]
fn long_words_with_extra_bits() {
    let mut litlens: Vec<_> = [285, 0, 5, 7, 12]
        .map(|first| steep(286, (0..286).map(|nth| (first + 286 - nth) % 286)))
        .into();
    litlens.push(many_long_words());
    for (nth, litlens) in litlens.iter().enumerate() {
        for first in [0, 13, 15, 19, 20, 28] {
            let steep = steep(30, (0..30).map(|nth| (nth + first) % 30));
            for distances in [steep, many_long_distances(first)] {
                let payload = matches(litlens, &distances, (nth * 30 + first) as u64);
                let expected = common::libdeflate(&payload, LIMIT).unwrap();
                for mut inflater in Inflater::of_each_kind() {
                    let result = inflate(&mut inflater, &payload, LIMIT);
                    assert!(
                        result.as_deref() == Ok(&*expected),
                        "{nth}, {first}, {distances:?}, {inflater:?}"
                    );
                }
            }
        }
    }
}

/// A block with all matches of two codes, after literals for them to copy.
fn matches(litlens: &Code, distances: &Code, seed: u64) -> Vec<u8> {
    let symbols = litlens.symbols();
    let literals: Vec<_> = symbols.iter().filter(|&&symbol| symbol < 256).collect();
    let lengths: Vec<_> = symbols.iter().filter(|&&symbol| symbol > 256).collect();
    let literal = |n: usize| Item::Literal(*literals[n % literals.len()] as u8);
    let mut items: Vec<_> = (0..33_000).map(literal).collect();
    let mut numbers = data::noise(seed);
    let mut next = || numbers.next().unwrap() as usize;
    let pairs = lengths.iter().flat_map(|&&length| {
        let distances = distances.symbols().into_iter();
        distances.map(move |distance| (length, distance))
    });
    for (length, distance) in pairs {
        // Three in a row, so that a round of lookups has two distances and a length.
        for _ in 0..3 {
            items.push(Item::Match {
                length,
                length_extra: next(),
                distance,
                distance_extra: next(),
            });
        }
        items.extend((0..next() % 3).map(literal));
    }
    let mut writer = BitWriter::default();
    dynamic_block(litlens, distances, &items, &mut writer);
    writer.bytes
}

fn items(litlens: Vec<usize>, distances: Vec<usize>) -> impl Strategy<Value = Vec<Item>> {
    let item = (
        any::<[u16; 2]>(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
    );
    prop::collection::vec(item, 0..200).prop_map(move |items| {
        let to_item =
            |(extra, litlen, distance): ([u16; 2], prop::sample::Index, prop::sample::Index)| {
                match *litlen.get(&litlens) {
                    256 => None,
                    literal @ 0..256 => Some(Item::Literal(literal as u8)),
                    length => Some(Item::Match {
                        length,
                        length_extra: extra[0].into(),
                        distance: *distance.get(&distances),
                        distance_extra: extra[1].into(),
                    }),
                }
            };
        items.into_iter().filter_map(to_item).collect()
    })
}

/// A block with two complete codes.
fn any_block() -> impl Strategy<Value = Vec<u8>> {
    let symbols = |count: usize, always: usize| {
        let choices = prop::collection::vec(0..4u8, 1..20);
        (
            prop::sample::subsequence((0..count).collect::<Vec<_>>(), 2..=count),
            choices,
        )
            .prop_map(move |(mut symbols, choices)| {
                if !symbols.contains(&always) {
                    symbols.push(always);
                }
                // Long words for the last symbols, in varying order.
                let turn = usize::from(choices[0]) * symbols.len() / 4;
                symbols.rotate_left(turn);
                Code::new(&complete_lengths(count, &symbols, &choices))
            })
    };
    (symbols(286, 256), symbols(30, 0)).prop_flat_map(|(litlens, distances)| {
        items(litlens.symbols(), distances.symbols()).prop_map(move |items| {
            // Literals for the matches to copy.
            let mut all: Vec<_> = litlens
                .symbols()
                .into_iter()
                .filter(|&symbol| symbol < 256)
                .cycle()
                .take(300)
                .map(|symbol| Item::Literal(symbol as u8))
                .collect();
            all.extend(items);
            let mut writer = BitWriter::default();
            dynamic_block(&litlens, &distances, &all, &mut writer);
            writer.bytes
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn blocks_in_any_codes(payload in any_block()) {
        check(&payload);
    }

    #[test]
    fn any_bytes(payload in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&payload);
    }

    #[test]
    fn damaged_blocks(
        payload in any_block(),
        at in any::<prop::sample::Index>(),
        damage in prop::collection::vec(any::<u8>(), 1..8),
    ) {
        let mut payload = payload;
        let start = at.index(payload.len());
        for (position, byte) in payload[start..].iter_mut().zip(damage) {
            *position = byte;
        }
        check(&payload);
    }
}
