//! Where blocks begin, after damage that hides it.

use atds::Codec;
use atds::avro::verify::verify;

use crate::common::{CODECS, Folder, SCHEMA, SYNC, container};
use crate::kinds::Damage;
use crate::{file, ids, ranges, repaired, row_of, without};

/// Damage that ends just before a block hides where it begins. Where payloads are compressed, it is found.
#[test]
fn a_block_after_a_lost_one_is_found() {
    let folder = Folder::new();
    for codec in CODECS {
        let whole = file(codec);
        let blocks = ranges(&whole);
        for (name, damage) in [
            (
                "overwritten",
                (|bytes, blocks| {
                    let (start, end) = (blocks[1].end - 8, blocks[2].end - 3);
                    for (i, byte) in bytes[start..end].iter_mut().enumerate() {
                        *byte = (i * 37 % 251) as u8 | 1;
                    }
                }) as Damage,
            ),
            ("inserted", |bytes, blocks| {
                let noise: Vec<u8> = (0..99u8).map(|i| i.wrapping_mul(73) | 1).collect();
                bytes.splice(blocks[2].end..blocks[2].end, noise);
            }),
        ] {
            let mut bytes = whole.clone();
            damage(&mut bytes, &blocks);
            let (found, _) = repaired(&folder, &bytes);
            let mut lost = if name == "inserted" {
                vec![]
            } else {
                vec![1, 2]
            };
            if codec == Codec::Null {
                lost.push(3);
            }
            assert_eq!(
                ids(&folder.join("out.avro")),
                without(&lost),
                "{codec}, {name}: {:?}",
                found.damages
            );
            assert_eq!(found.lost.parts, 1);
        }
    }
}

/// The size of a block was changed so that it ends where a later block does.
#[test]
fn blocks_inside_a_block_are_found() {
    let folder = Folder::new();
    let row = |text: &str| row_of(text);
    let blocks: Vec<_> = (b'a'..=b'f')
        .map(|letter| (1, row(&char::from(letter).to_string().repeat(70))))
        .collect();
    let whole = container(SCHEMA, Codec::Null, blocks);
    let ranges = ranges(&whole);
    let (len, size) = (ranges[0].len(), ranges[0].len() - 16 - 3);
    assert!(ranges.iter().all(|block| block.len() == len));
    for swallowed in 1..5 {
        let mut bytes = whole.clone();
        let mut head = Vec::new();
        avro_decode::encode::write_long(&mut head, (size + swallowed * len) as i64);
        bytes[ranges[1].start + 1..][..2].copy_from_slice(&head);
        // And the last block inside is damaged too, or the next one.
        for damaged in [None, Some(3)] {
            let mut bytes = bytes.clone();
            if let Some(block) = damaged {
                bytes[ranges[block].start] |= 1;
            }
            let (found, _) = repaired(&folder, &bytes);
            let lost: Vec<usize> = [Some(1), damaged].into_iter().flatten().collect();
            assert_eq!(
                found.blocks,
                6 - lost.len() as u64,
                "{swallowed}: {:?}",
                found.damages
            );
            let places = found
                .damages
                .iter()
                .map(|damage| (damage.offset, damage.bytes));
            let expected = lost
                .iter()
                .map(|&block| (ranges[block].start as u64, len as u64));
            assert!(places.eq(expected), "{swallowed}: {:?}", found.damages);
            assert_eq!(found.damages[0].cause.name(), "wrong-size");
        }
    }
}

/// Blocks that claim what they cannot have take neither memory nor time.
#[test]
fn hostile_counts_and_sizes() {
    let folder = Folder::new();
    let nulls = container("\"null\"", Codec::Null, [(1 << 21, Vec::new())]);
    let found = verify(folder.write("x.avro", &nulls)).unwrap();
    assert_eq!((found.lost.parts, found.records), (1, 0));
    let longs = container(
        "\"long\"",
        Codec::Null,
        [(1 << 32, vec![2; 5]), (5, vec![2; 5])],
    );
    let found = verify(folder.write("x.avro", &longs)).unwrap();
    assert_eq!(
        (found.damages[0].cause.name(), found.records),
        ("wrong-count", 5)
    );
    let mut huge = container("\"long\"", Codec::Null, [(5, vec![2; 5])]);
    // One record, 2^29 bytes of it.
    huge.extend([2, 0x80, 0x80, 0x80, 0x80, 0x04, 7, 7, 7]);
    huge.extend(SYNC.0);
    huge.extend(&container("\"long\"", Codec::Null, [(3, vec![4; 3])])[huge.len() - 34 - 24..]);
    let found = verify(folder.write("x.avro", &huge)).unwrap();
    assert!(found.lost.parts >= 1);
}
