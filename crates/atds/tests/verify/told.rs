//! What is told of headers and places, of what is tolerated, and of limits.

use atds::Codec;
use atds::avro::verify::{VerifyOptions, verify, verify_with};

use crate::common::{CODECS, Folder, SCHEMA, container};
use crate::{BLOCKS, PER_BLOCK, file, ranges, repaired, row_of};

#[test]
fn headers() {
    let folder = Folder::new();
    let whole = file(Codec::Deflate);
    let changed = |from: &str, to: &str| {
        let at = whole
            .windows(from.len())
            .position(|bytes| bytes == from.as_bytes());
        let mut bytes = whole.clone();
        bytes[at.unwrap()..][..to.len()].copy_from_slice(to.as_bytes());
        bytes
    };
    for (bytes, cause) in [
        (Vec::new(), "never-written"),
        (vec![0; 5_000], "zero-filled"),
        (b"id,name\n1,a\n".to_vec(), "not-avro"),
        (whole[..100].to_vec(), "cut"),
        (changed("Obj", "Ocj"), "overwritten"),
        (changed("deflate", "deflatf"), "overwritten"),
        (changed("deflate", "lzolzol"), "not-checked"),
        (changed("avro.schema", "avro.scheme"), "overwritten"),
    ] {
        let (found, repaired) = repaired(&folder, &bytes);
        assert_eq!(found.damages.len(), 1);
        let damage = &found.damages[0];
        assert_eq!(damage.cause.name(), cause, "{damage:?}");
        assert_eq!((damage.bytes, damage.records), (bytes.len() as u64, None));
        assert!(repaired.is_none());
    }
    // The blocks are checked as far as that is possible without the schema.
    let mut bytes = changed("\"long\"", "\"lung\"");
    let found = verify(folder.write("x.avro", &bytes)).unwrap();
    assert_eq!(found.damages[0].cause.name(), "schema");
    assert_eq!((found.blocks, found.lost.parts), (BLOCKS as u64, 1));
    let end = bytes.len();
    bytes[end - 1] ^= 1;
    let (found, repaired) = repaired(&folder, &bytes);
    assert_eq!((found.blocks, found.lost.parts), (BLOCKS as u64 - 1, 2));
    assert!(repaired.is_none());
}

#[test]
fn a_place_has_block_record_and_field() {
    let folder = Folder::new();
    let mut records = [row_of("first"), row_of("second"), row_of("third")];
    let at = records[1]
        .windows(6)
        .position(|bytes| bytes == b"second")
        .unwrap();
    records[1][at] = 0xff;
    let rows = |rows: &[Vec<u8>]| (rows.len() as u64, rows.concat());
    for codec in CODECS {
        let bytes = container(
            SCHEMA,
            codec,
            [rows(&records[..1]), rows(&records), rows(&records[2..])],
        );
        let found = verify(folder.write("x.avro", &bytes)).unwrap();
        let [damage] = &found.damages[..] else {
            panic!("{:?}", found.damages);
        };
        let (place, block) = (&damage.error.place, &ranges(&bytes)[1]);
        assert_eq!(
            (place.block, place.record, place.field.as_deref()),
            (Some(1), Some(1), Some("text"))
        );
        assert_eq!(place.offset, Some(block.start as u64));
        assert_eq!(
            (damage.offset, damage.bytes, damage.records),
            (block.start as u64, block.len() as u64, Some(3))
        );
        assert_eq!((found.blocks, found.records), (2, 2));
        // What has a right checksum was written like this.
        let is_proven = matches!(codec, Codec::Snappy | Codec::Bzip2 | Codec::Xz);
        assert_eq!(damage.cause.name() == "writer", is_proven, "{codec}");
    }
}

#[test]
fn faults_that_are_tolerated_are_counted() {
    let folder = Folder::new();
    let mut options = VerifyOptions::default();
    let whole = file(Codec::Snappy);
    let blocks = ranges(&whole);
    let path = folder.write("x.avro", &[&whole[..], b"\n\n"].concat());
    options.tolerate = "trailing-file-bytes".parse().unwrap();
    let found = verify_with(&path, &options).unwrap();
    assert!(found.is_well());
    assert_eq!(found.tolerated.trailing_file_bytes, 2);
    // A second file is no part of the first one, and its blocks are not read.
    let path = folder.write("x.avro", &[&whole[..], &whole].concat());
    let found = verify_with(&path, &options).unwrap();
    assert!(found.is_well());
    assert_eq!(
        (found.blocks, found.tolerated.trailing_file_bytes),
        (BLOCKS as u64, whole.len() as u64)
    );
    // Damage is damage.
    let mut bytes = whole.clone();
    bytes[blocks[5].end - 1] ^= 1;
    let found = verify_with(folder.write("x.avro", &bytes), &options).unwrap();
    assert_eq!(found.lost.parts, 1);

    let mut bytes = whole.clone();
    bytes[blocks[2].end - 17] ^= 1;
    let path = folder.write("x.avro", &bytes);
    options.tolerate = "checksum".parse().unwrap();
    let found = verify_with(&path, &options).unwrap();
    assert!(found.is_well());
    assert_eq!(found.tolerated.bad_checksums, 1);

    let bytes = container(
        SCHEMA,
        Codec::Null,
        [(1, [row_of("a"), vec![0; 3]].concat())],
    );
    let path = folder.write("x.avro", &bytes);
    assert!(!verify(&path).unwrap().is_well());
    options.tolerate = "trailing-block-bytes".parse().unwrap();
    assert_eq!(
        verify_with(&path, &options)
            .unwrap()
            .tolerated
            .trailing_block_bytes,
        3
    );
}

#[test]
fn limits_and_the_specification() {
    let folder = Folder::new();
    let mut options = VerifyOptions::default();
    options.max_block_bytes = 100;
    for codec in CODECS {
        let found = verify_with(folder.write("x.avro", &file(codec)), &options).unwrap();
        assert_eq!(found.lost.parts, BLOCKS as u64, "{codec}");
        for damage in &found.damages {
            assert_eq!(damage.cause.name(), "not-checked", "{damage:?}");
            assert_eq!(damage.records, Some(PER_BLOCK as u64));
        }
    }
    let loose = r#"{"type": "record", "name": "a-b", "fields": []}"#;
    let path = folder.write(
        "x.avro",
        &container(loose, Codec::Null, [(1_000, Vec::new())]),
    );
    let mut options = VerifyOptions::default();
    assert_eq!(verify_with(&path, &options).unwrap().records, 1_000);
    options.strict = true;
    let found = verify_with(&path, &options).unwrap();
    assert_eq!(found.damages[0].cause.name(), "specification");
    assert_eq!((found.lost.bytes, found.records), (0, 1_000));
}
