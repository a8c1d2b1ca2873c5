//! Blocks: framing, truncation, damage and resync. The result must not depend on the pieces.
#![allow(clippy::unwrap_used)]

mod common;
mod damage;

use avro_block::{
    BlockIndex, BlockReader, Codec, ContainerPart, DecompressBuffer, Decompressor, ErrorKind,
    Frame, Framer, Limits, MappedBlocks, SyncMarker, TrailingBytes,
};
use bytes::Bytes;
use common::*;
use damage::{any_damage, any_file, damaged};
use proptest::prelude::*;

#[test]
fn blocks_know_where_they_lie() {
    let (head, first, second) = (plain_header(), block(2, &[2, 4]), block(1, &[9; 500]));
    let told = tell_whole(
        &[head.clone(), first.clone(), second.clone()].concat(),
        false,
    );
    assert_eq!(told.errors, [""; 0]);
    let [a, b] = &told.blocks[..] else {
        panic!("{told:?}");
    };
    assert_eq!((a.index, a.count, &a.payload[..]), (0, 2, &[2, 4][..]));
    assert_eq!(a.offset, head.len() as u64);
    assert_eq!(a.payload_offset(), a.offset + 2);
    assert_eq!((b.index, b.count, b.payload.len()), (1, 1, 500));
    assert_eq!(b.offset, a.offset + first.len() as u64);
    assert_eq!(b.payload_offset(), b.offset + 3);
    assert_eq!(b.len, second.len() as u64);
}

#[test]
fn blocks_of_no_records_and_of_no_bytes() {
    let file = [plain_header(), block(0, &[]), block(5, &[]), block(0, &[1])].concat();
    let told = tell_whole(&file, false);
    let counts: Vec<_> = told
        .blocks
        .iter()
        .map(|b| (b.count, b.payload.len()))
        .collect();
    assert_eq!(counts, [(0, 0), (5, 0), (0, 1)]);
    assert_eq!(told.errors, [""; 0]);
}

#[test]
fn a_payload_in_one_piece_is_not_copied() {
    let file = Bytes::from(small_file(Codec::Null));
    let blocks = MappedBlocks::from_bytes(file.clone()).unwrap();
    for block in blocks {
        let block = block.unwrap();
        let at = block.payload_offset() as usize;
        let within = &file[at..at + block.payload.len()];
        assert_eq!(block.payload.as_ptr(), within.as_ptr());
    }
}

#[test]
fn a_payload_in_a_piece_behind_its_head_is_not_copied() {
    let whole = Bytes::from(block(1, &[7; 1000]));
    for cut in 1..=whole.len() - 1016 {
        let mut framer = Framer::new();
        framer.push(plain_header().into());
        assert!(matches!(framer.next(), Ok(Frame::Header(_))));
        framer.push(whole.slice(..cut));
        framer.push(whole.slice(cut..));
        let Ok(Frame::Block(block)) = framer.next() else {
            panic!("all of the block is there");
        };
        assert_eq!(block.payload.as_ptr(), whole[whole.len() - 1016..].as_ptr());
        assert_eq!(block.payload, [7; 1000][..]);
    }
}

#[test]
fn need_more_says_what_a_block_still_needs() {
    let mut framer = Framer::new();
    framer.push(plain_header().into());
    assert!(matches!(framer.next(), Ok(Frame::Header(_))));
    assert_eq!(framer.next().unwrap(), Frame::NeedMore(18));
    let whole = block(1, &[0; 1000]);
    framer.push(Bytes::copy_from_slice(&whole[..10]));
    let missing = whole.len() as u64 - 10;
    assert_eq!(framer.next().unwrap(), Frame::NeedMore(missing));
    framer.push(Bytes::copy_from_slice(&whole[10..]));
    assert!(matches!(framer.next(), Ok(Frame::Block(_))));
}

/// The error for a file with one block of these bytes.
fn error(block: &[u8]) -> String {
    let file = [&plain_header(), block].concat();
    let told = tell_whole(&file, false);
    let (text, _) = told.errors[0].split_once(" Error").unwrap();
    let index = BlockIndex::build(std::io::Cursor::new(&file)).unwrap_err();
    assert_eq!(index.to_string(), text, "the index says the same");
    text.to_owned()
}

const REST: &str =
    "; if these bytes are no part of the file, `tolerate` 'trailing-file-bytes' leaves them out";

#[test]
fn errors_name_block_and_byte() {
    assert_eq!(plain_header().len(), 41);
    let cases = [
        (long(-6), "the record count is negative: -6", REST),
        (
            vec![0x80; 10],
            "the record count is not a variable-length integer of 64 bits",
            REST,
        ),
        (
            long(1 << 40),
            "the record count is 1099511627776, above the limit of 4294967296",
            "",
        ),
    ];
    for (bytes, text, rest) in cases {
        assert_eq!(error(&bytes), format!("block 0 at byte 41: {text}{rest}"));
    }
    let cases = [
        (long(-1), "the payload's size is negative: -1", REST),
        (
            vec![0xff; 12],
            "the payload's size is not a variable-length integer of 64 bits",
            REST,
        ),
        (
            long(i64::MAX),
            "the payload's size is 9223372036854775807, above the limit of 1073741824",
            ": raise `max_block_bytes` if the file is whole",
        ),
        (
            vec![],
            "the file ends inside the payload's size, 1 or more bytes short",
            "",
        ),
    ];
    for (size, text, rest) in cases {
        let bytes = [long(3), size].concat();
        assert_eq!(error(&bytes), format!("block 0 at byte 42: {text}{rest}"));
    }
    // The sync marker follows, so the block itself is damaged.
    let bytes = [long(-6), block(1, b"abc")].concat();
    assert_eq!(
        error(&bytes),
        "block 0 at byte 41: the record count is negative: -6"
    );
    let mut bytes = block(1, b"abc");
    *bytes.last_mut().unwrap() = b'!';
    assert_eq!(
        error(&bytes),
        "block 0 at byte 46: the sync marker does not match: expected \
         30313233343536373839616263646566, found 30313233343536373839616263646521"
    );
}

#[test]
fn a_huge_size_is_not_allocated() {
    // The limit allows the size. The framer asks for the bytes, and holds only those it has.
    let mut limits = Limits::default();
    limits.max_block_bytes = u64::MAX;
    let mut framer = Framer::with_limits(limits);
    let size = i64::MAX - 100;
    framer.push([plain_header(), long(1), long(size)].concat().into());
    assert!(matches!(framer.next(), Ok(Frame::Header(_))));
    match framer.next() {
        Ok(Frame::NeedMore(n)) => assert_eq!(n, size as u64 + 16),
        // Addresses have 32 bits.
        other => assert!(matches!(
            other.unwrap_err().kind,
            ErrorKind::TooLarge { .. }
        )),
    }
    assert!(matches!(
        framer.finish().unwrap_err().kind,
        ErrorKind::Truncated {
            part: ContainerPart::Payload,
            ..
        }
    ));
}

/// A cut at every byte gives the whole blocks, then an error unless a block ends there.
#[test]
fn truncated_at_every_byte() {
    for codec in Codec::ALL {
        if !codec.is_enabled() {
            continue;
        }
        let file = small_file(codec);
        let whole = tell_whole(&file, false);
        let header_len = whole.header.as_ref().unwrap().len();
        for cut in 0..file.len() {
            let cut_file = &file[..cut];
            let told = tell_whole(cut_file, false);
            let ends = whole.blocks.iter().map(|b| b.offset + b.len);
            let boundary = [header_len]
                .into_iter()
                .chain(ends)
                .position(|e| e == cut as u64);
            let before = whole
                .blocks
                .iter()
                .filter(|b| b.offset + b.len <= cut as u64);
            assert_eq!(
                told.blocks,
                before.cloned().collect::<Vec<_>>(),
                "{codec} {cut}"
            );
            assert_eq!(
                told.errors.is_empty(),
                boundary.is_some(),
                "{codec} {cut}: {told:?}"
            );

            let index = BlockIndex::from_bytes(&Bytes::copy_from_slice(cut_file));
            match index {
                Ok(index) => assert_eq!(index.len(), told.blocks.len()),
                Err(error) => assert_eq!(vec![format!("{error} {error:?}")], told.errors),
            }
        }
    }
}

#[test]
fn readers_give_what_the_framer_gives() {
    let file = small_file(Codec::Null);
    let told = tell_whole(&file, false);
    let mapped: Result<Vec<_>, _> = MappedBlocks::from_bytes(file.clone().into())
        .unwrap()
        .collect();
    assert_eq!(mapped.unwrap(), told.blocks);
    for buffer_size in [0, 1, 7, 100, 1 << 20] {
        let reader = BlockReader::with_buffer_size(&file[..], buffer_size).unwrap();
        assert_eq!(Some(reader.header()), told.header.as_ref());
        let blocks: Result<Vec<_>, _> = reader.collect();
        assert_eq!(blocks.unwrap(), told.blocks, "buffer of {buffer_size}");
    }
}

#[test]
fn a_reader_asks_for_no_more_than_it_was_given() {
    /// A reader that notes the longest read.
    struct Noting<'a>(&'a [u8], &'a std::cell::Cell<usize>);
    impl std::io::Read for Noting<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            self.1.set(self.1.get().max(out.len()));
            self.0.read(out)
        }
    }
    let longest = std::cell::Cell::new(0);
    let lie = [plain_header(), long(1), long(1 << 29), vec![0; 3000]].concat();
    let reader = BlockReader::with_buffer_size(Noting(&lie, &longest), 1000).unwrap();
    assert_eq!(reader.filter(Result::is_err).count(), 1);
    assert!((1000..=lie.len()).contains(&longest.get()), "{longest:?}");

    // A long block takes few reads, since their lengths double.
    longest.set(0);
    let long_block = [plain_header(), block(1, &vec![1; 1 << 20])].concat();
    let reader = BlockReader::with_buffer_size(Noting(&long_block, &longest), 1000).unwrap();
    assert_eq!(reader.filter(Result::is_ok).count(), 1);
    assert!(longest.get() > 200_000, "{longest:?}");
}

#[test]
fn a_reader_ends_at_its_error() {
    let mut file = [plain_header(), block(1, &[1]), block(2, &[2])].concat();
    file.pop();
    let mut reader = BlockReader::new(&file[..]).unwrap();
    assert!(reader.next().unwrap().is_ok());
    assert!(matches!(
        reader.next().unwrap().unwrap_err().kind,
        ErrorKind::Truncated {
            part: ContainerPart::SyncMarker,
            missing: 1
        }
    ));
    assert!(reader.next().is_none());
    assert!(reader.resync());
    assert!(reader.next().is_none());
    assert_eq!(reader.skipped_bytes(), 18);
    assert!(!reader.resync());
}

/// A reader that returns some bytes, then fails.
struct Failing<'a>(&'a [u8]);

impl std::io::Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(out)? {
            0 => Err(std::io::Error::other("the disk is gone")),
            n => Ok(n),
        }
    }
}

#[test]
fn an_error_of_reading_has_a_position_and_ends_the_iteration() {
    let file = [plain_header(), block(1, &[1]), long(1)].concat();
    let mut reader = BlockReader::new(Failing(&file)).unwrap();
    assert!(reader.next().unwrap().is_ok());
    let error = reader.next().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("block 1 at byte {}: the disk is gone", file.len())
    );
    assert!(!reader.resync());
    assert!(reader.next().is_none());
}

#[test]
fn resync_loses_only_the_damaged_block() {
    let blocks: Vec<_> = (0..4u8).map(|i| block(1, &[i; 30])).collect();
    let bogus_sizes = [0, 5, 29, 31, 47, 70, 1000, 1 << 29, i64::MAX, -1];
    for size in bogus_sizes {
        let damaged = [long(1), long(size), blocks[1][2..].to_vec()].concat();
        let file = [
            plain_header(),
            blocks[0].clone(),
            damaged.clone(),
            blocks[2].clone(),
            blocks[3].clone(),
        ]
        .concat();
        let told = tell_whole(&file, true);
        let seen: Vec<_> = told
            .blocks
            .iter()
            .map(|b| (b.index, b.payload[0]))
            .collect();
        assert_eq!(seen, [(0, 0), (2, 2), (3, 3)], "size {size}");
        let at = (plain_header().len() + blocks[0].len()) as u64;
        assert_eq!(told.skipped, [(at, damaged.len() as u64)], "size {size}");
        assert_eq!(told.skipped_bytes, damaged.len() as u64);
        assert_eq!(told.errors.len(), 1);
    }
}

/// The first payload bytes of the blocks that are left after the damage of `file`.
fn left(file: &[u8]) -> (Vec<u8>, Vec<(u64, u64)>) {
    let told = tell_whole(file, true);
    let blocks = told.blocks.iter().map(|b| b.payload[0]).collect();
    (blocks, told.skipped)
}

#[test]
fn resync_after_a_damaged_marker_keeps_the_next_block() {
    let blocks: Vec<_> = (0..4u8).map(|i| block(1, &[i; 30])).collect();
    let at = (plain_header().len() + blocks[0].len()) as u64;
    let damaged = |bytes: &[u8]| {
        let mut blocks = blocks.clone();
        let start = blocks[1].len() - bytes.len();
        blocks[1][start..].copy_from_slice(bytes);
        [plain_header(), blocks.concat()].concat()
    };
    for marker in [&[0; 16][..], &[0; 1], &[0; 20]] {
        assert_eq!(left(&damaged(marker)), (vec![0, 2, 3], vec![(at, 48)]));
    }
    // The head of the next block is damaged too.
    let mut file = damaged(&[0; 16]);
    file[at as usize + 49] ^= 2;
    assert_eq!(left(&file), (vec![0, 3], vec![(at, 96)]));
    // The size is wrong, and a block begins there by chance: the damaged block's own marker counts.
    let inner = block(1, &[9; 8]);
    let odd = [long(1), long(4), vec![1; 20], inner].concat();
    let file = [
        plain_header(),
        blocks[0].clone(),
        odd.clone(),
        blocks[2].clone(),
    ]
    .concat();
    assert_eq!(left(&file).0, [0, 9, 2]);
    // A marker before the declared end shows that the size is wrong.
    let short = [long(1), long(40), vec![1; 12], SYNC.0.to_vec()].concat();
    let file = [plain_header(), short.clone(), blocks.concat()].concat();
    assert_eq!(
        left(&file),
        (
            vec![0, 1, 2, 3],
            vec![(plain_header().len() as u64, short.len() as u64)]
        )
    );
}

#[test]
fn the_bytes_of_a_damaged_block_are_held() {
    let mut bad = block(1, &[7; 30]);
    *bad.last_mut().unwrap() ^= 1;
    let file = [plain_header(), block(1, &[1]), bad.clone(), block(1, &[2])].concat();
    let mut framer = Framer::new();
    for piece in pieces(&file, &[5]) {
        framer.push(piece);
    }
    while framer
        .next()
        .is_ok_and(|frame| !matches!(frame, Frame::NeedMore(_)))
    {}
    assert!(framer.next().is_err());
    let held = framer.held().collect::<Vec<_>>().concat();
    assert!(held.starts_with(&bad));
}

#[test]
fn a_damaged_end_is_counted_as_skipped() {
    let file = [
        plain_header(),
        block(1, &[1; 10]),
        long(1),
        long(50),
        vec![3; 20],
    ]
    .concat();
    let told = tell_whole(&file, true);
    assert_eq!(told.blocks.len(), 1);
    assert_eq!(told.skipped_bytes, 22);
    assert_eq!(told.errors.len(), 1);
}

#[test]
fn framing_can_begin_in_the_middle() {
    let file = [plain_header(), block(1, &[1; 30]), block(1, &[2; 30])].concat();
    let second = plain_header().len() + 48;
    let middle = Bytes::copy_from_slice(&file[second..]);
    let framer = Framer::at_block(SYNC, second as u64, 1, Limits::default());
    let told = tell(framer, [middle], false);
    assert_eq!(told.blocks, tell_whole(&file, false).blocks[1..]);

    // Framing can begin anywhere: it finds the next sync marker.
    let from = second - 20;
    let mut framer = Framer::at_block(SYNC, from as u64, 0, Limits::default());
    assert!(framer.resync());
    let told = tell(framer, [Bytes::copy_from_slice(&file[from..])], false);
    assert_eq!(told.skipped, [(from as u64, 20)]);
    assert_eq!(told.blocks[0].offset, second as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whole_equals_chunked(
        file in any_file(),
        damages in any_damage(),
        lens in prop::collection::vec(1..40usize, 1..8),
        resync in any::<bool>(),
    ) {
        let file = damaged(file, &damages);
        for trailing in [TrailingBytes::Error, TrailingBytes::LeaveOut] {
            let whole = tell(framer(trailing), pieces(&file, &[file.len().max(1)]), resync);
            let chunked = tell(framer(trailing), pieces(&file, &lens), resync);
            prop_assert_eq!(&whole, &chunked);
            let bytewise = tell(framer(trailing), pieces(&file, &[1]), resync);
            prop_assert_eq!(&whole, &bytewise);
        }
    }

    #[test]
    fn every_byte_is_in_a_frame_or_skipped(file in any_file(), damages in any_damage()) {
        let file = damaged(file, &damages);
        for trailing in [TrailingBytes::Error, TrailingBytes::LeaveOut] {
            let told = tell(framer(trailing), pieces(&file, &[file.len().max(1)]), true);
            if let Some(header) = &told.header {
                let framed: u64 = told.blocks.iter().map(|b| b.len).sum();
                let lost = told.skipped_bytes + told.trailing_bytes;
                prop_assert_eq!(header.len() + framed + lost, file.len() as u64);
            }
        }
    }

    #[test]
    fn the_index_says_what_the_framer_says(file in any_file(), damages in any_damage()) {
        let file = Bytes::from(damaged(file, &damages));
        for trailing in [TrailingBytes::Error, TrailingBytes::LeaveOut] {
        let told = tell(framer(trailing), pieces(&file, &[file.len().max(1)]), false);
        let reader = std::io::Cursor::new(&file);
        let index = match BlockIndex::before_damage(reader, Limits::default(), trailing) {
            Ok((index, None)) => Ok(index),
            Ok((_, Some(error))) | Err(error) => Err(error),
        };
        match index {
            Ok(index) => {
                prop_assert_eq!(&told.errors, &[""; 0]);
                prop_assert_eq!(index.trailing_bytes, told.trailing_bytes);
                prop_assert_eq!(Some(&index.header), told.header.as_ref());
                prop_assert_eq!(index.records(), told.blocks.iter().map(|b| b.count).sum::<u64>());
                let indexed: Vec<_> = index.entries.iter()
                    .map(|e| (e.offset, e.len, e.count, e.payload_len))
                    .collect();
                let framed: Vec<_> = told.blocks.iter()
                    .map(|b| (b.offset, b.len, b.count, b.payload.len() as u64))
                    .collect();
                prop_assert_eq!(indexed, framed);
            }
            Err(error) => prop_assert_eq!(vec![format!("{error} {error:?}")], told.errors),
        }
        }
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let behind_a_header = [plain_header(), bytes.clone()].concat();
        for file in [bytes, behind_a_header] {
            let told = tell_whole(&file, true);
            let mut out = DecompressBuffer::new();
            for block in told.blocks {
                Decompressor::new().decompress(Codec::Null, &block.payload, &mut out, 100).unwrap_or(());
            }
        }
    }
}

#[test]
fn find_sync_finds_each_marker_in_turn() {
    let marker = SyncMarker([9; 16]);
    let mut bytes = vec![9; 40];
    bytes.push(0);
    assert_eq!(avro_block::find_sync(&bytes, &marker, 0), Some(0));
    assert_eq!(avro_block::find_sync(&bytes, &marker, 24), Some(24));
    assert_eq!(avro_block::find_sync(&bytes, &marker, 25), None);
    assert_eq!(avro_block::find_sync(&bytes, &marker, 41), None);
    assert_eq!(avro_block::find_sync(&bytes, &marker, 42), None);
}
