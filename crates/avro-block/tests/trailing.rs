//! Bytes after the last block are named, can be left out, and are told from damage.
#![allow(clippy::unwrap_used)]

mod common;

use avro_block::{BlockIndex, BlockReader, Codec, ErrorKind, Found, Limits, TrailingBytes};
use common::*;

/// A file of two blocks.
fn file() -> Vec<u8> {
    [plain_header(), block(3, &[2, 4, 6]), block(1, &[8])].concat()
}

/// The output of all readers for a file with these bytes after its last block.
fn told(tail: &[u8], trailing: TrailingBytes) -> Told {
    let file = [file(), tail.to_vec()].concat();
    let told = tell(framer(trailing), pieces(&file, &[file.len()]), false);
    assert_eq!(told.blocks.len(), 2, "all blocks come first");
    for len in [1, 3, 100] {
        assert_eq!(tell(framer(trailing), pieces(&file, &[len]), false), told);
    }
    let mut reader = BlockReader::with_buffer_size(&file[..], 10).unwrap();
    reader.set_trailing_bytes(trailing);
    let read: Vec<_> = reader.by_ref().collect();
    assert_eq!(read.iter().filter(|block| block.is_ok()).count(), 2);
    assert_eq!(read.len() - 2, told.errors.len());
    assert_eq!(reader.trailing_bytes(), told.trailing_bytes);
    let cursor = std::io::Cursor::new(&file);
    let (index, damage) = BlockIndex::before_damage(cursor, Limits::default(), trailing).unwrap();
    assert_eq!(index.entries.len(), 2);
    assert_eq!(index.trailing_bytes, told.trailing_bytes);
    let damage: Vec<_> = damage.iter().map(|e| format!("{e} {e:?}")).collect();
    assert_eq!(damage, told.errors);
    told
}

fn long_tail(start: &[u8]) -> Vec<u8> {
    let mut tail = start.to_vec();
    // No byte occurs in a sync marker.
    tail.extend((0..300_000u64).map(|i| (i * i % 251) as u8 | 0x80));
    tail
}

#[test]
fn what_is_no_part_of_the_file_is_named_and_can_be_left_out() {
    let other = small_file(Codec::Null);
    let mut huge_zeros = vec![0; 1 << 20];
    huge_zeros[0] = 0;
    let cases: Vec<(Vec<u8>, Found)> = vec![
        (b"\n".to_vec(), Found::Whitespace),
        (b"\r\n".to_vec(), Found::Whitespace),
        (b"\n\0\0 ".to_vec(), Found::Whitespace),
        (vec![0], Found::Zeros),
        (vec![0; 17], Found::Zeros),
        (vec![0; 18], Found::Zeros),
        (vec![0; 4096], Found::Zeros),
        (huge_zeros, Found::Zeros),
        (vec![0xff; 512], Found::Padding { byte: 0xff }),
        (vec![4; 512], Found::Padding { byte: 4 }),
        // A second file with the same marker, and after a truncated one.
        (other.clone(), Found::SecondFile),
        (file(), Found::SecondFile),
        (file()[..5].to_vec(), Found::SecondFile),
        ([other.clone(), other].concat(), Found::SecondFile),
        (b"-- end of file --\n".to_vec(), Found::Text),
        (
            b"d41d8cd98f00b204e9800998ecf8427e  a.avro\n".to_vec(),
            Found::Text,
        ),
        (b"hello".to_vec(), Found::Text),
        // No block begins with these bytes.
        (long_tail(b"\x01"), Found::Unknown),
        ([long(-3), vec![9; 3], vec![1; 30]].concat(), Found::Unknown),
        (
            [long(3), long(-3), vec![1; 30], vec![2; 30]].concat(),
            Found::Unknown,
        ),
        // A block may begin with these bytes, but its end does not match.
        (
            [long(3), long(3), vec![200; 50], vec![1]].concat(),
            Found::Unknown,
        ),
    ];
    for (tail, found) in cases {
        let left_out = told(&tail, TrailingBytes::LeaveOut);
        assert_eq!(left_out.errors, [""; 0], "{found}");
        assert_eq!(left_out.trailing_bytes, tail.len() as u64, "{found}");
        let error = told(&tail, TrailingBytes::Error);
        let [error] = &error.errors[..] else {
            panic!("one error");
        };
        assert!(
            error.contains("`tolerate` 'trailing-file-bytes'"),
            "{error}"
        );
        assert!(
            error.contains(&format!("NotABlock {{ found: {found:?}")),
            "{error}"
        );
        let block = format!("block 2 at byte {}", file().len());
        assert!(error.starts_with("block 2 at byte "), "{error} {block}");
    }
}

/// Damage never counts as the end of the file.
#[test]
fn damage_is_an_error_whatever_is_left_out() {
    let whole = block(2, &[10, 12]);
    let mut wrong_marker = whole.clone();
    wrong_marker[5] ^= 1;
    let mut wrong_size = whole.clone();
    wrong_size[1] += 2;
    let mut wrong_count = whole.clone();
    wrong_count[0] = long(-2)[0];
    let long_block = block(7, &[200; 100]);
    let cases = [
        // In the last block.
        wrong_marker.clone(),
        wrong_size.clone(),
        wrong_count.clone(),
        // In a block before others.
        [wrong_marker, whole.clone()].concat(),
        [wrong_size, whole.clone()].concat(),
        [wrong_count.clone(), whole.clone()].concat(),
        // Between blocks.
        [vec![0; 4096], whole.clone()].concat(),
        [b"\n".to_vec(), whole.clone()].concat(),
        [vec![0xff; 200_000], whole.clone()].concat(),
        [b"a line of text\n".to_vec(), whole.clone()].concat(),
        // The file is cut short.
        long_block[..long_block.len() - 1].to_vec(),
        long_block[..long_block.len() - 16].to_vec(),
        long_block[..50].to_vec(),
        long_block[..3].to_vec(),
        long_block[..1].to_vec(),
    ];
    for tail in cases {
        let told = told(&tail, TrailingBytes::LeaveOut);
        assert_eq!(told.errors.len(), 1, "{tail:?}");
        assert_eq!(told.trailing_bytes, 0);
        assert!(!told.errors[0].contains("tolerate"), "{}", told.errors[0]);
    }
}

/// Every cut is found, unless only white space of a block is left.
#[test]
fn a_cut_at_any_byte_is_no_end() {
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_enabled()) {
        let file = small_file(codec);
        let whole = tell_whole(&file, false);
        let mut starts: Vec<_> = whole
            .blocks
            .iter()
            .map(|block| block.offset as usize)
            .collect();
        starts.push(file.len());
        for cut in starts[0]..file.len() {
            let start = starts.iter().rfind(|&&start| start <= cut).unwrap();
            let rest = &file[*start..cut];
            let is_blank = rest
                .iter()
                .all(|&byte| byte == 0 || byte.is_ascii_whitespace());
            let told = tell(
                framer(TrailingBytes::LeaveOut),
                pieces(&file[..cut], &[cut]),
                false,
            );
            assert_eq!(told.errors.is_empty(), is_blank, "{codec} {cut}: {rest:?}");
        }
    }
}

#[test]
fn after_damage_resync_goes_on_where_blocks_go_on() {
    let damage = [long(-3), vec![7; 200_000]].concat();
    let tail = b"\nand some text".to_vec();
    let file = [
        file(),
        damage.clone(),
        block(1, &[1]),
        block(1, &[2]),
        tail.clone(),
    ]
    .concat();
    for trailing in [TrailingBytes::Error, TrailingBytes::LeaveOut] {
        for len in [1000, file.len()] {
            let told = tell(framer(trailing), pieces(&file, &[len]), true);
            // The first block after the damage is lost too, since the search ends at its marker.
            let payloads: Vec<_> = told.blocks.iter().map(|block| block.payload[0]).collect();
            assert_eq!(payloads, [2, 8, 2]);
            assert_eq!(told.skipped[0].1, damage.len() as u64 + 19);
            match trailing {
                TrailingBytes::Error => assert_eq!(told.errors.len(), 2),
                _ => {
                    assert_eq!(told.errors.len(), 1);
                    assert_eq!(told.trailing_bytes, tail.len() as u64);
                }
            }
        }
    }
}

#[test]
fn a_file_without_blocks_may_be_followed_by_bytes() {
    let file = [plain_header(), b"\n\n".to_vec()].concat();
    let told = tell(framer(TrailingBytes::LeaveOut), pieces(&file, &[5]), false);
    assert_eq!((told.blocks.len(), told.trailing_bytes), (0, 2));
    let error = BlockReader::new(&file[..])
        .unwrap()
        .next()
        .unwrap()
        .unwrap_err();
    assert!(matches!(
        error.kind,
        ErrorKind::NotABlock {
            found: Found::Whitespace,
            ..
        }
    ));
}
