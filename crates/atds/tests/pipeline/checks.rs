//! Files are checked against the features before the first batch.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use atds::avro::schema::FileSchemas;

use atds::avro::Schema;
use atds::{Codec, DType, Dataset, DatasetBuilder, Error, Feature, Fill, Scalar};
use avro_decode::encode::write_long;

use crate::common::{Folder, container};

/// The schema of records with these fields.
fn schema(fields: &str) -> String {
    format!(r#"{{"type": "record", "name": "Row", "fields": [{fields}]}}"#)
}

const X: &str = r#"{"name": "x", "type": "long"}"#;
const Y: &str = r#"{"name": "y", "type": "long"}"#;
const NULLABLE_X: &str = r#"{"name": "x", "type": ["null", "long"]}"#;
const TEXT_X: &str = r#"{"name": "x", "type": "string"}"#;

/// Files with these fields. Each holds one record with these numbers.
fn files(files: &[(&[&str], &[i64])]) -> (Folder, Vec<PathBuf>) {
    let folder = Folder::new();
    let paths = files.iter().enumerate().map(|(number, (fields, values))| {
        let mut record = Vec::new();
        values
            .iter()
            .for_each(|&value| write_long(&mut record, value));
        let bytes = container(&schema(&fields.join(", ")), Codec::Null, [(1, record)]);
        let name = format!("{number:05}.avro");
        folder.write(&name, &bytes);
        folder.path().join(name)
    });
    let paths = paths.collect();
    (folder, paths)
}

fn x() -> Feature {
    Feature::dense("x", &[], DType::Int64)
}

fn y() -> Feature {
    Feature::dense("y", &[], DType::Int64)
}

fn y_or_9() -> Feature {
    y().with_default(Fill::Scalar(Scalar::Int64(9)))
        .with_mask("y.mask")
}

fn builder<const N: usize>(files: &[PathBuf], features: [Feature; N]) -> DatasetBuilder {
    Dataset::builder(files.to_vec(), 1).features(features)
}

/// The error's message, with file names instead of paths.
fn message(error: &Error, folder: &Folder) -> String {
    let folder = format!("{}/", folder.path().display());
    error.to_string().replace(&folder, "")
}

fn refused<T>(built: Result<T, Error>, folder: &Folder) -> String {
    message(&built.err().expect("an error"), folder)
}

/// The values of a column in all batches.
fn values(dataset: &Dataset, column: &str) -> Vec<i64> {
    let batches = dataset.iter().map(Result::unwrap);
    let values = batches.flat_map(|batch| batch.dense::<i64>(column).unwrap().to_vec());
    values.collect()
}

#[test]
fn the_last_of_fifty_files_is_at_fault() {
    let mut all: Vec<(&[&str], &[i64])> = vec![(&[X], &[1]); 50];
    all[49] = (&[TEXT_X], &[0]);
    let (folder, paths) = files(&all);
    let expected = "00049.avro: feature 'x': ";
    let error = refused(builder(&paths, [x()]).build(), &folder);
    assert!(error.starts_with(expected), "{error}");

    // Without the check, the error comes after the earlier files, when the file is opened.
    let dataset = builder(&paths, [x()]).check_files(false).build().unwrap();
    let mut batches: Vec<_> = dataset.iter().collect();
    let error = message(&batches.pop().unwrap().unwrap_err(), &folder);
    assert!(error.starts_with(expected), "{error}");
    assert_eq!(batches.len(), 49);
    assert!(batches.iter().all(Result::is_ok));
}

/// The first bad file is named, for any fault and any order of threads.
#[test]
fn the_first_file_at_fault_is_named() {
    for damaged in [10, 30] {
        let mut all: Vec<(&[&str], &[i64])> = vec![(&[X], &[1]); 50];
        all[20] = (&[TEXT_X], &[0]);
        all[40] = (&[TEXT_X, Y], &[0, 0]);
        let (folder, paths) = files(&all);
        std::fs::write(&paths[damaged], "not Avro").unwrap();
        std::fs::remove_file(&paths[45]).unwrap();
        std::fs::write(&paths[45], "nor this").unwrap();
        for _ in 0..5 {
            let error = refused(builder(&paths, [x()]).build(), &folder);
            let first = format!("000{}.avro", damaged.min(20));
            assert!(error.starts_with(&first), "{error}");
        }
    }
}

#[test]
fn a_field_that_a_file_lacks() {
    let all: [(&[&str], &[i64]); 3] = [(&[X, Y], &[1, 2]), (&[X], &[3]), (&[Y, X], &[5, 4])];
    let (folder, paths) = files(&all);
    let dataset = builder(&paths, [x(), y_or_9()]).build().unwrap();
    assert_eq!(values(&dataset, "x"), [1, 3, 4]);
    assert_eq!(values(&dataset, "y"), [2, 9, 5]);
    let masks = dataset
        .iter()
        .map(|batch| batch.unwrap().dense::<bool>("y.mask").unwrap()[0]);
    assert!(masks.eq([true, false, true]));
    let masked = builder(&paths, [y().with_mask("y.mask")]).build().unwrap();
    assert_eq!(values(&masked, "y"), [2, 0, 5]);

    // Without a default and a mask, the error names a file that has the field, whichever file comes
    // first.
    let remedy = "has it: give the feature a `default` or a `mask`, or read all \
                  files with a `reader_schema` that has a default for the field";
    let lacks = "feature 'y': the schema has no field 'y': the record 'Row' has 'x'";
    assert_eq!(
        refused(builder(&paths, [x(), y()]).build(), &folder),
        format!("00001.avro: {lacks}; '00000.avro' {remedy}")
    );
    let older_first = [paths[1].clone(), paths[2].clone()];
    assert_eq!(
        refused(builder(&older_first, [x(), y()]).build(), &folder),
        format!("00001.avro: {lacks}; '00002.avro' {remedy}")
    );
    let unchecked = builder(&paths, [x(), y()]).check_files(false);
    let error = unchecked.build().unwrap().iter().nth(1).unwrap();
    assert_eq!(
        refused(error, &folder),
        format!("00001.avro: {lacks}; '00000.avro' {remedy}")
    );

    // Follows the advice of the error.
    let reader = r#"{"type": "record", "name": "Row", "fields": [
        {"name": "x", "type": "long"}, {"name": "y", "type": "long", "default": 7}]}"#;
    let read = builder(&paths, [x(), y()]).reader_schema(Schema::parse(reader).unwrap());
    assert_eq!(values(&read.build().unwrap(), "y"), [2, 7, 5]);
}

#[test]
fn a_field_that_all_files_lack() {
    let all: [(&[&str], &[i64]); 3] = [(&[X], &[1]), (&[X], &[2]), (&[X, Y], &[3, 4])];
    let (folder, paths) = files(&all);
    let misspelled = || y_or_9().at("yy");
    for check in [true, false] {
        let built = builder(&paths, [x(), misspelled()]).check_files(check);
        assert_eq!(
            refused(built.build(), &folder),
            "00000.avro: feature 'y': the schema has no field 'yy': the record 'Row' has 'x' (a \
             `default` or a `mask` fills a field that some of the schemas lack, not one that all \
             of them lack: a `reader_schema` can add the field)"
        );
    }
    // Without a default or a mask, the error does not mention them.
    assert_eq!(
        refused(builder(&paths[..2], [x(), y()]).build(), &folder),
        "00000.avro: feature 'y': the schema has no field 'y': the record 'Row' has 'x'"
    );
}

/// The first files may lack a field, if a later file gives its type.
#[test]
fn a_field_that_the_first_files_lack() {
    let all: [(&[&str], &[i64]); 4] =
        [(&[X], &[1]), (&[X], &[2]), (&[X, Y], &[3, 4]), (&[Y], &[5])];
    let (_folder, paths) = files(&all);
    let x_or_0 = || x().with_default(Fill::Scalar(Scalar::Int64(0)));
    for check in [true, false] {
        let dataset = builder(&paths, [x_or_0(), y_or_9()]).check_files(check);
        let dataset = dataset.build().unwrap();
        assert_eq!(values(&dataset, "x"), [1, 2, 3, 0]);
        assert_eq!(values(&dataset, "y"), [9, 9, 4, 5]);
        let telling: Vec<usize> = dataset.schemas().iter().map(|(file, _)| file).collect();
        assert_eq!(telling, [0, 2]);
    }
}

/// The results of the check are passed on, so no header is read again.
#[test]
fn checked_once() {
    let all: [(&[&str], &[i64]); 4] =
        [(&[X], &[1]), (&[X, Y], &[2, 3]), (&[X], &[4]), (&[X], &[5])];
    let (folder, paths) = files(&all);
    let dataset = builder(&paths, [x(), y_or_9()]).build().unwrap();
    let schemas = dataset.schemas().iter();
    let schemas: Vec<(usize, Arc<str>)> = schemas.map(|(file, text)| (file, text.into())).collect();
    let counts = dataset.file_records().unwrap();
    let good = std::fs::read(&paths[3]).unwrap();
    for path in &paths {
        std::fs::write(path, "no longer Avro").unwrap();
    }
    // Another process would use the results in this way.
    let copy = builder(&paths, [x(), y_or_9()]);
    let copy = copy.schemas(FileSchemas::from_iter(schemas));
    let copy = copy.build().unwrap();
    let slice = copy.slice(3..4, counts.clone()).unwrap();
    assert!(copy.iter().next().unwrap().is_err());
    // Only the file that is read is opened.
    std::fs::write(&paths[3], good).unwrap();
    assert_eq!(values(&slice, "x"), [5]);
    let slice = dataset.slice(3..4, counts).unwrap();
    assert_eq!(values(&slice, "y"), [9]);
    assert!(refused(builder(&paths, [x()]).build(), &folder).starts_with("00000.avro"));
}

/// A file that is rewritten after the check is checked again when it is opened.
#[test]
fn a_file_that_changes() {
    let all: [(&[&str], &[i64]); 3] = [(&[X, Y], &[1, 2]), (&[X, Y], &[3, 4]), (&[X], &[5])];
    let (folder, paths) = files(&all);
    let dataset = builder(&paths[..2], [x(), y()]).build().unwrap();
    std::fs::copy(&paths[2], &paths[1]).unwrap();
    let mut batches = dataset.iter();
    assert!(batches.next().unwrap().is_ok());
    let error = refused(batches.next().unwrap(), &folder);
    assert!(error.starts_with("00001.avro: feature 'y': the schema has no field 'y'"));
}

#[test]
fn thousands_of_small_files() {
    let all: Vec<(&[&str], &[i64])> = vec![(&[X], &[1]); 5_000];
    let (_folder, paths) = files(&all);
    let calls = Arc::new(AtomicUsize::new(0));
    let last = Arc::new(AtomicUsize::new(0));
    let (counted, highest) = (calls.clone(), last.clone());
    let start = std::time::Instant::now();
    let dataset = builder(&paths, [x()]).on_check(move |checked, total| {
        assert_eq!(total, 5_000);
        counted.fetch_add(1, Relaxed);
        highest.fetch_max(checked, Relaxed);
        ControlFlow::Continue(())
    });
    let dataset = dataset.build().unwrap();
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    assert_eq!((calls.load(Relaxed), last.load(Relaxed)), (5_000, 5_000));
    assert_eq!(dataset.schemas().iter().count(), 1);
}

#[test]
fn a_check_that_is_stopped() {
    let all: Vec<(&[&str], &[i64])> = vec![(&[X], &[1]); 500];
    let (_folder, paths) = files(&all);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let dataset = builder(&paths, [x()]).on_check(move |_, _| {
        counted.fetch_add(1, Relaxed);
        ControlFlow::Break(())
    });
    assert!(dataset.build().is_err());
    // Each thread finishes its current file.
    assert!(calls.load(Relaxed) <= 16, "{calls:?}");
}

/// If there are too many schemas to keep, they are read again.
#[test]
fn schemas_without_end() {
    let folder = Folder::new();
    let paths: Vec<PathBuf> = (0..40)
        .map(|number| {
            let fields = if number == 39 { TEXT_X } else { X };
            let doc = format!("{number:02}").repeat(1 << 19);
            let schema = schema(fields).replacen('{', &format!(r#"{{"doc": "{doc}", "#), 1);
            let name = format!("{number:02}.avro");
            folder.write(&name, &container(&schema, Codec::Null, [(1, vec![2])]));
            folder.path().join(name)
        })
        .collect();
    let error = refused(builder(&paths, [x()]).build(), &folder);
    assert!(error.starts_with("39.avro: feature 'x'"), "{error}");
    let dataset = builder(&paths[..39], [x()]).build().unwrap();
    assert_eq!(values(&dataset, "x"), [1; 39]);
}

#[test]
fn inferred_from_all_files() {
    let z = r#"{"name": "z", "type": "long"}"#;
    let w = r#"{"name": "w", "type": "long"}"#;
    let all: [(&[&str], &[i64]); 3] = [
        (&[X, Y, z], &[1, 2, 3]),
        (&[NULLABLE_X, z, w], &[0, 6, 7]),
        (&[X, z], &[8, 9]),
    ];
    let (_folder, paths) = files(&all);
    let dataset = Dataset::builder(paths.clone(), 1).build().unwrap();
    let columns = dataset.spec().columns().iter();
    let names: Vec<_> = columns.map(|column| &*column.name).collect();
    assert_eq!(names, ["x", "x.mask", "y", "y.mask", "z"]);
    assert_eq!(values(&dataset, "x"), [1, 0, 8]);
    assert_eq!(values(&dataset, "y"), [2, 0, 0]);
    assert_eq!(values(&dataset, "z"), [3, 6, 9]);
    // A file whose records have no fields.
    let empty: &[&str] = &[];
    let (_empty, lacking) = files(&[(&[X], &[6]), (empty, &[])]);
    let dataset = Dataset::builder(lacking, 1).build().unwrap();
    assert_eq!(values(&dataset, "x"), [6, 0]);
    // Without the check, features are inferred from the first file only.
    let dataset = Dataset::builder(paths, 1).check_files(false).build();
    assert_eq!(dataset.unwrap().spec().columns().len(), 3);
}
