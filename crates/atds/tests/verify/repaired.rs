//! Repaired files: what stays, and when there is none.

use std::fs;
use std::io::ErrorKind as Io;

use atds::avro::repair::{RepairOptions, repair, repair_with};
use atds::avro::verify::verify;
use atds::{Codec, Error, ErrorKind};
use avro_block::{MappedBlocks, Writer, WriterOptions};

use crate::common::{CODECS, Folder, SCHEMA};
use crate::{file, ids, ranges, without};

#[test]
fn the_header_and_the_blocks_stay_as_they_are() {
    let folder = Folder::new();
    for codec in CODECS {
        let mut options = WriterOptions::with_codec(codec);
        options.metadata = vec![
            ("made.by".into(), b"a test \xff".to_vec()),
            ("empty".into(), Vec::new()),
        ];
        let mut writer = Writer::new(Vec::new(), SCHEMA, options).unwrap();
        for i in 0..3 {
            let row = crate::common::Row::new(i).encode();
            writer.write_block(1, &row).unwrap();
        }
        let mut bytes = writer.finish().unwrap();
        let whole = bytes.clone();
        let blocks = ranges(&whole);
        bytes[blocks[1].end - 1] ^= 1;
        let (input, output) = (folder.write("in.avro", &bytes), folder.join(codec.name()));
        let repaired = repair(&input, &output).unwrap();
        let written = fs::read(&output).unwrap();
        let expected = [&whole[..blocks[1].start], &whole[blocks[1].end..]].concat();
        assert!(written == expected, "{codec}");
        assert_eq!(repaired.found.lost.records, 1);
        assert_eq!(repaired.file_bytes, written.len() as u64);
        let header = |bytes: Vec<u8>| {
            MappedBlocks::from_bytes(bytes.into())
                .unwrap()
                .header()
                .clone()
        };
        assert_eq!(header(written), header(whole));
    }
}

#[test]
fn a_file_without_damage_is_copied() {
    let folder = Folder::new();
    let bytes = file(Codec::Deflate);
    let (input, output) = (folder.write("in.avro", &bytes), folder.join("out.avro"));
    assert!(repair(&input, &output).unwrap().found.is_well());
    assert!(fs::read(&output).unwrap() == bytes);
}

#[test]
fn a_file_of_no_healthy_block_has_a_header() {
    let folder = Folder::new();
    let mut bytes = file(Codec::Null);
    let blocks = ranges(&bytes);
    for block in blocks {
        bytes[block.start] |= 1;
    }
    let (input, output) = (folder.write("in.avro", &bytes), folder.join("out.avro"));
    assert_eq!(repair(&input, &output).unwrap().found.records, 0);
    assert!(verify(&output).unwrap().is_well());
}

#[test]
#[cfg(unix)]
fn no_file_is_overwritten() {
    let folder = Folder::new();
    let bytes = file(Codec::Null);
    let input = folder.write("in.avro", &bytes);
    let other = folder.write("other.avro", b"mine");
    let (hard, soft) = (folder.join("hard.avro"), folder.join("soft.avro"));
    fs::hard_link(&input, &hard).unwrap();
    std::os::unix::fs::symlink("in.avro", &soft).unwrap();
    let nowhere = folder.join("nowhere.avro");
    std::os::unix::fs::symlink("gone.avro", &nowhere).unwrap();
    let roundabout = folder.path().join(".").join("in.avro");
    fs::create_dir(folder.join("folder")).unwrap();
    let before = fs::read_dir(folder.path()).unwrap().count();
    for output in [&input, &hard, &soft, &roundabout] {
        let error = repair(&input, output).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::InPlace), "{error}");
    }
    for output in [&other, &nowhere, &folder.join("folder")] {
        let error = repair(&input, output).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Exists), "{error}");
        assert_eq!(error.place.location, Some(output.as_path().into()));
    }
    let error = repair(&input, folder.join("gone/out.avro")).unwrap_err();
    assert!(
        matches!(&error.kind, ErrorKind::Io(error) if error.kind() == Io::NotFound),
        "{error}"
    );
    assert!(fs::read(&input).unwrap() == bytes && fs::read(&other).unwrap() == b"mine");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before);
}

#[test]
fn nothing_is_left_after_an_error() {
    let folder = Folder::new();
    let bytes = file(Codec::Null);
    let input = folder.write("in.avro", &bytes[..300]);
    let repaired = |options: &RepairOptions| -> Error {
        repair_with(&input, folder.join("out.avro"), options, |_| ()).unwrap_err()
    };
    let mut options = RepairOptions::default();
    assert!(
        repaired(&options)
            .to_string()
            .contains("the file ends inside")
    );
    options.max_depth = 0;
    assert!(matches!(repaired(&options).kind, ErrorKind::Option { .. }));
    options = RepairOptions::default();
    options.cancelled = Some(std::sync::Arc::new(true.into()));
    assert!(matches!(repaired(&options).kind, ErrorKind::Cancelled));
    folder.write("in.avro", &bytes);
    assert!(matches!(repaired(&options).kind, ErrorKind::Cancelled));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
#[cfg(unix)]
fn a_new_file_has_the_permissions_of_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let (input, output) = (
        folder.write("in.avro", &file(Codec::Null)),
        folder.join("out.avro"),
    );
    repair(&input, &output).unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&output), mode(&input));
    assert_eq!(ids(&output), without(&[]));
}
