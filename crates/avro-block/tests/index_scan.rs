//! The index scan gives the same blocks and errors, whatever bytes its answers have.
#![allow(clippy::unwrap_used)]

mod common;
mod damage;

use std::ops::Range;

use avro_block::{BlockIndex, Codec, ErrorKind, IndexScan, Limits, Scan, TrailingBytes, block_at};
use bytes::Bytes;
use common::*;
use damage::{any_damage, any_file, damaged};
use proptest::prelude::*;

const CHOICES: [TrailingBytes; 2] = [TrailingBytes::Error, TrailingBytes::LeaveOut];

/// Lists `file` with answers of all kinds, and checks that the output is always the same. Returns
/// that output.
fn list_all_ways(file: &[u8], file_len: u64, trailing: TrailingBytes, lens: &[u64]) -> Listed {
    let file = Bytes::copy_from_slice(file);
    let whole = list(&file, file_len, trailing, |_| 0..file_len);
    let check = |answer: &dyn Fn(Range<u64>, u64) -> Range<u64>| {
        for (i, &len) in lens.iter().enumerate() {
            // Answers of one length, then of all lengths in turn.
            let mut own = [len].into_iter().cycle();
            let mut all = lens[i..].iter().chain(&lens[..i]).copied().cycle();
            for lens in [&mut own as &mut dyn Iterator<Item = u64>, &mut all] {
                let listed = list(&file, file_len, trailing, |need| {
                    answer(need, lens.next().unwrap())
                });
                let needs = whole.needs.clone();
                assert_eq!(Listed { needs, ..listed }, whole, "{len}");
            }
        }
    };
    check(&|need, len| need.start..need.start + len);
    check(&|need, len| need.start..need.end + len);
    check(&|need, len| need.start.saturating_sub(len)..need.end);
    whole
}

/// All ways to list a whole file give what the index and the framer give.
fn check(file: &[u8], trailing: TrailingBytes, lens: &[u64]) -> Listed {
    let listed = list_all_ways(file, file.len() as u64, trailing, lens);
    let needs = listed.needs.clone();
    assert_eq!(
        Listed {
            needs,
            ..list_whole(file, trailing)
        },
        listed
    );

    let told = tell(framer(trailing), pieces(file, &[file.len().max(1)]), false);
    assert_eq!(listed.header, told.header);
    let indexed = listed.entries.iter();
    let indexed = indexed.map(|e| (e.offset, e.len, e.count, e.payload_len));
    let framed = told.blocks.iter();
    let framed = framed.map(|b| (b.offset, b.len, b.count, b.payload.len() as u64));
    assert!(indexed.eq(framed), "{:?} {:?}", listed.entries, told.blocks);
    assert_eq!(listed.trailing_bytes, told.trailing_bytes);
    assert_eq!(Vec::from_iter(listed.error.clone()), told.errors);
    listed
}

#[test]
fn answers_of_every_size_give_the_same() {
    let lens: Vec<u64> = (1..=80).chain([1000, 100_000]).collect();
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_enabled()) {
        let listed = check(&small_file(codec), TrailingBytes::Error, &lens);
        assert_eq!((listed.entries.len(), listed.error), (3, None));
    }
}

#[test]
fn truncated_at_every_byte() {
    let file = small_file(Codec::Null);
    let whole = check(&file, TrailingBytes::Error, &[100]);
    let header_len = whole.header.unwrap().len();
    let ends = whole.entries.iter().map(|entry| entry.offset + entry.len);
    let ends: Vec<_> = [header_len].into_iter().chain(ends).collect();
    for cut in 0..=file.len() {
        for trailing in CHOICES {
            let listed = check(&file[..cut], trailing, &[1, 3, 16, 36, 100]);
            if trailing == TrailingBytes::Error {
                assert_eq!(listed.error.is_none(), ends.contains(&(cut as u64)));
            }
        }
    }
}

/// A file may become shorter after its length is taken. The missing blocks are always an error.
#[test]
fn shortened_at_every_byte() {
    let file = small_file(Codec::Null);
    for cut in 0..file.len() {
        for trailing in CHOICES {
            let len = file.len() as u64;
            let listed = list_all_ways(&file[..cut], len, trailing, &[1, 3, 16, 36, 100]);
            let error = listed.error.unwrap();
            let is_cut = error.contains("Truncated") || cut == 0 && error.contains("Empty");
            assert!(is_cut, "{cut} {error}");
            assert_eq!(listed.trailing_bytes, 0);
        }
    }
}

#[test]
fn every_byte_damaged() {
    let file = small_file(Codec::Null);
    for at in 0..file.len() {
        for bits in [1, 0x80, 0xff] {
            let mut file = file.clone();
            file[at] ^= bits;
            for trailing in CHOICES {
                check(&file, trailing, &[1, 16, 36]);
            }
        }
    }
}

#[test]
fn bytes_after_the_last_block() {
    let file = small_file(Codec::Null);
    for tail in [
        vec![0; 300],
        vec![0xff; 70_000],
        b"some text at the end".to_vec(),
        small_file(Codec::Null),
        (0..200_000u64)
            .map(|i| (i * i % 251) as u8 | 0x80)
            .collect(),
        [vec![0xff; 100_000], SYNC.0.to_vec()].concat(),
    ] {
        let file = [file.clone(), tail].concat();
        for trailing in CHOICES {
            check(&file, trailing, &[1000, 65_536, 1 << 20]);
        }
    }
}

#[test]
fn a_file_in_one_answer_is_all_that_is_needed() {
    let good = small_file(Codec::Null);
    let mut bad = good.clone();
    bad[200] ^= 1;
    *bad.last_mut().unwrap() ^= 1;
    for file in [good, bad] {
        let file = Bytes::from(file);
        let len = file.len() as u64;
        let listed = list(&file, len, TrailingBytes::Error, |_| 0..len);
        assert_eq!((listed.needs.len(), &listed.needs[0]), (1, &(0..len)));
    }
}

/// A scan reads 36 bytes a block, and no payloads.
#[test]
fn one_range_is_needed_per_block() {
    let payloads = vec![vec![7; 1000]; 50];
    let blocks = payloads.iter().map(|payload| block(1, payload));
    let blocks: Vec<u8> = blocks.flatten().collect();
    let head = header(&[map_block(
        &[("avro.schema", b"\"long\""), ("filling", &[0; 20_000])],
        false,
    )]);
    let file = Bytes::from([head.clone(), blocks].concat());
    let len = file.len() as u64;
    let listed = list(&file, len, TrailingBytes::Error, |need| need);
    assert_eq!((listed.entries.len(), listed.error), (50, None));
    let of_header = listed
        .needs
        .iter()
        .take_while(|need| need.start < head.len() as u64);
    let of_header = of_header.count();
    assert_eq!(listed.needs[0], 0..16 << 10);
    assert!(of_header <= 2, "{:?}", listed.needs);
    // The second read of the header has some of the blocks.
    let of_blocks = &listed.needs[of_header..];
    assert!(of_blocks.len() <= 51, "{of_blocks:?}");
    assert!(of_blocks.iter().all(|need| need.end - need.start <= 36));
    let marker = listed.entries[49].offset + listed.entries[49].len - 16;
    assert_eq!(of_blocks.last(), Some(&(marker..len)));
}

/// A scan from a block on needs the head of that block first, and gives that block and those after it.
#[test]
fn a_scan_begins_at_any_block() {
    let file = Bytes::from(small_file(Codec::Null));
    let len = file.len() as u64;
    let listed = list(&file, len, TrailingBytes::Error, |need| need);
    let header = listed.header.unwrap();
    for (index, first) in listed.entries.iter().enumerate() {
        let place = (first.offset, index as u64);
        let limits = Limits::default();
        let mut scan = IndexScan::at_block(header.sync(), place, len, limits, TrailingBytes::Error);
        let mut found = Vec::new();
        loop {
            match scan.next().unwrap() {
                Scan::Need(need) => {
                    assert!(need.start >= first.offset && need.end - need.start <= 36);
                    let bytes = file.slice(need.start as usize..need.end as usize);
                    scan.push(need.start, bytes);
                }
                Scan::Block(entry) => {
                    found.push(entry);
                    assert_eq!(scan.block_index(), Some((index + found.len()) as u64));
                }
                Scan::Header(_) => panic!("it was read before"),
                Scan::End { .. } => break,
            }
        }
        assert_eq!(found, listed.entries[index..]);
    }
}

/// A size in a header may be false, so no range is longer than all bytes that were there before.
#[test]
fn a_false_size_in_a_header_gives_short_ranges() {
    let lie = [b"Obj\x01".to_vec(), long(1), sized(b"key"), long(1 << 25)].concat();
    let file = Bytes::from([lie, vec![0; 100_000]].concat());
    let mut longest = 0;
    let listed = list(&file, 1 << 40, TrailingBytes::Error, |need| {
        longest = longest.max(need.end - need.start);
        need
    });
    assert!(listed.error.unwrap().contains("Truncated"));
    assert!((16 << 10..=100_100).contains(&longest), "{longest}");
}

#[test]
fn bytes_that_leave_a_gap_are_asked_for_again() {
    let file = Bytes::from(small_file(Codec::Null));
    let len = file.len() as u64;
    let mut scan = IndexScan::new(len, Limits::default(), TrailingBytes::Error);
    let need = scan.next().unwrap();
    assert_eq!(need, Scan::Need(0..len));
    scan.push(10, file.slice(10..));
    scan.push(10, Bytes::new());
    scan.push(u64::MAX, file.clone());
    assert_eq!(scan.next().unwrap(), need);
    scan.push(0, file.slice(..10));
    assert_eq!(scan.next().unwrap(), Scan::Need(10..len));
    // Bytes that are there already, and bytes beyond the file's length.
    scan.push(3, file.slice(3..8));
    scan.push(0, [&file[..], &[1; 99]].concat().into());
    assert!(matches!(scan.next(), Ok(Scan::Header(_))));
    for _ in 0..3 {
        assert!(matches!(scan.next(), Ok(Scan::Block(_))));
    }
    assert_eq!(scan.next().unwrap(), Scan::End { trailing_bytes: 0 });
}

#[test]
fn an_indexed_block_is_framed_from_its_bytes() {
    let file = Bytes::from(small_file(Codec::Null));
    let index = BlockIndex::from_bytes(&file).unwrap();
    let sync = index.header.sync();
    for (i, entry) in index.entries.iter().enumerate() {
        let range = entry.offset as usize..(entry.offset + entry.len) as usize;
        let bytes = file.slice(range.clone());
        let block = entry.frame(bytes.clone(), sync, i as u64).unwrap();
        let expected = block_at(&file, &index.header, entry.offset, i as u64).unwrap();
        assert_eq!(block, expected);
        assert_eq!(block.payload.as_ptr(), expected.payload.as_ptr(), "no copy");

        let head = bytes.len() - 16 - block.payload.len();
        let changed = (0..bytes.len()).filter(|at| !(head..bytes.len() - 16).contains(at));
        let changed = changed.flat_map(|at| {
            [1, 2, 0x80].map(|bits| {
                let mut bytes = bytes.to_vec();
                bytes[at] ^= bits;
                bytes
            })
        });
        let cut = (0..bytes.len()).map(|len| bytes[..len].to_vec());
        let longer = [&bytes[..], &[0]].concat();
        // The marker stands at the end, but the size is not that of the bytes.
        let moved = [&bytes[..head], &[0], &bytes[head..]].concat();
        for other in changed.chain(cut).chain([longer, moved]) {
            let error = entry.frame(other.into(), sync, 7).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::BlockChanged), "{error:?}");
            assert_eq!((error.offset, error.block), (entry.offset, Some(7)));
        }
    }
}

/// A block's values are above the default limits, but not above those it was indexed with.
#[test]
fn a_block_above_the_default_limits_is_framed() {
    let mut limits = Limits::default();
    limits.max_block_records = 1 << 40;
    let file = Bytes::from([plain_header(), block(1 << 40, &[])].concat());
    let reader = std::io::Cursor::new(&file);
    let index = BlockIndex::with_limits(reader, limits).unwrap();
    let entry = index.entries[0];
    let bytes = file.slice(entry.offset as usize..);
    let block = entry.frame(bytes, index.header.sync(), 0).unwrap();
    assert_eq!((block.count, block.payload.len()), (1 << 40, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whole_equals_chunked(
        file in any_file(),
        damages in any_damage(),
        lens in prop::collection::vec(1..60u64, 1..6),
        missing in prop_oneof![Just(0), 0..100u64],
    ) {
        let file = damaged(file, &damages);
        for trailing in CHOICES {
            check(&file, trailing, &lens);
            let shortened = list_all_ways(&file, file.len() as u64 + missing, trailing, &lens);
            prop_assert!(shortened.error.is_some() || missing == 0);
        }
    }
}

/// Lists `file` and goes on after each error, with answers of `len` bytes.
fn list_resynced(file: &[u8], trailing: TrailingBytes, len: u64) -> Told {
    let file = Bytes::copy_from_slice(file);
    let file_len = file.len() as u64;
    let mut scan = IndexScan::new(file_len, Limits::default(), trailing);
    let mut told = Told::default();
    loop {
        match scan.next() {
            Ok(Scan::Header(header)) => told.header = Some(header),
            Ok(Scan::Block(entry)) => {
                let header = told.header.as_ref().unwrap();
                let index = scan.block_index().unwrap() - 1;
                let block = block_at(&file, header, entry.offset, index);
                told.blocks.push(block.unwrap());
            }
            Ok(Scan::Need(range)) => {
                let end = (range.start + len).min(file_len);
                let bytes = file.slice(range.start as usize..end as usize);
                scan.push(range.start, bytes);
            }
            Ok(Scan::End { trailing_bytes }) => {
                told.trailing_bytes = trailing_bytes;
                break;
            }
            Err(error) => {
                told.errors.push(format!("{error} {error:?}"));
                if !scan.resync() {
                    break;
                }
            }
        }
    }
    told.skipped_bytes = scan.skipped_bytes();
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn resync_finds_what_the_framer_finds(
        file in any_file(),
        damages in any_damage(),
        len in 1..200_u64,
    ) {
        let file = damaged(file, &damages);
        for trailing in CHOICES {
            let mut told = tell(framer(trailing), pieces(&file, &[file.len().max(1)]), true);
            let listed = list_resynced(&file, trailing, len);
            told.skipped.clear();
            prop_assert_eq!(&listed, &told);
        }
    }
}
