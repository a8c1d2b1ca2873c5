//! Whole files packed with gzip or zstandard.

use std::io::Write;

use atds::files::Packing;

use atds::avro::records::Records;

use atds::{Codec, Dataset, DatasetBuilder, ErrorKind, Shuffle};

use crate::common::{Folder, features, read, read_all, rows_file};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

type Pack = fn(&[u8]) -> Vec<u8>;

const PACK: [(Packing, Pack); 2] = [(Packing::Gzip, gzip), (Packing::Zstandard, zstandard)];

/// A folder of three files of 20 records each; the second is packed.
fn folder(pack: Pack) -> Folder {
    let folder = Folder::new();
    for file in 0..3 {
        let bytes = rows_file(20 * file..20 * file + 20, 3, Codec::Deflate);
        let bytes = if file == 1 { pack(&bytes) } else { bytes };
        folder.write(&format!("{file}.avro"), &bytes);
    }
    folder
}

#[test]
fn packed_files_are_read_as_others_are() {
    for (packing, pack) in PACK {
        let folder = folder(pack);
        for mmap in [false, true] {
            for shuffle in [0, 30] {
                let dataset = folder.rows(7).mmap(mmap).shuffle_buffer_size(shuffle);
                let dataset = dataset.epochs(2).build().unwrap();
                let mut ids = read_all(dataset.iter()).concat();
                ids.sort_unstable();
                let expected: Vec<i64> = (0..60).flat_map(|id| [id, id]).collect();
                assert_eq!(ids, expected);
            }
        }
        let file = folder.join("1.avro");
        assert_eq!(Records::open(&file).unwrap().count(), 20);
        let found = atds::avro::inspect(&file).unwrap();
        assert_eq!((found.records, found.blocks), (20, 7));
        assert_eq!(found.packing, Some(packing));
        assert_eq!(found.file_bytes, std::fs::metadata(&file).unwrap().len());
        let plain = rows_file(20..40, 3, Codec::Deflate);
        let plain = atds::avro::inspect(folder.write("plain", &plain)).unwrap();
        assert_eq!(found.decompressed_bytes, plain.decompressed_bytes);
        assert_eq!(found.raw_bytes, plain.raw_bytes);
    }
}

#[test]
fn several_members_or_frames_are_one_file() {
    let bytes = rows_file(0..50, 4, Codec::Null);
    for (_, pack) in PACK {
        for cuts in [&[1][..], &[4], &[200], &[10, 10, 700]] {
            let mut packed = Vec::new();
            let mut start = 0;
            for &cut in cuts.iter().chain([&bytes.len()]) {
                packed.extend(pack(&bytes[start..cut]));
                start = cut;
            }
            let folder = Folder::new();
            folder.write("x.avro", &packed);
            let dataset = folder.rows(50).build().unwrap();
            assert_eq!(read_all(dataset.iter()).concat(), Vec::from_iter(0..50));
        }
    }
}

#[test]
fn packed_files_are_counted_and_shared() {
    for (_, pack) in PACK {
        let folder = folder(pack);
        let dataset = folder.rows(4).build().unwrap();
        assert_eq!(*dataset.file_records().unwrap(), [20, 20, 20]);
        assert_eq!(dataset.num_records().unwrap(), 60);
        for shards in [1, 2, 3, 7, 60] {
            let mut ids = Vec::new();
            for index in 0..shards {
                let shard = dataset.shard(index, shards).unwrap();
                ids.extend(read_all(shard.iter()).concat());
            }
            assert_eq!(ids, Vec::from_iter(0..60), "{shards}");
        }
        // A file that has changed is counted again, and the counts of before do not fit it.
        let dataset = Dataset::builder(folder.join("1.avro"), 4).features(features());
        let dataset = dataset.build().unwrap();
        assert_eq!(dataset.num_records().unwrap(), 20);
        let counts = dataset.file_records().unwrap();
        for (records, found) in [(0..19, 19), (0..21, 21)] {
            folder.write("1.avro", &pack(&rows_file(records, 3, Codec::Null)));
            assert_eq!(dataset.num_records().unwrap(), found);
            let slice = dataset.slice(2..20, counts.clone()).unwrap();
            let error = read(slice.iter()).1.unwrap();
            assert!(
                matches!(error.kind, ErrorKind::RecordsChanged { counted: 20, found: n } if n == found),
                "{error}"
            );
        }
    }
}

#[test]
fn blocks_of_packed_files_cannot_be_shuffled() {
    for (_, pack) in PACK {
        let folder = folder(pack);
        let of_each = || folder.rows(4).shuffle_blocks(true);
        let of_all = || folder.rows(4).shuffle(Shuffle::Blocks);
        let cases: [(&dyn Fn() -> DatasetBuilder, _, _); 2] = [
            (&of_each, "leave `shuffle_blocks` out", 20),
            // The blocks of all files are listed before the first batch.
            (&of_all, "leave `shuffle=\"blocks\"` out", 0),
        ];
        for (builder, reason, records) in cases {
            let error = builder().build().map(drop).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Packed { .. }));
            assert!(folder.message(&error).contains(reason));
            let unchecked = builder().check_files(false);
            let (ids, error) = read(unchecked.build().unwrap().iter());
            assert_eq!(ids.concat().len(), records);
            assert!(matches!(error.unwrap().kind, ErrorKind::Packed { .. }));
        }
    }
}

/// A file that is cut short gives whole records, then an error that names the file.
#[test]
fn a_packed_file_that_is_cut_short_is_an_error() {
    let bytes = rows_file(0..30, 5, Codec::Null);
    for (_, pack) in PACK {
        let packed = pack(&bytes);
        let folder = Folder::new();
        for len in (0..packed.len()).step_by(7) {
            folder.write("x.avro", &packed[..len]);
            let error = match folder.rows(5).build() {
                Err(error) => error,
                Ok(dataset) => {
                    let (ids, error) = read(dataset.iter());
                    let ids = ids.concat();
                    assert_eq!(ids, Vec::from_iter(0..ids.len() as i64));
                    error.unwrap_or_else(|| panic!("{len} of {}", packed.len()))
                }
            };
            let message = folder.message(&error);
            assert!(message.starts_with("x.avro: "), "{message}");
        }
    }
}

#[test]
fn damage_says_where_it_is() {
    let folder = Folder::new();
    let bytes = rows_file(0..30, 5, Codec::Null);
    let mut packed = gzip(&bytes);
    // Damages the checksum at the end.
    let at = packed.len() - 8;
    packed[at] ^= 1;
    folder.write("x.avro", &packed);
    let (ids, error) = read(folder.rows(30).build().unwrap().iter());
    assert!(ids.concat().is_empty() || ids.concat().len() == 30);
    let error = error.unwrap();
    assert!(matches!(
        error.kind,
        ErrorKind::Unpack {
            packing: Packing::Gzip,
            ..
        }
    ));
    let message = folder.message(&error);
    assert!(
        message.contains("of the unpacked file: the gzip around the file is damaged or cut short"),
        "{message}"
    );
    // The error of damage inside has the offset in the unpacked file.
    let mut inside = bytes.clone();
    let at = inside.len() - 1;
    inside[at] ^= 1;
    folder.write("x.avro", &inside);
    let plain = read(folder.rows(30).build().unwrap().iter()).1.unwrap();
    folder.write("x.avro", &gzip(&inside));
    let packed = read(folder.rows(30).build().unwrap().iter()).1.unwrap();
    assert_eq!(packed.place.offset, plain.place.offset);
    assert!(packed.place.unpacked && !plain.place.unpacked);
    assert_eq!(
        folder.message(&packed).replace(" of the unpacked file", ""),
        folder.message(&plain)
    );
}

#[test]
fn what_is_packed_and_no_avro_file_is_named() {
    let folder = Folder::new();
    for (_, pack) in PACK {
        folder.write("x.avro", &pack(&br#"{"x": 1}"#.repeat(100)));
        let error = folder.rows(5).build().map(drop).unwrap_err();
        let message = folder.message(&error);
        assert!(
            message.starts_with("x.avro: byte 0 of the unpacked file: not an Avro"),
            "{message}"
        );
        // A decompression bomb is unpacked only until its kind is known.
        folder.write("x.avro", &pack(&vec![0; 50 << 20]));
        assert!(folder.rows(5).build().is_err());
    }
}

#[test]
fn what_follows_zstandard_is_said_to_follow() {
    let folder = Folder::new();
    let bytes = rows_file(0..30, 5, Codec::Null);
    let packed = zstandard(&bytes);
    for after in [&b"\n\n\n\n\n\n\n\n"[..], &[0; 512], b"garbage"] {
        folder.write("x.avro", &[&packed[..], after].concat());
        let (ids, error) = read(folder.rows(30).build().unwrap().iter());
        assert_eq!(ids.concat().len(), 30);
        let message = error.unwrap().to_string();
        let expected = "but what follows is no other frame: cut it off, or unpack the file first";
        assert!(message.contains(expected), "{message}");
    }
}

/// Brotli has no magic bytes, so the error uses the file's name.
#[test]
fn a_name_says_what_bytes_do_not() {
    let folder = Folder::new();
    for (name, expected) in [
        ("x.avro.br", "but brotli data: unpack it first (brotli -d)"),
        ("x.avro.BR", "but brotli data: unpack it first (brotli -d)"),
        (
            "x.avro.Z",
            "but data of the program compress (.Z): unpack it first (uncompress)",
        ),
        (
            "x.avro.lzma",
            "but LZMA data (.lzma): unpack it first (unlzma)",
        ),
    ] {
        folder.write(name, b"\x8b\x03\x80\xff\x01");
        let path = folder.join(name);
        let error = Dataset::builder(&path, 5).build().map(drop).unwrap_err();
        let message = folder.message(&error);
        assert!(message.ends_with(expected), "{message}");
    }
}

#[test]
fn what_follows_gzip_is_said_to_follow() {
    let folder = Folder::new();
    let bytes = rows_file(0..30, 5, Codec::Null);
    let packed = gzip(&bytes);
    let end = packed.len();
    for after in [&b"\n"[..], &[0; 512], b"garbage", &[0x8b, 0x1f]] {
        folder.write("x.avro", &[&packed[..], after].concat());
        let (ids, error) = read(folder.rows(30).build().unwrap().iter());
        assert_eq!(ids.concat().len(), 30);
        let message = error.unwrap().to_string();
        let expected =
            format!("the gzip around the file ends at byte {end} of the file, but more follows");
        assert!(message.contains(&expected), "{message}");
    }
    // Follows the advice of the error.
    folder.write("x.avro", &packed[..end]);
    let (ids, error) = read(folder.rows(30).build().unwrap().iter());
    assert_eq!((ids.concat().len(), error.is_none()), (30, true));
    // Several members are one file, even if some are empty. The start of a member is a file that is
    // cut short.
    let half = bytes.len() / 2;
    let parts = [gzip(&bytes[..half]), gzip(b""), gzip(&bytes[half..])].concat();
    folder.write("x.avro", &parts);
    let (ids, error) = read(folder.rows(30).build().unwrap().iter());
    assert_eq!((ids.concat().len(), error.is_none()), (30, true));
    for cut in [1, 2, 9] {
        folder.write("x.avro", &[&packed[..], &packed[..cut]].concat());
        let error = read(folder.rows(30).build().unwrap().iter()).1.unwrap();
        let message = error.to_string();
        assert!(message.contains("damaged or cut short"), "{message}");
    }
}
