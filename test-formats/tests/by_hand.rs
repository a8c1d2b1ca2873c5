//! The formats alone, without a pipeline: framing in any pieces, damage, positions.

use std::path::Path;
use std::sync::Arc;

use atds_format::{
    Decoder, Error, ErrorKind, FileInfo, Location, Match, Next, Payload, PrepareJob, Prepared,
    Scratch,
};
use atds_test_formats::{ColumnFiles, ReadByHand, Row, TestFormat, ToyFiles, read_by_hand};
use bytes::Bytes;

const TEXT: ToyFiles = ToyFiles { is_packed: false };
const PACKED: ToyFiles = ToyFiles { is_packed: true };
const COLUMNS: ColumnFiles = ColumnFiles { group_blocks: 2 };
const FORMATS: [&dyn TestFormat; 3] = [&TEXT, &PACKED, &COLUMNS];

fn row(i: i64) -> Row {
    Row {
        label: i * i * i - 50,
        numbers: (0..i % 4).map(|j| 7 * i - j).collect(),
    }
}

/// Blocks of 3, 0, 1, 5 and 2 rows.
fn blocks() -> Vec<Vec<Row>> {
    let mut next = 0..;
    let lens = [3, 0, 1, 5, 2];
    lens.map(|len| next.by_ref().take(len).map(row).collect())
        .to_vec()
}

/// All ways to read a file.
fn ways(format: &dyn TestFormat) -> Vec<ReadByHand> {
    let needs_size = format.format().name() == "columns";
    let mut ways = Vec::new();
    for (piece, beyond) in [
        (usize::MAX, 0),
        (1, 0),
        (2, 1),
        (5, 0),
        (30, 17),
        (64, 1000),
    ] {
        for (payloads, size) in [(true, true), (false, true), (true, false), (false, false)] {
            if size || !needs_size {
                ways.push(ReadByHand {
                    piece,
                    beyond,
                    payloads,
                    size,
                    ..ReadByHand::default()
                });
            }
        }
    }
    ways
}

fn texts(errors: &[Error]) -> Vec<String> {
    errors.iter().map(Error::to_string).collect()
}

/// Reads a file in all ways, which must agree.
fn read(format: &dyn TestFormat, file: &[u8]) -> (Vec<Row>, Vec<String>) {
    read_in(format, file, &ways(format))
}

fn read_in(format: &dyn TestFormat, file: &[u8], ways: &[ReadByHand]) -> (Vec<Row>, Vec<String>) {
    let (rows, errors) = read_by_hand(format, file, ReadByHand::default());
    let errors = texts(&errors);
    for &way in ways {
        let (again, other) = read_by_hand(format, file, way);
        assert_eq!(
            (&again, &texts(&other)),
            (&rows, &errors),
            "{format:?} {way:?}"
        );
    }
    (rows, errors)
}

#[test]
fn rows_that_were_written_are_read() {
    for format in FORMATS {
        let file = format.write(&blocks());
        assert_eq!(
            read(format, &file),
            (blocks().concat(), Vec::new()),
            "{format:?}"
        );
        let empty = format.write(&[]);
        assert_eq!(read(format, &empty), (Vec::new(), Vec::new()), "{format:?}");
        let odd = vec![vec![
            Row {
                label: i64::MIN,
                numbers: vec![i64::MAX, i64::MIN, 0, 0, -1],
            },
            Row::default(),
        ]];
        assert_eq!(
            read(format, &format.write(&odd)),
            (odd.concat(), Vec::new()),
            "{format:?}"
        );
    }
}

#[test]
fn any_changed_byte_is_an_error_or_values() {
    for format in FORMATS {
        let file = format.write(&blocks());
        let ways: Vec<_> = ways(format).into_iter().step_by(7).collect();
        for at in 0..file.len() {
            for byte in [0, b'\n', b' ', b'#', b'9', b'-', 0x80, 0xff] {
                let mut changed = file.clone();
                changed[at] = byte;
                let (_, errors) = read_in(format, &changed, &ways);
                assert!(errors.len() <= 1, "{format:?}: {errors:?}");
            }
        }
    }
}

#[test]
fn a_toy_file_is_read_on_after_a_damaged_header() {
    for format in [TEXT, PACKED] {
        let (file, all) = (format.write(&blocks()), blocks());
        let starts: Vec<usize> = (0..5).map(|n| format.write(&all[..n]).len()).collect();
        for damaged in 0..5 {
            let mut file = file.clone();
            file[starts[damaged]] = b'?';
            let way = ReadByHand {
                resync: true,
                ..ReadByHand::default()
            };
            let mut left = all.clone();
            left.remove(damaged);
            for way in ways(&format)
                .into_iter()
                .map(|other| ReadByHand {
                    resync: true,
                    ..other
                })
                .chain([way])
            {
                let (rows, errors) = read_by_hand(&format, &file, way);
                assert_eq!(rows, left.concat(), "{format:?} {damaged} {way:?}");
                let [error] = &errors[..] else {
                    panic!("{errors:?}")
                };
                assert_eq!(error.place.offset, Some(starts[damaged] as u64));
            }
        }
    }
}

/// A block's first position, number of records, and prepared payload.
type Block = (u64, u64, Prepared);

/// The decoder and the blocks of a file.
fn prepared(format: &dyn TestFormat, file: &[u8]) -> (Arc<dyn Decoder>, Vec<Block>) {
    let file = Bytes::copy_from_slice(file);
    let location = Location::from(Path::new("by-hand"));
    let size = Some(file.len() as u64);
    let info = FileInfo {
        location: &location,
        size,
        payloads: false,
        layout: None,
    };
    let mut blocks = format.format().open(&info).expect("the file is whole");
    let (mut decoder, mut found) = (None, Vec::new());
    let slice = |range: &std::ops::Range<u64>| {
        let end = range.end.min(file.len() as u64);
        file.slice(range.start as usize..end as usize)
    };
    loop {
        match blocks.next().expect("the file is whole") {
            Next::Decoder(new) => decoder = Some(new),
            Next::Need { range, .. } => blocks.push(range.start, slice(&range)),
            Next::End => return (decoder.expect("comes first"), found),
            Next::Block(block) => {
                let Payload::Ranges { ranges, .. } = &block.payload else {
                    panic!("a list")
                };
                let parts: Vec<Bytes> = ranges.iter().map(slice).collect();
                let mut jobs = [PrepareJob::new(&parts, usize::MAX)];
                let decoder = decoder.clone().expect("comes first");
                decoder.prepare(&mut jobs, &mut Scratch::default());
                let [job] = jobs;
                let (prepared, _) = job.result.expect("the payload is whole");
                found.push((block.start, block.records, prepared));
            }
        }
    }
}

#[test]
fn a_payload_beyond_the_limit_is_not_prepared() {
    let packed = Bytes::from_static(b"\xff0\xff0\x01\n");
    let file = PACKED.write(&[vec![Row::default()]]);
    let (decoder, _) = prepared(&PACKED, &file);
    for (limit, fits) in [(510, false), (511, true)] {
        let parts = [packed.clone()];
        let mut jobs = [PrepareJob::new(&parts, limit)];
        decoder.prepare(&mut jobs, &mut Scratch::default());
        match &jobs[0].result {
            Ok((prepared, _)) => assert!(fits && prepared.memory_bytes() == 511),
            Err(error) => assert!(
                !fits && matches!(error.kind, ErrorKind::Limit { needed: Some(511) }),
                "{error}"
            ),
        }
    }
}

#[test]
fn files_are_recognised() {
    for format in FORMATS {
        let file = format.write(&blocks());
        let format = format.format();
        assert_eq!(format.sniff("a", &file), Match::Content);
        let end = if format.name() == "toy" {
            "toy"
        } else {
            "cols"
        };
        assert_eq!(format.sniff(&format!("a.{end}"), b""), Match::Name);
        assert_eq!(format.sniff("a.avro", b"Obj\x01"), Match::No);
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let toy = |text: &str| read(&TEXT, text.as_bytes()).1;
    let cases = [
        (
            "toy",
            "byte 0: the file begins with neither 'toy text' nor 'toy pack'",
        ),
        (
            "toy nope\n",
            "byte 0: the file begins with neither 'toy text' nor 'toy pack'",
        ),
        (
            "toy text\n#        1         1",
            "byte 9: the file ends within a block",
        ),
        (
            "toy text\n#        1         2\n",
            "byte 9: the file ends within a block",
        ),
        (
            "toy text\n         1         2\n1\n",
            "byte 9: no block begins here",
        ),
        (
            "toy text\n#        2         4\n1\nx\n",
            "record 1: field 'label': 'x' is no integer of 64 bits",
        ),
        (
            "toy text\n#        1         6\n1 2 \x1b\n",
            "record 0: field 'numbers': '\\u{1b}' is no integer of 64 bits",
        ),
        (
            "toy text\n#        2         4\n1 2\n",
            "record 1: the line is not in the block",
        ),
        (
            "toy text\n#        0         2\n1\n",
            "2 bytes are left after the last record",
        ),
        (
            "toy text\n#        2         2\n1\n",
            "byte 9: 2 records, more than 1",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(toy(text), [expected], "{text:?}");
    }
    let file = read_by_hand(&COLUMNS, b"COLS", ReadByHand::default()).1;
    assert_eq!(
        texts(&file),
        ["byte 0: the file does not end as a file of columns does"]
    );
    let size = ReadByHand {
        size: false,
        ..ReadByHand::default()
    };
    let file = read_by_hand(&COLUMNS, &COLUMNS.write(&[]), size).1;
    assert_eq!(
        texts(&file),
        ["the size of the file must be known: its footer is at its end"]
    );
}
