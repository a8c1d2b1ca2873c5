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
