//! Files that other programs wrote: the tensors are what those programs say.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use atds::{
    Batch, Batches, Column, ColumnKind, Dataset, DatasetBuilder, Layout, Threads, Values, features,
    inspect,
};
use serde_json::Value;

/// A value, compared by its bits; any NaN is the same.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Number(i64),
    Bits(u64),
    Bool(bool),
    Bytes(Vec<u8>),
}

/// A column of any number of rows.
#[derive(Clone, Debug, Default, PartialEq)]
struct Whole {
    /// `[rows, shape..]` or the dense shape; empty for a ragged varlen column.
    shape: Vec<i64>,
    /// Row by row of `indices`, without the batch's row where there is none.
    indices: Vec<Vec<i64>>,
    values: Vec<Cell>,
    row_splits: Vec<Vec<i64>>,
}

struct Sample {
    name: String,
    path: PathBuf,
    expected: Value,
}

impl Sample {
    fn features(&self) -> Vec<atds::ColumnSpec> {
        features::from_json(&self.expected["features"].to_string()).unwrap()
    }

    fn records(&self) -> usize {
        self.expected["records"].as_u64().unwrap() as usize
    }

    fn dataset(&self, batch_size: usize, layout: Layout) -> DatasetBuilder {
        Dataset::builder(&self.path, batch_size)
            .features(self.features())
            .layout(layout)
    }

    /// The columns of the whole file, by `expected.json`.
    fn columns(&self, layout: Layout) -> BTreeMap<String, Whole> {
        let specs = self.features().into_iter();
        specs
            .map(|spec| {
                let column = &self.expected["columns"][&spec.name];
                (
                    spec.name.clone(),
                    expected_column(&spec.kind, column, layout),
                )
            })
            .collect()
    }
}

/// The samples: everything in the folder, and not fewer than there are.
fn samples() -> Vec<Sample> {
    let folder = env::var_os("ATDS_TESTDATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata"),
        PathBuf::from,
    );
    let mut samples: Vec<Sample> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "avro")
        })
        .map(|path| {
            let text = fs::read_to_string(path.with_extension("expected.json")).unwrap();
            Sample {
                name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
                expected: serde_json::from_str(&text).unwrap(),
                path,
            }
        })
        .collect();
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(samples.len() > 30, "{} samples found", samples.len());
    samples
}

#[test]
fn one_batch_of_all_records() {
    for sample in samples() {
        for layout in [Layout::Coo, Layout::Ragged] {
            let batch_size = sample.records().max(1);
            let dataset = sample.dataset(batch_size, layout).build().unwrap();
            check(&sample, layout, dataset.iter(), "one batch");
        }
    }
}

#[test]
fn small_batches_on_several_threads_are_the_same_rows() {
    for sample in samples() {
        for layout in [Layout::Coo, Layout::Ragged] {
            for batch_size in [1, 3, 7] {
                let threads = 1 + (batch_size + sample.name.len()) % 3;
                let dataset = sample
                    .dataset(batch_size, layout)
                    .threads(Threads::Fixed(threads))
                    .build()
                    .unwrap();
                let how = format!("batches of {batch_size} on {threads} threads");
                check(&sample, layout, dataset.iter(), &how);
            }
        }
    }
}

#[test]
fn every_thread_count_gives_the_same_rows() {
    for sample in samples() {
        for threads in [1, 2, 3] {
            let threads = Threads::Fixed(threads);
            let dataset = sample.dataset(5, Layout::Coo).threads(threads);
            let how = format!("{threads:?}");
            check(&sample, Layout::Coo, dataset.build().unwrap().iter(), &how);
        }
    }
}

#[test]
fn mapped_files_and_tiny_reads_give_the_same_rows() {
    for sample in samples() {
        let dataset = sample.dataset(7, Layout::Coo).mmap(true).build().unwrap();
        check(&sample, Layout::Coo, dataset.iter(), "mapped");
        for bytes in [1, 13] {
            let dataset = sample.dataset(7, Layout::Coo).reader_buffer_size(bytes);
            let how = format!("{bytes} bytes at a time");
            check(&sample, Layout::Coo, dataset.build().unwrap().iter(), &how);
        }
    }
}

#[test]
fn features_inferred_from_the_schema_are_those_or_wider() {
    for sample in samples() {
        let dataset = Dataset::builder(&sample.path, 10).build().unwrap();
        for feature in sample.features() {
            let place = dataset.spec().position(&feature.name);
            let place = place.unwrap_or_else(|| panic!("{}: no {}", sample.name, feature.name));
            let inferred = &dataset.spec().columns()[place];
            let at = format!("{}: {}", sample.name, feature.name);
            assert_eq!(inferred.dtype, feature.dtype, "{at}");
            assert_eq!(inferred.rank(), feature.rank(), "{at}");
        }
        let rows: usize = dataset.iter().map(|batch| batch.unwrap().rows()).sum();
        assert_eq!(rows, sample.records(), "{}", sample.name);
    }
}

#[test]
fn inspect_tells_of_codec_blocks_records_and_metadata() {
    for sample in samples() {
        let found = inspect(&sample.path).unwrap();
        let at = &sample.name;
        assert_eq!(found.codec, sample.expected["codec"], "{at}");
        assert_eq!(found.records, sample.records() as u64, "{at}");
        let blocks = sample.expected["blocks"].as_array().unwrap();
        assert_eq!(found.blocks, blocks.len() as u64, "{at}");
        let metadata: BTreeMap<&str, &[u8]> = found
            .metadata
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_slice()))
            .collect();
        let expected = sample.expected["metadata"].as_object().unwrap().iter();
        let expected: BTreeMap<&str, &[u8]> = expected
            .filter(|(key, _)| !key.starts_with("avro."))
            .map(|(key, value)| (key.as_str(), value.as_str().unwrap().as_bytes()))
            .collect();
        assert_eq!(metadata, expected, "{at}");
        let size = fs::metadata(&sample.path).unwrap().len();
        assert_eq!(found.file_bytes, size, "{at}");
        assert!(found.raw_bytes < size, "{at}");
        if found.codec == "null" {
            assert_eq!(found.raw_bytes, found.inflated_bytes, "{at}");
        }
    }
}

/// The scan's features, held against the data by the expected columns: dense
/// exactly where all lists of a level are of one length that is not 0, sparse
/// dimensions one above the largest index.
#[test]
fn inspect_infers_the_features_that_the_data_has() {
    let mut dense = 0;
    for sample in samples().iter().filter(|sample| sample.records() > 0) {
        let found = inspect(&sample.path).unwrap();
        let columns = sample.columns(Layout::Ragged);
        for feature in sample.features() {
            let at = format!("{}: {}", sample.name, feature.name);
            let inferred = found.features.iter().find(|f| f.name == feature.name);
            let inferred = inferred.unwrap_or_else(|| panic!("{at} is not inferred"));
            let column = &columns[&feature.name];
            match (&feature.kind, &inferred.kind) {
                (ColumnKind::Dense { shape }, ColumnKind::Dense { shape: found }) => {
                    assert_eq!(found, shape, "{at}");
                    dense += usize::from(!shape.is_empty());
                }
                (ColumnKind::Varlen { .. }, ColumnKind::Dense { shape }) => {
                    let lengths = column.row_splits.iter().map(|splits| length(splits));
                    let lengths: Option<Vec<i64>> = lengths.collect();
                    let shape: Vec<i64> = shape.iter().map(|&dim| dim as i64).collect();
                    assert_eq!(lengths, Some(shape), "{at}");
                }
                (ColumnKind::Varlen { .. }, ColumnKind::Varlen { .. }) => {
                    let lengths = column.row_splits.iter().map(|splits| length(splits));
                    let lengths: Option<Vec<i64>> = lengths.collect();
                    let agree = lengths.is_some_and(|lengths| !lengths.contains(&0));
                    assert!(!agree, "{at} is dense");
                }
                (ColumnKind::Sparse { .. }, ColumnKind::Sparse { shape, .. }) => {
                    for (dim, &size) in shape.iter().enumerate() {
                        let largest = column.indices.iter().map(|index| index[dim]).max();
                        assert_eq!(size, largest.map_or(1, |largest| largest + 1), "{at}");
                    }
                }
                (_, other) => panic!("{at}: {other:?}"),
            }
        }
    }
    assert!(dense > 0, "no dense feature above rank 0 among the samples");
}

/// The length that all lists have, if there are lists and they agree.
fn length(splits: &[i64]) -> Option<i64> {
    let lengths: Vec<i64> = splits.windows(2).map(|ends| ends[1] - ends[0]).collect();
    let first = *lengths.first()?;
    lengths.iter().all(|&len| len == first).then_some(first)
}

const WEATHER: [(&str, i64, i32); 5] = [
    ("011990-99999", -619_524_000_000, 0),
    ("011990-99999", -619_506_000_000, 22),
    ("011990-99999", -619_484_400_000, -11),
    ("012650-99999", -655_531_200_000, 111),
    ("012650-99999", -655_509_600_000, 78),
];

#[test]
fn the_weather_files_of_the_avro_project() {
    for codec in ["", "-deflate", "-snappy", "-zstd"] {
        let Some(path) = shared(&format!("weather{codec}.avro")) else {
            continue;
        };
        let dataset = Dataset::builder(&path, 5).build().unwrap();
        let batches: Vec<Batch> = dataset.iter().map(Result::unwrap).collect();
        let [batch] = batches.as_slice() else {
            panic!("{codec}: {} batches", batches.len());
        };
        let stations: Vec<&[u8]> = batch.strings("station").unwrap().iter().collect();
        let times = batch.dense::<i64>("time").unwrap();
        let temps = batch.dense::<i32>("temp").unwrap();
        for (i, (station, time, temp)) in WEATHER.iter().enumerate() {
            assert_eq!(stations[i], station.as_bytes(), "{codec}");
            assert_eq!((times[i], temps[i]), (*time, *temp), "{codec}");
        }
        assert_eq!(temps.len(), WEATHER.len(), "{codec}");
    }
}

#[test]
fn the_image_file_of_the_tensorflow_io_tutorial() {
    let Some(path) = shared("image-train.avro") else {
        return;
    };
    let dataset = Dataset::builder(&path, 4).build().unwrap();
    let left_out: Vec<&str> = dataset
        .left_out()
        .iter()
        .map(|f| f.field.as_str())
        .collect();
    assert_eq!(left_out, ["dataType"]);
    let records: Vec<Value> = atds::Records::open(&path)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(records.len(), 4);
    // The labels may be null, so the features alone are read as a tensor.
    let features = atds::ColumnSpec::varlen("features", &[-1], atds::DType::Int32);
    let dataset = Dataset::builder(&path, 4).features([features.with_layout(Layout::Ragged)]);
    let batch = dataset.build().unwrap().iter().next().unwrap().unwrap();
    let Some(Column::Ragged(tensor)) = batch.column("features") else {
        panic!("not ragged");
    };
    let splits = tensor.row_splits[0].as_slice();
    let values = tensor.values.as_slice::<i32>().unwrap();
    for (record, ends) in records.iter().zip(splits.windows(2)) {
        let row = &values[ends[0] as usize..ends[1] as usize];
        assert_eq!(serde_json::json!(row), record["features"]);
    }
}

/// A file of the shared data, which not every checkout has.
fn shared(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = folder.join(name);
    if !path.exists() {
        eprintln!("skipped: no {}", path.display());
        return None;
    }
    Some(path)
}

/// Holds the batches, put together, against what the file must give.
fn check(sample: &Sample, layout: Layout, batches: Batches, how: &str) {
    let mut expected = sample.columns(layout);
    let at = format!("{}, {layout:?}, {how}", sample.name);
    let (mut whole, mut rows) = (BTreeMap::<String, Whole>::new(), 0);
    for batch in batches {
        let batch = batch.unwrap_or_else(|error| panic!("{at}: {error}"));
        for (spec, column) in batch.columns() {
            let whole = whole.entry(spec.name.clone()).or_default();
            append(whole, column, rows);
        }
        rows += batch.rows();
    }
    assert_eq!(rows, sample.records(), "{at}");
    if rows == 0 {
        // No batch, so no columns.
        expected.clear();
    }
    for (name, expected) in &expected {
        assert_eq!(&whole[name], expected, "{at}: {name}");
    }
    assert_eq!(whole.len(), expected.len(), "{at}");
}

fn append(whole: &mut Whole, column: Column<'_>, rows: usize) {
    let values = match column {
        Column::Dense(tensor) => {
            add_shape(&mut whole.shape, tensor.shape);
            tensor.values
        }
        Column::Sparse(tensor) => {
            add_shape(&mut whole.shape, tensor.dense_shape);
            for place in tensor.indices.chunks(tensor.dense_shape.len()) {
                let mut place = place.to_vec();
                place[0] += rows as i64;
                whole.indices.push(place);
            }
            tensor.values
        }
        Column::Ragged(tensor) => {
            let levels = tensor.row_splits.len();
            whole.row_splits.resize(levels, Vec::new());
            for (all, splits) in whole.row_splits.iter_mut().zip(tensor.row_splits) {
                add_splits(all, splits.as_slice());
            }
            tensor.values
        }
        Column::RaggedSparse(tensor) => {
            add_shape(&mut whole.shape, tensor.dense_shape);
            let places = tensor.indices.chunks(tensor.dense_shape.len() - 1);
            whole.indices.extend(places.map(<[i64]>::to_vec));
            whole.row_splits.resize(1, Vec::new());
            add_splits(&mut whole.row_splits[0], tensor.row_splits);
            tensor.values
        }
        other => panic!("another kind of column: {other:?}"),
    };
    whole.values.extend(cells(values));
}

/// Rows add up; other dimensions are at least those of every batch.
fn add_shape(all: &mut Vec<i64>, shape: &[i64]) {
    all.resize(shape.len(), 0);
    all[0] += shape[0];
    for (all, &dim) in all[1..].iter_mut().zip(&shape[1..]) {
        *all = dim.max(*all);
    }
}

fn add_splits(all: &mut Vec<i64>, splits: &[i64]) {
    assert_eq!(splits[0], 0);
    let start = all.pop().unwrap_or(0);
    all.extend(splits.iter().map(|split| start + split));
}

fn cells(values: &Values) -> Vec<Cell> {
    let double = |value: f64| Cell::Bits(if value.is_nan() { f64::NAN } else { value }.to_bits());
    let single = |value: f32| {
        let value = if value.is_nan() { f32::NAN } else { value };
        Cell::Bits(value.to_bits().into())
    };
    match values {
        Values::Int32(v) => v
            .as_slice()
            .iter()
            .map(|&v| Cell::Number(v.into()))
            .collect(),
        Values::Int64(v) => v.as_slice().iter().map(|&v| Cell::Number(v)).collect(),
        Values::Float32(v) => v.as_slice().iter().map(|&v| single(v)).collect(),
        Values::Float64(v) => v.as_slice().iter().map(|&v| double(v)).collect(),
        Values::Bool(v) => v.as_slice().iter().map(|&v| Cell::Bool(v == 1)).collect(),
        Values::String(v) => v.iter().map(|v| Cell::Bytes(v.to_vec())).collect(),
        other => panic!("another dtype: {other:?}"),
    }
}

fn expected_column(kind: &ColumnKind, column: &Value, layout: Layout) -> Whole {
    let float = |digits: &str| {
        let bits = u64::from_str_radix(digits, 16).unwrap();
        match digits.len() {
            8 if f32::from_bits(bits as u32).is_nan() => f32::NAN.to_bits().into(),
            16 if f64::from_bits(bits).is_nan() => f64::NAN.to_bits(),
            _ => bits,
        }
    };
    let cell = |value: &Value| match value {
        Value::Bool(value) => Cell::Bool(*value),
        Value::Number(value) => Cell::Number(value.as_i64().unwrap()),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => Cell::Bits(float(digits)),
            None => Cell::Bytes(unhex(text)),
        },
        other => panic!("{other}"),
    };
    let values = column["values"].as_array().unwrap().iter().map(cell);
    let mut whole = Whole {
        values: values.collect(),
        ..Whole::default()
    };
    let ragged = layout == Layout::Ragged;
    match kind {
        ColumnKind::Dense { .. } => whole.shape = numbers(&column["shape"]),
        ColumnKind::Varlen { .. } if ragged => whole.row_splits = lists(&column["row_splits"]),
        _ => {
            whole.shape = numbers(&column["dense_shape"]);
            whole.indices = lists(&column["indices"]);
            if ragged {
                whole.row_splits = lists(&column["row_splits"]);
                for place in &mut whole.indices {
                    place.remove(0);
                }
            }
        }
    }
    whole
}

fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn numbers(list: &Value) -> Vec<i64> {
    let list = list.as_array().unwrap().iter();
    list.map(|number| number.as_i64().unwrap()).collect()
}

fn lists(list: &Value) -> Vec<Vec<i64>> {
    list.as_array().unwrap().iter().map(numbers).collect()
}
