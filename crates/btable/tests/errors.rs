//! Each fault of a file, and of what is written, with its byte and its row.
#![allow(clippy::unwrap_used)]

mod common;

use atds_btable::{ErrorKind, Framer, RowReader, Rows, Writer};
use common::{check_readers, file, row};

/// The error of a file, which all readers agree on.
fn error(file: &[u8]) -> String {
    let told = check_readers(file, &[1], 20);
    told.error
        .map_or("none".to_owned(), |error| error.to_string())
}

#[test]
fn headers() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "byte 0: the file is empty"),
        (
            &[0, 0, 0],
            "byte 3: the file ends inside the header, 5 or more bytes short",
        ),
        (
            &[0, 0, 0, 0, 0, 0],
            "byte 6: the file ends inside the header, 2 or more bytes short",
        ),
        (
            &[0, 0, 0, 0, 0, 0, 0, 2, 0, 65, 0],
            "byte 11: the file ends inside the header, 1 or more bytes short",
        ),
        (
            &[0, 0, 0, 1],
            "byte 0: the version is 1, not 0: this is no BTable",
        ),
        (
            b"Obj\x01",
            "byte 0: the version is 1331849729, not 0: this is an Avro file",
        ),
        (
            b"PK\x03\x04",
            "byte 0: the version is 1347093252, not 0: this is a zip file, such as scipy's save_npz writes",
        ),
        (
            &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe],
            "byte 4: the length of the labels is negative: -2",
        ),
        (
            &[0, 0, 0, 0, 0, 0x10, 0, 1],
            "byte 4: the labels have 1048577 code units, above the limit of 1048576",
        ),
        // A high surrogate without a low one, a low one alone, both at the end.
        (
            &[0, 0, 0, 0, 0, 0, 0, 2, 0xd8, 0, 0, 65],
            "byte 8: the labels have an unpaired surrogate, 0xd800",
        ),
        (
            &[0, 0, 0, 0, 0, 0, 0, 2, 0, 65, 0xdc, 0],
            "byte 10: the labels have an unpaired surrogate, 0xdc00",
        ),
        (
            &[0, 0, 0, 0, 0, 0, 0, 3, 0xd8, 0, 0xdc, 0, 0xdb, 0xff],
            "byte 12: the labels have an unpaired surrogate, 0xdbff",
        ),
    ];
    for (file, expected) in cases {
        assert_eq!(error(file), *expected, "{file:?}");
    }
}

#[test]
fn rows() {
    let good = row(1, &[(0, 1.0)]);
    let start = 8 + 2 * 5 + 16;
    let cases: &[(Vec<u8>, &str)] = &[
        (row(-1, &[]), "the number of cells is negative: -1"),
        (
            row(4, &[]),
            "the row has 4 cells, but the table has 3 columns",
        ),
        (
            row(1, &[(3, 1.0)]),
            "there is no column 3: the table has 3 columns",
        ),
        (
            row(1, &[(-1, 1.0)]),
            "there is no column -1: the table has 3 columns",
        ),
        (row(2, &[(1, 1.0), (1, 2.0)]), "column 1 comes twice"),
        (
            row(2, &[(2, 1.0), (1, 2.0)]),
            "column 1 comes after column 2: columns must ascend",
        ),
        (
            vec![0, 0],
            "the file ends inside the row, 2 or more bytes short",
        ),
        (
            row(2, &[(0, 1.0)]),
            "the file ends inside the row, 12 or more bytes short",
        ),
        (
            row(1, &[(0, 1.0)])[..15].to_vec(),
            "the file ends inside the row, 1 or more bytes short",
        ),
    ];
    for (bad, expected) in cases {
        let file = file(&["a", "b", "c"], &[&good, bad]);
        let at = match expected {
            ends if ends.contains("ends inside") => file.len(),
            second if second.contains("column 1") => start + 4 + 12,
            first if first.contains("no column") => start + 4,
            _ => start,
        };
        assert_eq!(error(&file), format!("row 1 at byte {at}: {expected}"));
        // What comes after the bad row does not change the error, where it can come.
        if at != file.len() {
            let longer = [&file[..], &row(9, &[])].concat();
            assert_eq!(error(&longer), format!("row 1 at byte {at}: {expected}"));
        }
    }
}

#[test]
fn cells_are_checked_as_they_are_read() {
    for (cells, expected) in [
        (vec![(0, 1.0), (2, 0.5)], None),
        (vec![], None),
        (vec![(0, 1.0), (0, 2.0)], Some("column 0 comes twice")),
        (vec![(2, 1.0), (3, 2.0)], Some("there is no column 3")),
        (vec![(1, 1.0), (-2, 2.0)], Some("there is no column -2")),
    ] {
        let bytes = row(cells.len() as i32, &cells);
        let mut rows = Rows::new(&bytes, 3, 100, 7);
        let unchecked = rows.next_unchecked().expect("a row");
        assert_eq!((unchecked.number(), unchecked.len()), (7, cells.len()));
        let mut read = vec![(0, 0.0); cells.len()];
        let row = unchecked.read(read.iter_mut(), |to, column, value| *to = (column, value));
        assert_eq!(row.clone().ok(), unchecked.check().ok());
        match (row, expected) {
            (Ok(row), None) => assert!(row.iter().eq(read)),
            (Err(error), Some(expected)) => {
                assert!(error.to_string().contains(expected), "{error}")
            }
            (row, _) => panic!("{row:?} of {cells:?}"),
        }
        let end = rows.next_unchecked().expect_err("there is no other row");
        assert_eq!(
            end.kind.to_string(),
            "the file ends inside the row, 4 or more bytes short"
        );
    }
}

#[test]
fn reading_that_fails_says_where() {
    struct Broken<'a>(&'a [u8]);
    impl std::io::Read for Broken<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            match std::io::Read::read(&mut self.0, to)? {
                0 => Err(std::io::Error::other("the disk is gone")),
                read => Ok(read),
            }
        }
    }
    let file = file(&["a", "b"], &[&row(1, &[(0, 1.0)]), &[0, 0]]);
    let error = RowReader::new(Broken(&file[..10])).unwrap_err();
    assert_eq!(error.to_string(), "byte 10: the disk is gone");
    let mut table = RowReader::new(Broken(&file)).unwrap();
    table.next_row().unwrap().unwrap();
    let error = table.next_row().unwrap_err();
    assert_eq!(error.to_string(), "row 1 at byte 32: the disk is gone");
    assert!(matches!(error.kind, ErrorKind::Io(_)));
}

#[test]
fn what_cannot_be_written() {
    let new = |labels: &[&str]| {
        Writer::new(Vec::new(), labels)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(new(&[]).contains("there are no labels"));
    assert_eq!(
        new(&["a", "b\u{1f}c"]),
        "byte 0: label \"b\\u{1f}c\" has the character U+001F, which separates labels"
    );

    let mut writer = Writer::new(Vec::new(), &["a", "b", "c"]).unwrap();
    writer.write_row([(1, 1.0)]).unwrap();
    let start = 8 + 2 * 5 + 16;
    let error = writer.write_row([(0, 1.0), (3, 1.0)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "row 1 at byte {}: there is no column 3: the table has 3 columns",
            start + 16
        )
    );
    let error = writer.write_row([(1, 1.0), (1, 0.0)]).unwrap_err();
    assert!(error.to_string().ends_with("column 1 comes twice"));
    let error = writer.write_row([(2, 0.0), (1, 1.0)]).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("column 1 comes after column 2: columns must ascend")
    );
    let error = writer.write_dense_row(&[1.0, 2.0]).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("the row has 2 values, but the table has 3 columns")
    );

    let mut csr = |indptr: &[i64], indices: &[i64], data: &[f64]| {
        writer
            .write_csr(indptr, indices, data)
            .unwrap_err()
            .to_string()
    };
    for (indptr, expected) in [
        (&[][..], "indptr is empty"),
        (&[-1, 1], "indptr begins below 0"),
        (&[1, 0], "indptr descends"),
        (&[0, 4], "indptr ends beyond the indices"),
    ] {
        let error = csr(indptr, &[0, 1, 2], &[1.0, 1.0, 1.0]);
        assert!(
            error.ends_with(&format!("these are no CSR arrays: {expected}")),
            "{error}"
        );
    }
    let error = csr(&[0, 1], &[0], &[]);
    assert!(error.ends_with("indices and data have different lengths"));
    for column in [3, -1, i64::MAX, i64::MIN, 1 << 32] {
        let error = csr(&[0, 1], &[column], &[1.0]);
        let expected = format!("there is no column {column}: the table has 3 columns");
        assert!(error.ends_with(&expected), "{error}");
    }
    // The row before is written, and the rows after the errors.
    let error = csr(&[0, 1, 3], &[2, 1, 1], &[2.0, 1.0, 1.0]);
    assert!(error.starts_with("row 2 "), "{error}");
    writer.write_row([(0, 3.0)]).unwrap();
    let expected = file(
        &["a", "b", "c"],
        &[
            &row(1, &[(1, 1.0)]),
            &row(1, &[(2, 2.0)]),
            &row(1, &[(0, 3.0)]),
        ],
    );
    assert_eq!(writer.finish().unwrap(), expected);
}

#[test]
fn a_file_without_columns_has_one() {
    let told = check_readers(&[0; 12], &[5], 1);
    assert_eq!(told.table.labels, [""]);
    assert_eq!(told.table.rows, [[]]);
    assert!(told.error.is_none());
}

/// What is said to be known may be false.
#[test]
fn known_blocks_of_too_many_rows() {
    let mut framer = Framer::at_block(3, 0, 8, 0);
    framer.push(vec![0; 12].into());
    for rows in [1, u64::MAX, u64::MAX] {
        let block = framer.next_known(rows, 4).unwrap();
        assert_eq!((block.rows, block.payload.len()), (rows, 4));
        assert_eq!(block.rows(3).flatten().count(), 1);
    }
}
