//! Blocks: framing in pieces, and the index.

/// The output of a framer, and unusual bytes: shared with the tests of avro-block.
#[path = "../../../crates/avro-block/tests/common/mod.rs"]
pub(super) mod model;

use avro_block::TrailingBytes;
use bytes::Bytes;

use super::input::{Input, piece_lens};

/// See [`FRAMER_CHUNKED`](super::FRAMER_CHUNKED).
pub(super) fn whole_equals_chunked(data: &[u8]) {
    for file in [data.to_vec(), odd_file(data)] {
        for resync in [false, true] {
            for trailing in CHOICES {
                let pieces = |lens: &[usize]| model::pieces(&file, lens);
                let tell = |pieces| model::tell(model::framer(trailing), pieces, resync);
                let whole = tell(pieces(&[file.len().max(1)]));
                for lens in [vec![1], piece_lens(&file)] {
                    assert_eq!(tell(pieces(&lens)), whole);
                }
                if let (Some(header), true) = (&whole.header, resync) {
                    let framed: u64 = whole.blocks.iter().map(|block| block.len).sum();
                    let lost = whole.skipped_bytes + whole.trailing_bytes;
                    let told = header.len() + framed + lost;
                    assert_eq!(told, file.len() as u64, "every byte is told of once");
                }
            }
        }
    }
}

/// See [`INDEX_VS_FRAMER`](super::INDEX_VS_FRAMER).
pub(super) fn index_equals_framer(data: &[u8]) {
    for file in [data.to_vec(), odd_file(data)] {
        for trailing in CHOICES {
            let pieces = model::pieces(&file, &[file.len().max(1)]);
            let told = model::tell(model::framer(trailing), pieces, false);
            let listed = model::list_whole(&file, trailing);
            assert_eq!(Vec::from_iter(listed.error.clone()), told.errors);
            assert_eq!(listed.trailing_bytes, told.trailing_bytes);
            assert_eq!(listed.header, told.header);
            let listed_blocks = listed.entries.iter();
            let listed_blocks = listed_blocks.map(|e| (e.offset, e.len, e.count, e.payload_len));
            let framed = told.blocks.iter();
            let framed = framed.map(|b| (b.offset, b.len, b.count, b.payload.len() as u64));
            assert!(listed_blocks.eq(framed), "{listed:?} {:?}", told.blocks);

            let bytes = Bytes::from(file.clone());
            for lens in [vec![1], piece_lens(&file)] {
                let mut lens = lens.iter().cycle();
                let pushed = model::list(&bytes, file.len() as u64, trailing, |need| {
                    let len = *lens.next().expect("a cycle of one or more");
                    need.start..need.start + len as u64
                });
                let needs = pushed.needs.clone();
                let listed = model::Listed {
                    needs,
                    ..model::list_whole(&file, trailing)
                };
                assert_eq!(pushed, listed);
            }
        }
    }
}

const CHOICES: [TrailingBytes; 2] = [TrailingBytes::Error, TrailingBytes::LeaveOut];

/// A valid header, then blocks, and bytes that may look like parts of blocks.
fn odd_file(data: &[u8]) -> Vec<u8> {
    let mut input = Input::new(data);
    let mut file = model::plain_header();
    while !input.is_empty() {
        let part = match input.byte() % 10 {
            0..3 => {
                let (count, len) = (input.byte() % 4, input.byte());
                model::block(count.into(), input.take(len.into()))
            }
            3 => model::SYNC.0.to_vec(),
            4 => {
                let len = input.byte() % 16;
                model::SYNC.0[..len.into()].to_vec()
            }
            8 => vec![input.byte(); 20],
            9 => b"Obj\x01".to_vec(),
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
