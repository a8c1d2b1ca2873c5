//! Every single-byte change and truncation of small files of each codec.

use std::fs;
use std::path::Path;

use atds::Codec;
use atds::avro::records::Records;
use atds::avro::verify::verify;
use serde_json::Value;

use crate::common::{CODECS, Folder, rows_file};
use crate::{ids, ranges, repaired};

/// The values of a file, and whether an error ended them.
fn values(path: &Path) -> (Vec<Value>, bool) {
    let Ok(records) = Records::open(path) else {
        return (Vec::new(), true);
    };
    let mut values = Vec::new();
    for record in records {
        match record {
            Ok(value) => values.push(value),
            Err(_) => return (values, true),
        }
    }
    (values, false)
}

/// Whether the codec's payloads have a checksum.
fn is_checked(codec: Codec) -> bool {
    !matches!(codec, Codec::Null | Codec::Deflate)
}

#[test]
fn each_byte() {
    let folder = Folder::new();
    for codec in CODECS {
        let whole = rows_file(0..9, 3, codec);
        let blocks = ranges(&whole);
        let path = folder.write("x.avro", &whole);
        let (right, _) = values(&path);
        let (mut changes, mut hidden) = (0, 0);
        for at in 0..whole.len() {
            // All of a block, a part of the long header.
            if at < blocks[0].start - 40 && at % 13 != 0 {
                continue;
            }
            for flip in [0x01, 0x80] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                fs::write(&path, &bytes).unwrap();
                let found = verify(&path).unwrap();
                let (read, failed) = values(&path);
                let of = format!("{codec}, byte {at} ^ {flip:#x}");
                assert!(!failed || !found.is_well(), "{of}: the reader fails");
                if at < blocks[0].start - 16 {
                    continue;
                }
                if is_checked(codec) {
                    assert!(read == right || !found.is_well(), "{of}: other values");
                }
                if at >= blocks[0].start {
                    changes += 1;
                    hidden += u64::from(found.is_well());
                }
                let hit = blocks.iter().position(|block| block.contains(&at));
                if at % 5 == 0 {
                    let (found, repaired) = repaired(&folder, &bytes);
                    assert!(repaired.is_some(), "{of}");
                    // Without a checksum, other values may be read of the block.
                    if found.is_well() && !is_checked(codec) {
                        continue;
                    }
                    let lost = if found.is_well() { None } else { hit };
                    let kept: Vec<i64> = (0..9)
                        .filter(|id| Some((id / 3) as usize) != lost)
                        .collect();
                    assert_eq!(
                        ids(&folder.join("out.avro")),
                        kept,
                        "{of}: {:?}",
                        found.damages
                    );
                }
            }
        }
        // `docs/errors.md` has these figures. With a checksum, changes of unused bits are not seen.
        let percent = 100 * hidden / changes;
        let expected = match codec {
            Codec::Null => 40..=50,
            Codec::Deflate => 20..=30,
            _ => 0..=2,
        };
        let of = format!("{codec}: {hidden} of {changes} changes are not seen");
        assert!(expected.contains(&percent), "{of}");
    }
}

#[test]
fn each_truncation() {
    let folder = Folder::new();
    for codec in CODECS {
        let whole = rows_file(0..6, 2, codec);
        let blocks = ranges(&whole);
        let path = folder.join("x.avro");
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            let found = verify(&path).unwrap();
            let is_between = blocks.iter().any(|block| block.start == len);
            assert_eq!(found.is_well(), is_between, "{codec}: {len}");
            let blocks = blocks.iter().filter(|block| block.end <= len).count();
            assert_eq!(found.blocks as usize, blocks, "{codec}: {len}");
            if !is_between {
                let causes: Vec<_> = found
                    .damages
                    .iter()
                    .map(|damage| damage.cause.name())
                    .collect();
                let cause = if len == 0 { "never-written" } else { "cut" };
                assert_eq!(causes, [cause], "{codec}: {len}");
            }
        }
    }
}

/// Random numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Changes bytes, or inserts, removes, copies or cuts some.
fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    let len = [1, 2, 16, 18, 40, 300][random.below(6)];
    let end = (at + len).min(bytes.len());
    match random.below(7) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at..end].fill(0),
        2 => bytes[at..end]
            .iter_mut()
            .for_each(|byte| *byte = random.below(256) as u8),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let part = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, part);
        }
        5 => {
            let from = random.below(other.len());
            let part = other[from..].iter().take(5 * len).copied();
            bytes.splice(at..at, part.collect::<Vec<_>>());
        }
        _ => bytes.truncate(at),
    }
}

/// A file is well if, and only if, all of it can be read; what is repaired is well.
#[test]
fn many_changes_of_files_of_other_programs() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let files = atds::Files::from(&testdata)
        .recursive(true)
        .resolve()
        .unwrap();
    let files: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let files: Vec<_> = files
        .into_iter()
        .filter(|file| file.len() < 20_000)
        .collect();
    assert!(files.len() > 20);
    let (folder, mut random) = (Folder::new(), Random(7));
    let mut outcomes = [0; 2];
    for _ in 0..600 {
        let (file, other) = (random.below(files.len()), random.below(files.len()));
        let mut bytes = files[file].clone();
        for _ in 0..random.below(4) {
            damage(&mut bytes, &files[other], &mut random);
        }
        let (found, _) = repaired(&folder, &bytes);
        let (_, failed) = values(&folder.join("in.avro"));
        assert_eq!(found.is_well(), !failed, "{:?}", found.damages);
        let lost: u64 = found.damages.iter().map(|damage| damage.bytes).sum();
        assert!(lost <= bytes.len() as u64);
        outcomes[usize::from(failed)] += 1;
    }
    assert!(outcomes.iter().all(|&files| files > 100), "{outcomes:?}");
}
