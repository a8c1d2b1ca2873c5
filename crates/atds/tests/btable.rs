//! BTable files as batches, end to end.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use atds::btable::{ErrorKind as TableError, FeatureFault};
use atds::{
    Batch, Convert, DType, Dataset, DatasetBuilder, ErrorKind, Feature, FileFormat, Layout,
    Shuffle, Threads,
};
use atds_btable::{ErrorKind as Damage, FileWriter};
use tempfile::TempDir;

const COLUMNS: usize = 40;

/// The values of row `row`; the first column is its number and 1.
fn values(row: usize) -> Vec<f64> {
    let value = |column: usize| match column {
        0 => row as f64 + 1.0,
        _ if (row * 7 + column * 3).is_multiple_of(11) => (row + column) as f64 / 4.0,
        _ => 0.0,
    };
    (0..COLUMNS).map(value).collect()
}

fn labels() -> Vec<String> {
    (0..COLUMNS).map(|column| format!("c{column}")).collect()
}

/// A folder of files with 6,000 rows, so that each has several blocks.
fn folder(names: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let each = 6_000 / names.len();
    for (i, name) in names.iter().enumerate() {
        let mut file = FileWriter::create(folder.path().join(name), &labels()).unwrap();
        for row in i * each..(i + 1) * each {
            file.writer().write_dense_row(&values(row)).unwrap();
        }
        file.finish().unwrap();
    }
    folder
}

fn plain() -> TempDir {
    folder(&["a.btable", "b.btable", "c.btable"])
}

fn builder(folder: &Path) -> DatasetBuilder {
    let x = Feature::sparse("x", &[COLUMNS as i64 - 1], DType::Float64).at("@");
    let y = Feature::dense("c0", &[], DType::Float64);
    Dataset::builder(folder, 64)
        .features([x, y])
        .threads(Threads::Fixed(2))
}

/// The numbers of the rows of a batch, whose cells are checked.
fn rows(batch: &Batch) -> Vec<usize> {
    let y = batch.dense::<f64>("c0").unwrap();
    let x = batch.sparse::<f64>("x").unwrap();
    assert_eq!(x.dense_shape, [batch.rows() as i64, COLUMNS as i64 - 1]);
    let mut found = vec![vec![0.0; COLUMNS]; batch.rows()];
    for (i, &value) in x.values.iter().enumerate() {
        let [row, column] = *x.indices_of(i) else {
            panic!("two indices");
        };
        found[row as usize][column as usize + 1] = value;
    }
    let rows = y.iter().zip(found).map(|(&y, mut found)| {
        let row = y as usize - 1;
        found[0] = y;
        assert_eq!(found, values(row));
        row
    });
    rows.collect()
}

fn all(dataset: &Dataset) -> Vec<usize> {
    dataset
        .iter()
        .flat_map(|batch| rows(&batch.unwrap()))
        .collect()
}

#[test]
fn in_order_and_shuffled() {
    let folder = plain();
    let in_order: Vec<usize> = (0..6_000).collect();
    let dataset = builder(folder.path()).build().unwrap();
    assert_eq!(dataset.num_records().unwrap(), 6_000);
    assert_eq!(all(&dataset), in_order);
    for shuffled in [
        builder(folder.path()).shuffle_buffer_size(500),
        builder(folder.path())
            .shuffle_files(true)
            .shuffle_blocks(true),
        builder(folder.path())
            .shuffle(Shuffle::Blocks)
            .run_bytes(1 << 10),
    ] {
        let dataset = shuffled.seed(3).build().unwrap();
        let mut found = all(&dataset);
        assert_ne!(found, in_order);
        found.sort_unstable();
        assert_eq!(found, in_order);
    }
    let shards = (0..3).map(|index| {
        let dataset = builder(folder.path()).build().unwrap();
        all(&dataset.shard(index, 3).unwrap())
    });
    assert_eq!(shards.collect::<Vec<_>>().concat(), in_order);
}

#[test]
fn an_iteration_goes_on_after_any_batch() {
    let folder = plain();
    let build = || {
        builder(folder.path())
            .shuffle_buffer_size(300)
            .seed(5)
            .build()
            .unwrap()
    };
    let whole: Vec<_> = build().iter().map(|batch| rows(&batch.unwrap())).collect();
    for given in [0, 1, 50, whole.len()] {
        let dataset = build();
        let mut batches = dataset.iter();
        for _ in 0..given {
            batches.next().unwrap().unwrap();
        }
        let state = batches.state().unwrap();
        let resumed = build();
        let rest = resumed.resume(&state).unwrap();
        let rest: Vec<_> = rest.map(|batch| rows(&batch.unwrap())).collect();
        assert_eq!(rest, whole[given..], "after {given}");
    }
}

#[test]
fn packed_files_and_other_names() {
    let packed = folder(&["a.btable.gz", "b.btable.zst", "c.btable"]);
    let dataset = builder(packed.path()).build().unwrap();
    assert_eq!(all(&dataset), (0..6_000).collect::<Vec<_>>());
    assert_eq!(dataset.num_records().unwrap(), 6_000);
    let error = builder(packed.path()).shuffle_blocks(true).build();
    assert!(matches!(error.unwrap_err().kind, ErrorKind::Packed { .. }));

    // The first bytes tell the format of a file with another name.
    let other = folder(&["a"]);
    let dataset = builder(&other.path().join("a")).build().unwrap();
    assert_eq!(all(&dataset).len(), 6_000);
}

#[test]
fn two_formats_are_an_error_that_names_a_file_of_each() {
    let folder = folder(&["a.btable"]);
    fs::write(folder.path().join("b.avro"), b"Obj\x01").unwrap();
    let error = builder(folder.path()).build().unwrap_err();
    assert!(
        matches!(error.kind, ErrorKind::TwoFormats { .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("a.btable") && text.contains("b.avro"),
        "{text}"
    );
    let dataset = builder(folder.path())
        .format(FileFormat::BTable)
        .build()
        .unwrap();
    assert_eq!(all(&dataset).len(), 6_000);
}

#[test]
fn without_features_all_columns_are_one_sparse_feature() {
    let folder = plain();
    let dataset = Dataset::builder(folder.path(), 10).build().unwrap();
    let batch = dataset.iter().next().unwrap().unwrap();
    let x = batch.sparse::<f64>("x").unwrap();
    assert_eq!(x.dense_shape, [10, COLUMNS as i64]);
    let dataset = Dataset::builder(folder.path(), 10)
        .layout(Layout::Ragged)
        .build()
        .unwrap();
    let batch = dataset.iter().next().unwrap().unwrap();
    assert_eq!(batch.ragged_sparse::<f64>("x").unwrap().rows(), 10);
}

#[test]
fn one_dense_matrix_of_float32() {
    let folder = plain();
    let x = Feature::dense("x", &[COLUMNS], DType::Float32)
        .at("[*]")
        .with_convert(Convert::Cast);
    let dataset = Dataset::builder(folder.path(), 1000)
        .features([x])
        .build()
        .unwrap();
    let mut row = 0;
    for batch in dataset.iter() {
        let batch = batch.unwrap();
        for found in batch.dense::<f32>("x").unwrap().chunks(COLUMNS) {
            let expected: Vec<f32> = values(row).iter().map(|&value| value as f32).collect();
            assert_eq!(found, expected);
            row += 1;
        }
    }
    assert_eq!(row, 6_000);
}

fn file_of(error: &atds::Error) -> PathBuf {
    let location = error.place.location.as_ref().unwrap();
    location.path().unwrap().to_owned()
}

#[test]
fn damage_is_an_error_with_its_place() {
    let folder = plain();
    let path = folder.path().join("b.btable");
    let mut bytes = fs::read(&path).unwrap();
    // The second cell of row 2,000 + 3 has the column of the first.
    let header = 8 + 2 * (labels().join(" ").len());
    let len = |row: usize| 4 + 12 * values(row).iter().filter(|&&value| value != 0.0).count();
    let start = header + (2_000..2_003).map(len).sum::<usize>();
    bytes[start + 16..start + 20].fill(0);
    fs::write(&path, &bytes).unwrap();
    let dataset = builder(folder.path()).build().unwrap();
    let mut found = Vec::new();
    let mut error = None;
    for batch in dataset.iter() {
        match batch {
            Ok(batch) => found.extend(rows(&batch)),
            Err(failed) => error = Some(failed),
        }
    }
    assert_eq!(found, (0..2_003).collect::<Vec<_>>());
    let error = error.unwrap();
    let ErrorKind::BTable(kind) = &error.kind else {
        panic!("{error}");
    };
    assert!(matches!(
        **kind,
        TableError::Table(Damage::RepeatedColumn(0))
    ));
    let place = &error.place;
    assert_eq!((place.block, place.record), (Some(0), Some(3)));
    assert_eq!(place.offset, Some(start as u64 + 16));
    assert_eq!(place.field.as_deref(), Some("c0"));
    assert_eq!(file_of(&error), path);

    // A count above the number of columns, which the framing finds.
    bytes[start + 16..start + 20].copy_from_slice(&[0, 0, 0, 1]);
    bytes[start..start + 4].fill(1);
    fs::write(&path, &bytes).unwrap();
    let dataset = builder(folder.path()).build().unwrap();
    let error = dataset.iter().find_map(Result::err).unwrap();
    assert!(
        error.to_string().contains("the row has 16843009 cells"),
        "{error}"
    );
    assert_eq!(error.place.offset, Some(start as u64));
    assert_eq!((error.place.block, error.place.record), (Some(1), None));
    let error = dataset.num_records().unwrap_err();
    assert_eq!(error.place.offset, Some(start as u64));
}

#[test]
fn files_with_other_columns() {
    let folder = plain();
    let mut labels = labels();
    labels.swap(1, 2);
    let path = folder.path().join("d.btable");
    FileWriter::create(&path, &labels)
        .unwrap()
        .finish()
        .unwrap();
    let error = builder(folder.path()).build().unwrap_err();
    let expected = "column 1 is 'c2', and in the first file it is 'c1'";
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(file_of(&error), path);
    // Unless it is checked at the start, it is an error when its turn comes.
    let dataset = builder(folder.path()).check_files(false).build().unwrap();
    let error = dataset.iter().find_map(Result::err).unwrap();
    assert!(error.to_string().contains(expected), "{error}");
    // By its label, a column is found wherever it is.
    let y = Feature::dense("c1", &[], DType::Float64);
    let dataset = Dataset::builder(folder.path(), 64)
        .features([y])
        .build()
        .unwrap();
    assert_eq!(
        dataset
            .iter()
            .map(|batch| batch.unwrap().rows())
            .sum::<usize>(),
        6_000
    );
}

#[test]
fn features_that_do_not_fit_name_the_file() {
    let folder = plain();
    let y = Feature::dense("y", &[], DType::Float64);
    let error = Dataset::builder(folder.path(), 64)
        .features([y])
        .build()
        .unwrap_err();
    let ErrorKind::BTable(kind) = &error.kind else {
        panic!("{error}");
    };
    let TableError::Feature { feature, fault } = &**kind else {
        panic!("{error}");
    };
    assert_eq!(feature, "y");
    assert!(matches!(fault, FeatureFault::NoLabel { .. }));
    assert_eq!(file_of(&error), folder.path().join("a.btable"));
}
