//! Each kind of damage, in files of each codec: its place, its probable cause, and what is lost.

use std::ops::Range;

use atds::Codec;
use atds::avro::verify::verify;

use crate::common::{CODECS, Folder, SCHEMA, container};
use crate::{BLOCKS, PER_BLOCK, file, ids, ranges, repaired, row_of, without};

/// Damages the bytes of a file with blocks in these ranges.
pub(crate) type Damage = fn(&mut Vec<u8>, &[Range<usize>]);

struct Kind {
    name: &'static str,
    damage: Damage,
    /// The causes that are right; with "" if some codecs do not show this damage.
    causes: &'static [&'static str],
    /// The blocks that are lost.
    lost: &'static [usize],
    /// Number of records that are lost, if it is told. `usize::MAX` if that depends on the codec.
    records: Option<usize>,
}

const ANY: Option<usize> = Some(usize::MAX);
const OTHER: [u8; 16] = *b"another one, 16!";

/// A block with the marker of another file.
fn foreign(bytes: &[u8], block: &Range<usize>) -> Vec<u8> {
    let mut block = bytes[block.clone()].to_vec();
    let end = block.len();
    block[end - 16..].copy_from_slice(&OTHER);
    block
}

/// The last byte of block 2's payload.
fn payload_end(blocks: &[Range<usize>]) -> usize {
    blocks[2].end - 17
}

fn kinds() -> Vec<Kind> {
    let kind = |name, damage, causes, lost, records| Kind {
        name,
        damage,
        causes,
        lost,
        records,
    };
    let of_block = Some(PER_BLOCK);
    vec![
        kind(
            "a byte of the marker",
            |bytes, blocks| bytes[blocks[2].end - 3] ^= 1,
            &["overwritten"],
            &[2],
            of_block,
        ),
        kind(
            "the marker",
            |bytes, blocks| {
                let end = blocks[2].end;
                bytes[end - 16..end].copy_from_slice(b"0123456789abcdef");
            },
            &["marker"],
            &[2],
            of_block,
        ),
        kind(
            "zeros over the marker and what is around it",
            |bytes, blocks| {
                let end = blocks[2].end;
                bytes[end - 20..end + 2].fill(0);
            },
            &["zero-filled"],
            &[2, 3],
            None,
        ),
        kind(
            "zeros over two blocks",
            |bytes, blocks| {
                bytes[blocks[2].start + 5..blocks[3].end - 30].fill(0);
            },
            &["zero-filled"],
            &[2, 3],
            None,
        ),
        kind(
            "zeros to the end",
            |bytes, blocks| {
                bytes[blocks[5].start + 20..].fill(0);
            },
            &["zero-filled"],
            &[5],
            None,
        ),
        kind(
            "the count is one more",
            |bytes, blocks| bytes[blocks[2].start] += 2,
            &["wrong-count"],
            &[2],
            of_block,
        ),
        kind(
            "the count is one less",
            |bytes, blocks| bytes[blocks[2].start] -= 2,
            &["wrong-count"],
            &[2],
            of_block,
        ),
        kind(
            "the count is negative",
            |bytes, blocks| bytes[blocks[2].start] |= 1,
            &["overwritten"],
            &[2],
            None,
        ),
        kind(
            "the size is larger",
            |bytes, blocks| bytes[blocks[2].start + 1] ^= 0x02,
            &["wrong-size"],
            &[2],
            of_block,
        ),
        kind(
            "the size is far larger",
            |bytes, blocks| bytes[blocks[2].start + 2] |= 0x40,
            &["wrong-size"],
            &[2],
            of_block,
        ),
        kind(
            "a byte is missing",
            |bytes, blocks| {
                bytes.remove(blocks[2].start + 9);
            },
            &["missing"],
            &[2],
            None,
        ),
        kind(
            "ten bytes are missing",
            |bytes, blocks| {
                bytes.drain(blocks[2].start + 9..blocks[2].start + 19);
            },
            &["missing"],
            &[2],
            None,
        ),
        kind(
            "a byte too many",
            |bytes, blocks| bytes.insert(blocks[2].start + 9, 7),
            &["added"],
            &[2],
            None,
        ),
        kind(
            "the file is cut in a payload",
            |bytes, blocks| bytes.truncate(blocks[5].end - 30),
            &["cut"],
            &[5],
            of_block,
        ),
        kind(
            "the file is cut in a marker",
            |bytes, blocks| bytes.truncate(blocks[5].end - 1),
            &["cut"],
            &[5],
            of_block,
        ),
        kind(
            "the file is cut in a head",
            |bytes, blocks| bytes.truncate(blocks[5].start + 1),
            &["cut"],
            &[5],
            None,
        ),
        kind(
            "a block of another file at the end",
            |bytes, blocks| {
                bytes.extend(foreign(bytes, &blocks[1]));
            },
            &["other-file"],
            &[],
            of_block,
        ),
        kind(
            "blocks of another file at the end",
            |bytes, blocks| {
                let two = [foreign(bytes, &blocks[1]), foreign(bytes, &blocks[2])].concat();
                bytes.extend(two);
            },
            &["other-file"],
            &[],
            None,
        ),
        kind(
            "a block of another file in the middle",
            |bytes, blocks| {
                let block = foreign(bytes, &blocks[1]);
                bytes.splice(blocks[2].end..blocks[2].end, block);
            },
            &["marker"],
            &[],
            of_block,
        ),
        kind(
            "another file",
            |bytes, _| bytes.extend(bytes.clone()),
            &["second-file"],
            &[],
            None,
        ),
        kind(
            "a newline",
            |bytes, _| bytes.push(b'\n'),
            &["after-the-end"],
            &[],
            Some(0),
        ),
        kind(
            "text",
            |bytes, _| bytes.extend(b"-- end of file --"),
            &["after-the-end"],
            &[],
            Some(0),
        ),
        kind(
            "zeros",
            |bytes, _| bytes.extend([0; 100]),
            &["zero-filled"],
            &[],
            Some(0),
        ),
        kind(
            "the marker of the header",
            |bytes, blocks| bytes[blocks[0].start - 5] ^= 0x10,
            &["overwritten"],
            &[],
            Some(0),
        ),
        kind(
            "zeros over the marker of the header",
            |bytes, blocks| {
                let end = blocks[0].start;
                bytes[end - 16..end].fill(0);
            },
            &["overwritten"],
            &[],
            Some(0),
        ),
        kind(
            "a byte of a payload",
            |bytes, blocks| bytes[payload_end(blocks) - 60] ^= 0x55,
            &["overwritten", ""],
            &[2],
            ANY,
        ),
    ]
}

#[test]
fn each_kind_of_damage_is_found_and_loses_its_blocks_only() {
    let folder = Folder::new();
    let mut problems = Vec::new();
    for codec in CODECS {
        let whole = file(codec);
        let blocks = ranges(&whole);
        for kind in kinds() {
            let mut bytes = whole.clone();
            (kind.damage)(&mut bytes, &blocks);
            let (found, repaired) = repaired(&folder, &bytes);
            let causes: Vec<_> = found
                .damages
                .iter()
                .map(|damage| damage.cause.name())
                .collect();
            let is_seen = !causes.is_empty() || !kind.causes.contains(&"");
            let is_right = causes.iter().all(|cause| kind.causes.contains(cause));
            let lost = if causes.is_empty() {
                &[][..]
            } else {
                kind.lost
            };
            let kept = ids(&folder.join("out.avro"));
            let mut check = |what: &str, is_right: bool| {
                if !is_right {
                    let (name, damages) = (kind.name, &found.damages);
                    problems.push(format!(
                        "{codec}, {name}: {what}: {causes:?} {kept:?} {damages:?}"
                    ));
                }
            };
            check("cause", is_seen && is_right);
            check("one part", causes.len() <= 1);
            check("repaired", repaired.is_some());
            if !causes.is_empty() || codec != Codec::Null {
                check("records", kept == without(lost));
            }
            let records = found.damages.first().and_then(|damage| damage.records);
            let expected = kind.records.map(|records| records as u64);
            check(
                "lost records",
                kind.records == ANY || causes.is_empty() || records == expected,
            );
            let lost_bytes: usize = bytes.len()
                - found
                    .damages
                    .first()
                    .map_or(0, |damage| damage.bytes as usize);
            let kept_bytes: usize = (0..BLOCKS)
                .filter(|block| !lost.contains(block))
                .map(|block| blocks[block].len())
                .sum();
            let is_header = found
                .damages
                .first()
                .is_some_and(|damage| damage.offset < blocks[0].start as u64);
            if !causes.is_empty() && !is_header {
                check("lost bytes", lost_bytes == blocks[0].start + kept_bytes);
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn newlines_that_were_converted_are_told() {
    let folder = Folder::new();
    let text = "one\ntwo\nthree\nfour\n";
    let row = |text: &str| row_of(&text.repeat(20));
    let to_crlf = |text: &[u8]| text.escape_ascii().to_string().replace("\\n", "\\r\\n");
    assert_eq!(to_crlf(b"a\n"), "a\\r\\n");
    let blocks = |text: &str| (0..4).map(|_| (1, row(text))).collect::<Vec<_>>();
    let plain = container(SCHEMA, Codec::Null, blocks(text));
    let mut converted = Vec::new();
    for byte in plain {
        if byte == b'\n' {
            converted.push(b'\r');
        }
        converted.push(byte);
    }
    // The schema of the tests has newlines, so the header is damaged too.
    let found = verify(folder.write("x.avro", &converted)).unwrap();
    assert_eq!(
        found.damages[0].cause.name(),
        "newlines",
        "{:?}",
        found.damages
    );
    let schema = r#""string""#;
    let payload = |text: &str| {
        let mut payload = Vec::new();
        avro_decode::encode::write_string(&mut payload, text);
        (1, payload)
    };
    let plain = container(
        schema,
        Codec::Null,
        [payload("a\nb\nc\nd"), payload("e"), payload("f\n")],
    );
    let mut converted = Vec::new();
    for byte in plain {
        if byte == b'\n' {
            converted.push(b'\r');
        }
        converted.push(byte);
    }
    let found = verify(folder.write("x.avro", &converted)).unwrap();
    let causes: Vec<_> = found
        .damages
        .iter()
        .map(|damage| damage.cause.name())
        .collect();
    assert_eq!((causes, found.records), (vec!["newlines", "newlines"], 1));
    // The reverse.
    let plain = container(
        schema,
        Codec::Snappy,
        [payload("a\r\nb, and more\nof it"), payload("e")],
    );
    let mut converted = plain.clone();
    let at = plain.windows(2).position(|two| two == b"\r\n").unwrap();
    converted.remove(at);
    let found = verify(folder.write("x.avro", &converted)).unwrap();
    let causes: Vec<_> = found
        .damages
        .iter()
        .map(|damage| damage.cause.name())
        .collect();
    assert_eq!((causes, found.records), (vec!["newlines"], 1));
}

#[test]
fn a_file_that_was_text_is_told() {
    let folder = Folder::new();
    for codec in CODECS {
        let text = String::from_utf8_lossy(&file(codec)).into_owned();
        let found = verify(folder.write("x.avro", text.as_bytes())).unwrap();
        let causes: Vec<_> = found
            .damages
            .iter()
            .map(|damage| damage.cause.name())
            .collect();
        // Without a byte that is no UTF-8 nothing is changed.
        if text.contains('\u{fffd}') {
            assert_eq!(causes.first(), Some(&"text"), "{codec}: {causes:?}");
        }
    }
}
