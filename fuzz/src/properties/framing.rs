//! Blocks: the framer in pieces, and the index.

/// What a framer says of a file, and odd bytes made by hand: the model of avro-block's own tests.
#[path = "../../../crates/avro-block/tests/common/mod.rs"]
pub(super) mod model;

use avro_block::{BlockIndex, Framer};
use bytes::Bytes;

use super::input::{Input, piece_lens};

/// See [`FRAMER_CHUNKED`](super::FRAMER_CHUNKED).
pub(super) fn whole_equals_chunked(data: &[u8]) {
    for file in [data.to_vec(), odd_file(data)] {
        for resync in [false, true] {
            let whole = model::tell_whole(&file, resync);
            for lens in [vec![1], piece_lens(&file)] {
                let pieces = model::pieces(&file, &lens);
                assert_eq!(model::tell(Framer::new(), pieces, resync), whole);
            }
            if let (Some(header), true) = (&whole.header, resync) {
                let framed: u64 = whole.blocks.iter().map(|block| block.len).sum();
                let told = header.len() + framed + whole.skipped_bytes;
                assert_eq!(told, file.len() as u64, "every byte is told of once");
            }
        }
    }
}

/// See [`INDEX_VS_FRAMER`](super::INDEX_VS_FRAMER).
pub(super) fn index_equals_framer(data: &[u8]) {
    for file in [data.to_vec(), odd_file(data)] {
        let told = model::tell_whole(&file, false);
        match BlockIndex::from_bytes(&Bytes::from(file)) {
            Ok(index) => {
                assert_eq!(told.errors, [""; 0]);
                assert_eq!(Some(&index.header), told.header.as_ref());
                let indexed = index.entries.iter();
                let indexed = indexed.map(|e| (e.offset, e.len, e.count, e.payload_len));
                let framed = told.blocks.iter();
                let framed = framed.map(|b| (b.offset, b.len, b.count, b.payload.len() as u64));
                assert!(indexed.eq(framed), "{:?} {:?}", index.entries, told.blocks);
            }
            Err(error) => assert_eq!(vec![format!("{error} {error:?}")], told.errors),
        }
    }
}

/// A good header, then blocks and what may be taken for parts of blocks.
fn odd_file(data: &[u8]) -> Vec<u8> {
    let mut input = Input::new(data);
    let mut file = model::plain_header();
    while !input.is_empty() {
        let part = match input.byte() % 8 {
            0..3 => {
                let (count, len) = (input.byte() % 4, input.byte());
                model::block(count.into(), input.take(len.into()))
            }
            3 => model::SYNC.0.to_vec(),
            4 => {
                let len = input.byte() % 16;
                model::SYNC.0[..len.into()].to_vec()
            }
            5 => model::long(i64::from_le_bytes(input.array())),
            6 => model::long((input.byte() as i8).into()),
            _ => {
                let len = input.byte() % 32;
                input.take(len.into()).to_vec()
            }
        };
        file.extend(part);
    }
    file
}
