//! The format of files: by name, by first bytes, or insisted on.

use atds::{Codec, Dataset, ErrorKind, FileFormat, Files};

use crate::common::*;

#[test]
fn the_first_bytes_tell_the_format_of_a_file_with_another_name() {
    let folder = Folder::new();
    folder.write("part-0", &rows_file(0..20, 3, Codec::Null));
    let dataset = Dataset::builder(folder.join("part-0"), 8).build().unwrap();
    assert_eq!(dataset.num_records().unwrap(), 20);
}

#[test]
fn a_format_has_a_name_and_endings() {
    for &format in FileFormat::ALL {
        assert_eq!(format.to_string().parse::<FileFormat>().unwrap(), format);
        for suffix in format.suffixes() {
            let path = format!("folder/a{suffix}");
            assert_eq!(FileFormat::of_name(path.as_ref()), Some(format));
        }
    }
    assert_eq!(FileFormat::of_name("folder.avro/a".as_ref()), None);
    let shard = FileFormat::of_name("a.avro-00003-of-00128".as_ref());
    assert_eq!(shard, Some(FileFormat::Avro));
    assert_eq!(FileFormat::of_name("a.avro-3-of-".as_ref()), None);
    let error = "parquet".parse::<FileFormat>().unwrap_err();
    assert!(
        matches!(
            error.kind,
            ErrorKind::Option {
                option: "format",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_format_that_is_insisted_on_chooses_the_files_of_a_folder() {
    let folder = Folder::new();
    folder.write("a.avro", &rows_file(0..20, 3, Codec::Null));
    folder.write("b.txt", b"text");
    let files = Files::from(folder.path()).format(FileFormat::Avro);
    assert_eq!(files.resolve().unwrap(), [folder.join("a.avro")]);
}

/// A file of a format.
#[cfg(all(feature = "btable", feature = "tfrecord"))]
fn bytes_of(format: FileFormat) -> Vec<u8> {
    match format {
        FileFormat::TfRecord => {
            let mut writer = atds_tfrecord::Writer::new(Vec::new());
            // An Example with the int64 `age` = 7.
            let example = b"\x0a\x0e\x0a\x0c\x0a\x03age\x12\x05\x1a\x03\x0a\x01\x07";
            writer.write(example).unwrap();
            writer.finish().unwrap()
        }
        FileFormat::BTable => {
            let mut writer = atds_btable::Writer::new(Vec::new(), &["age"]).unwrap();
            writer.write_dense_row(&[7.0]).unwrap();
            writer.finish().unwrap()
        }
        _ => rows_file(0..20, 3, Codec::Null),
    }
}

#[test]
#[cfg(all(feature = "btable", feature = "tfrecord"))]
fn two_formats_are_an_error_that_names_a_file_of_each() {
    for &one in FileFormat::ALL {
        for &another in FileFormat::ALL.iter().filter(|&&another| another != one) {
            // Names tell the formats, or of one of them, or the first bytes do.
            for has_suffix in [[true, true], [true, false], [false, true], [false, false]] {
                let folder = Folder::new();
                let files = ["a", "b"].into_iter().zip([one, another]).zip(has_suffix);
                let files = files.map(|((name, format), has_suffix)| {
                    let suffix = if has_suffix { format.suffixes()[0] } else { "" };
                    (
                        folder.write(&format!("{name}{suffix}"), &bytes_of(format)),
                        format,
                    )
                });
                let files: Vec<_> = files.collect();
                let paths: Vec<_> = files.iter().map(|(path, _)| path.clone()).collect();
                let error = Dataset::builder(&paths[..], 8).build().unwrap_err();
                let text = error.to_string();
                let ErrorKind::TwoFormats { first, other } = &error.kind else {
                    panic!("{text}");
                };
                let place = error.place.location.as_ref().and_then(|place| place.path());
                let place = place.unwrap().to_owned();
                assert_ne!(first.1, place);
                for (path, format) in [(&first.1, first.0), (&place, *other)] {
                    assert!(files.contains(&(path.clone(), format)), "{text}");
                    assert!(text.contains(&path.display().to_string()), "{text}");
                }

                let insisted = Files::from(&paths[..]).format(one);
                let counted = Dataset::builder(insisted, 8).build();
                let counted = counted.and_then(|dataset| dataset.num_records());
                counted.expect_err("one file has another format");
            }
        }
    }
}
