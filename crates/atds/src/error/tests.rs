#![allow(clippy::unwrap_used, reason = "a panic is a failure")]

use std::fmt;
use std::io;

use atds_pipeline::{Error as Theirs, ErrorKind as Kind};
use tensor_batch::RowShape;

use super::*;
use crate::source::unpack::{Packing, unpack};

const LIMIT: usize = 1000;

fn io(error: impl Into<io::Error>) -> Kind {
    Kind::Io(Arc::new(error.into()))
}

fn format(error: impl StdError + Send + Sync + 'static) -> Kind {
    Kind::Format(Arc::new(error))
}

fn container(kind: impl Into<avro_block::ErrorKind>) -> avro::ErrorKind {
    avro::ErrorKind::Container(kind.into())
}

/// An error of `kind` at byte 9 of the file, in block 2.
fn located(kind: Kind, file: &str) -> Theirs {
    let mut error = Theirs::new(kind).in_file(&Location::Path(file.into()));
    error.place.offset = Some(9);
    error.place.block = Some(2);
    error
}

/// The error of another format.
#[derive(Debug)]
struct Torn;

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the line is torn")
    }
}

impl StdError for Torn {}

/// The error of unpacking what is no gzip data.
fn of_unpacking() -> io::Error {
    let mut reader = unpack(Packing::Gzip, &b"\x1f\x8b\x08 and no more"[..]).unwrap();
    io::copy(&mut reader, &mut io::sink()).unwrap_err()
}

#[test]
fn each_kind_reads_as_the_facades_own() {
    let unpacking = of_unpacking().to_string();
    let cases = [
        (io(io::ErrorKind::TimedOut), "timed out".to_owned()),
        (
            Kind::Thread(Arc::new(io::ErrorKind::WouldBlock.into())),
            "a thread could not be started: operation would block".to_owned(),
        ),
        (io(of_unpacking()), unpacking),
        (
            io(io::Error::other(ErrorKind::FileShrank {
                before: 10,
                now: 1,
            })),
            "the file shrank from 10 to 1 byte while it was read".to_owned(),
        ),
        (
            format(ErrorKind::ReadOnce {
                input: "a pipe",
                reason: "give a file",
            }),
            "this is a pipe, which can be read only once: give a file".to_owned(),
        ),
        (
            format(container(avro_block::ErrorKind::Empty)),
            "the file is empty".to_owned(),
        ),
        (format(Torn), "the line is torn".to_owned()),
        (
            Kind::TooManyRecords {
                records: 3,
                bytes: 1,
            },
            "a payload of 1 byte cannot hold 3 records".to_owned(),
        ),
        (
            Kind::FileShrank { before: 9, now: 1 },
            "the file shrank from 9 to 1 byte while it was read".to_owned(),
        ),
        (
            Kind::RecordsChanged {
                counted: 4,
                found: 1,
            },
            "the file has 1 record now, but had 4 when they were counted".to_owned(),
        ),
        (
            Kind::MemoryLimit {
                limit: 1,
                needed: 20,
                in_turns: false,
            },
            "`memory_limit` is 1 byte, but the window and a batch need 20 or more: raise it, \
             or lower `shuffle_buffer_size` or `batch_size`"
                .to_owned(),
        ),
        (
            Kind::BlockTooLarge { limit: LIMIT },
            "the payload decompresses to more than the limit of 1000 bytes: raise \
             `max_block_bytes` if the file is whole"
                .to_owned(),
        ),
    ];
    for (kind, expected) in cases {
        let error = Error::from(located(kind, "x"));
        let expected = format!("x: block 2 at byte 9: {expected}");
        assert_eq!(error.to_string(), expected, "{error:?}");
    }
}

#[test]
fn errors_inside_errors_keep_their_kinds() {
    let kind = |kind| Error::from(Theirs::new(kind)).kind;
    assert!(matches!(kind(io(of_unpacking())), ErrorKind::Unpack { .. }));
    let other = io::Error::other(ErrorKind::Cancelled);
    assert!(matches!(kind(io(other)), ErrorKind::Cancelled));
    assert!(matches!(
        kind(format(ErrorKind::Cancelled)),
        ErrorKind::Cancelled
    ));
    let ErrorKind::Io(system) = kind(io(io::Error::from_raw_os_error(5))) else {
        panic!("another kind");
    };
    assert_eq!(system.raw_os_error(), Some(5));
    assert!(matches!(
        kind(format(avro::ErrorKind::SameFingerprint)).avro(),
        Some(avro::ErrorKind::SameFingerprint)
    ));
    assert!(matches!(
        kind(Kind::BlockTooLarge { limit: LIMIT }).avro(),
        Some(avro::ErrorKind::Container(
            avro_block::ErrorKind::Decompress(DecompressError::TooLarge { limit: LIMIT })
        ))
    ));
    let ErrorKind::Format(torn) = kind(format(Torn)) else {
        panic!("another kind");
    };
    assert!(torn.is::<Torn>());
}

#[test]
fn a_folder_has_no_blocks() {
    let folder = io(io::Error::from(io::ErrorKind::IsADirectory));
    let error = Error::from(located(folder, "folder"));
    assert_eq!(
        error.to_string(),
        "folder: it is a folder: give a file that is in it"
    );
}

#[test]
fn the_place_is_kept() {
    let mut theirs = located(format(Torn), "x");
    theirs.place.decompressed_offset = Some(7);
    theirs.place.record = Some(4);
    theirs.place.field = Some("f".to_owned());
    let error = Error::from(theirs);
    assert_eq!(error.place.location, Some(Location::Path("x".into())));
    assert_eq!((error.place.offset, error.place.block), (Some(9), Some(2)));
    assert_eq!(
        error.to_string(),
        "x: block 2 at byte 9: record 4: field 'f': the line is torn (byte 7 of the \
         decompressed block)"
    );
    let url = Location::Url("s3://bucket/x.br".to_owned());
    let not_avro = container(avro_block::ErrorKind::NotAvro { found: None });
    let error = Error::from(Theirs::new(format(not_avro)).in_file(&url));
    let text = error.to_string();
    assert!(text.starts_with("s3://bucket/x.br: "), "{text}");
    assert!(text.contains("brotli data"), "{text}");
    assert_eq!(error.place.location, Some(url));
}

#[test]
fn a_folder_has_no_bytes() {
    let folder = io(io::ErrorKind::IsADirectory);
    let error = Error::from(located(folder, "folder"));
    assert_eq!(
        error.to_string(),
        "folder: it is a folder: give a file that is in it"
    );
    assert_eq!((error.place.offset, error.place.block), (None, None));
}

#[test]
fn different_shapes_name_the_first_record() {
    let shape = |len| RowShape(vec![(len, len)]);
    let mut first = atds_pipeline::Place::default();
    first.location = Some(Location::Path("y".into()));
    first.block = Some(1);
    first.record = Some(3);
    let kind = Kind::ShapesDiffer {
        shape: shape(2),
        first: Some(Box::new((first, shape(5)))),
    };
    let text = Error::from(located(kind, "x")).to_string();
    assert!(
        text.contains("the shape of the first record of the batch (y: block 1: record 3)"),
        "{text}"
    );
}
