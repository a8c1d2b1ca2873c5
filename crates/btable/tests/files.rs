//! Tables in files, whole and compressed.
#![allow(clippy::unwrap_used)]

use std::fs;

use atds_btable::{Compression, FileWriter, Packer, RowReader, Writer, open, unpack};
use std::io::Write;

/// A file that the original writer made.
#[test]
fn a_file_of_the_original_writer() {
    let file = b"\0\0\0\0\0\0\0\x01\x90\x1a\0\0\0\x01\0\0\0\0\x3f\xf0\0\0\0\0\0\0";
    let mut table = RowReader::new(&file[..]).unwrap();
    assert_eq!(**table.labels(), ["\u{901a}"]);
    let csr = table.read_csr().unwrap();
    assert_eq!(
        (&csr.indptr[..], &csr.indices[..], &csr.data[..]),
        (&[0, 1][..], &[0][..], &[1.0][..])
    );
    let mut writer = Writer::new(Vec::new(), &["\u{901a}"]).unwrap();
    writer
        .write_csr(&csr.indptr, &csr.indices, &csr.data)
        .unwrap();
    assert_eq!(writer.finish().unwrap(), file);
}

#[test]
fn files_of_each_compression() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<f64> = (0..100).map(f64::from).collect();
    for (name, head) in [
        ("a.btable", &[0, 0, 0, 0][..]),
        ("a.btable.gz", &[0x1f, 0x8b]),
        ("a.btable.zst", &[0x28, 0xb5, 0x2f, 0xfd]),
    ] {
        let path = folder.path().join(name);
        let labels: Vec<String> = (0..100).map(|label| label.to_string()).collect();
        let mut file = FileWriter::create(&path, &labels).unwrap();
        for _ in 0..1000 {
            file.writer().write_dense_row(&values).unwrap();
        }
        file.finish().unwrap();
        assert!(fs::read(&path).unwrap().starts_with(head));
        let mut table = open(&path).unwrap();
        assert_eq!(table.columns(), 100);
        let csr = table.read_csr().unwrap();
        assert_eq!((csr.rows(), csr.data.len()), (1000, 99_000));

        // A file that is cut is an error.
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(open(&path).unwrap().read_csr().is_err());
        // Another member is part of the file: gzip and zstandard join them.
        if name != "a.btable" {
            let mut twice = bytes.clone();
            let compression = Compression::of_path(&path);
            let mut packer = Packer::new(&mut twice, compression).unwrap();
            packer.write_all(&[0; 4]).unwrap();
            packer.finish().unwrap();
            fs::write(&path, &twice).unwrap();
            assert_eq!(open(&path).unwrap().read_csr().unwrap().rows(), 1001);
        }
    }
}

#[test]
fn a_new_file_has_its_name_when_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let names = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    let path = folder.path().join("a.btable");
    let mut file = FileWriter::create(&path, &["a"]).unwrap();
    file.writer().write_dense_row(&[1.0]).unwrap();
    assert!(!path.exists());
    assert_eq!(names().len(), 1);
    drop(file);
    assert_eq!(names().len(), 0);

    fs::write(&path, vec![7; 1000]).unwrap();
    let mut file = FileWriter::create(&path, &["a"]).unwrap();
    file.writer().write_dense_row(&[1.0]).unwrap();
    assert_eq!(fs::read(&path).unwrap().len(), 1000);
    file.finish().unwrap();
    assert_eq!(names(), ["a.btable"]);
    // No row of the longer file is left.
    assert_eq!(fs::read(&path).unwrap().len(), 8 + 2 + 16);
    assert!(FileWriter::create(folder.path().join("no/such"), &["a"]).is_err());
    assert!(FileWriter::create(&path, &["\u{1f}"]).is_err());
    assert_eq!(names(), ["a.btable"]);

    let long = folder.path().join("n".repeat(255));
    FileWriter::create(&long, &["a"]).unwrap().finish().unwrap();
    fs::remove_file(&long).unwrap();

    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        FileWriter::create(&link, &["a"]).unwrap().finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap().len(), 8 + 2);

        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        FileWriter::create(&path, &["a"]).unwrap().finish().unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        FileWriter::create("/dev/null", &["a"])
            .unwrap()
            .finish()
            .unwrap();
    }
}

#[test]
fn what_begins_as_no_table_is_left_as_it_is() {
    for bytes in [&b""[..], b"\x1f", b"\0\0\0\0more"] {
        let (mut data, compression) = unpack(bytes).unwrap();
        let mut read = Vec::new();
        data.read_to_end(&mut read).unwrap();
        assert_eq!((&read[..], compression), (bytes, Compression::None));
    }
}
