//! The conformance suite for BTables, and features that they can and cannot give.

use std::sync::Arc;

use atds_btable::{Rows, Writer};
use atds_features::{Convert, Feature, Features};
use atds_format::{Decoder, Format, Pos, Prepared, Scratch};
use atds_test_formats::{Row, TestFormat, conformance};
use bytes::Bytes;
use tensor_batch::{
    Batch, BatchBuilder, BatchSpec, Buffer, Column, DType, Layout, RowSlots, Values,
};

use crate::formats::btable::{BTableFormat, Request, TableDecoder, is_table};

conformance!(btable_of_rows, &BTableFiles { block_bytes: 1 });
conformance!(btable_of_blocks, &BTableFiles { block_bytes: 200 });

/// Writes tables. The first cell of a row is its label, the second is always there, the others are its
/// numbers. No value is 0.
#[derive(Clone, Copy, Debug)]
struct BTableFiles {
    block_bytes: usize,
}

/// Number of columns, and of those in files with long rows.
const COLUMNS: usize = 8;
const MANY_COLUMNS: usize = 40_000;

fn not_zero(number: i64) -> f64 {
    (2 * number + 1) as f64
}

fn number(value: f64) -> i64 {
    (value as i64).wrapping_sub(1) / 2
}

fn row_bytes(row: &Row) -> usize {
    4 + 12 * (2 + row.numbers.len())
}

impl BTableFiles {
    fn features() -> Features {
        let features = [
            Feature::dense("label", &[], DType::Float64),
            Feature::sparse("numbers", &[-1], DType::Float64)
                .with_layout(Layout::Ragged)
                .at("@"),
        ];
        Features::new(features).expect("the features are right")
    }
}

impl TestFormat for BTableFiles {
    fn format(&self) -> Arc<dyn Format> {
        Arc::new(BTableFormat {
            request: Arc::new(Request::of_any(Self::features())),
            block_bytes: self.block_bytes,
        })
    }

    fn spec(&self) -> BatchSpec {
        Self::features().spec().clone()
    }

    fn write(&self, blocks: &[Vec<Row>]) -> Vec<u8> {
        let rows = || blocks.iter().flatten();
        let is_long = rows().any(|row| row.numbers.len() + 2 > COLUMNS);
        let columns = if is_long { MANY_COLUMNS } else { COLUMNS };
        let mut labels = vec![""; columns];
        labels[0] = "label";
        let mut writer = Writer::new(Vec::new(), &labels).expect("memory takes bytes");
        for row in rows() {
            let values = [not_zero(row.label), 1.0].into_iter();
            let values = values.chain(row.numbers.iter().map(|&number| not_zero(number)));
            let written = writer.write_row((0..).zip(values));
            written.expect("memory takes bytes");
        }
        writer.finish().expect("memory takes bytes")
    }

    /// The second cell of the row has the column of the first.
    fn write_damaged(&self, blocks: &[Vec<Row>], block: usize, row: usize) -> Vec<u8> {
        let mut file = self.write(blocks);
        let before = blocks[..block]
            .iter()
            .flatten()
            .chain(&blocks[block][..row]);
        let start =
            self.write(blocks).len() - blocks.iter().flatten().map(row_bytes).sum::<usize>();
        let at = start + before.map(row_bytes).sum::<usize>() + 4 + 12;
        file[at..at + 4].fill(0);
        file
    }

    fn memory_factor(&self) -> u64 {
        2
    }

    fn framed(&self, blocks: &[Vec<Row>]) -> Vec<Vec<Row>> {
        let (mut framed, mut open, mut bytes) = (Vec::new(), Vec::new(), 0);
        for row in blocks.iter().flatten() {
            bytes += row_bytes(row);
            open.push(row.clone());
            if bytes >= self.block_bytes {
                framed.push(std::mem::take(&mut open));
                bytes = 0;
            }
        }
        framed.extend((!open.is_empty()).then_some(open));
        framed
    }

    fn parts(&self, blocks: &[Vec<Row>]) -> Vec<Vec<Row>> {
        blocks
            .iter()
            .flatten()
            .map(|row| vec![row.clone()])
            .collect()
    }

    fn rows(&self, batch: &Batch) -> Vec<Row> {
        let labels = batch.dense::<f64>("label").expect("a dense column");
        let numbers = batch
            .ragged_sparse::<f64>("numbers")
            .expect("a ragged sparse column");
        assert_eq!((labels.len(), numbers.rows()), (batch.rows(), batch.rows()));
        let rows = labels.iter().enumerate().map(|(i, &label)| Row {
            label: number(label),
            // What is left out has no label.
            numbers: numbers.values[numbers.row_range(i)]
                .iter()
                .skip(1)
                .map(|&value| number(value))
                .collect(),
        });
        rows.collect()
    }

    fn written(&self, slots: &mut RowSlots<'_>) -> Vec<Row> {
        let rows = slots.row();
        let [label, list] = slots.columns() else {
            return Vec::new();
        };
        let labels = label.dense::<f64>().expect("a dense column")[..rows].to_vec();
        let list = list.segment().expect("a sparse column");
        let values = list.values.as_slice::<f64>().expect("of float64");
        let splits = list.splits[0].as_slice();
        let is_whole = splits.len() == rows + 1 && splits[rows] == values.len() as i64;
        let numbers = splits.windows(2).map(|ends| {
            let row = &values[ends[0] as usize..ends[1] as usize];
            row.iter().skip(1).map(|&value| number(value)).collect()
        });
        let rows = labels.iter().zip(numbers);
        let rows = rows.map(|(&label, numbers)| Row {
            label: number(label),
            numbers,
        });
        // A part of a row is no row.
        rows.filter(|_| is_whole).collect()
    }
}

/// The labels of a table.
fn labels(labels: &[&str]) -> Arc<[String]> {
    labels.iter().map(|&label| label.to_owned()).collect()
}

/// The batch of features of a table with the columns a, b, c.d and c.
fn read(features: Vec<Feature>, rows: &[[f64; 4]]) -> Result<Batch, String> {
    let labels = labels(&["a", "b", "c.d", "c"]);
    let mut writer = Writer::new(Vec::new(), &labels).expect("memory takes bytes");
    for row in rows {
        writer.write_dense_row(row).expect("memory takes bytes");
    }
    let file = writer.finish().expect("memory takes bytes");
    let payload = Bytes::from(file).slice(8 + 2 * 9..);
    let count = Rows::new(&payload, 4, 0, 0).count();
    assert_eq!(count, rows.len());

    let features = Features::new(features).map_err(|error| error.to_string())?;
    let request = Request::new(features, labels.clone()).map_err(|error| error.to_string())?;
    let decoder = TableDecoder::of(&request, &labels).map_err(|error| error.to_string())?;
    let mut builder = BatchBuilder::new(request.spec().clone());
    let mut slots = builder.slots(&[1, count - 1]);
    let block = Prepared::of_bytes(payload);
    let mut at = Pos::default();
    for slots in &mut slots {
        let records = slots.remaining() as u64;
        let decoded = decoder.decode(&block, at, records, slots, &mut Scratch::default(), None);
        at = decoded.map_err(|error| error.to_string())?.pos;
    }
    decoder
        .finish(&block, at)
        .map_err(|error| error.to_string())?;
    drop(slots);
    builder.gather().into_iter().for_each(|task| task.run());
    Ok(builder.finish())
}

const ROWS: [[f64; 4]; 3] = [
    [1.0, 0.0, 3.5, 0.0],
    [0.0, 0.0, 0.0, 0.0],
    [f64::INFINITY, -2.0, 0.0, 1e300],
];

#[test]
fn labels_numbers_blocks_and_the_rest() {
    let f64s = |name: &str, shape: &[usize]| Feature::dense(name, shape, DType::Float64);
    let batch = read(
        vec![
            f64s("b", &[]),
            f64s("c.d", &[]),
            f64s("first", &[]).at("[0]"),
            f64s("key", &[]).at("['c']"),
            f64s("dotted", &[]).at("c.d"),
            f64s("all", &[4]).at("[*]"),
            f64s("slice", &[2]).at("[-3:-1]"),
            f64s("chosen", &[3]).at("['c', 'a', 'c.d']"),
            f64s("one", &[1]).at("['c']"),
            Feature::dense("narrow", &[2], DType::Float32)
                .at("['c.d', 'b']")
                .with_convert(Convert::Cast),
            Feature::dense("float32", &[4], DType::Float32)
                .at("[*]")
                .with_convert(Convert::Cast),
            Feature::dense("bool", &[], DType::Bool)
                .at("a")
                .with_convert(Convert::Cast),
        ],
        &ROWS,
    );
    let batch = batch.expect("the features fit");
    let dense = |name: &str| batch.dense::<f64>(name).expect("a dense column").to_vec();
    assert_eq!(dense("b"), [0.0, 0.0, -2.0]);
    assert_eq!(dense("c.d"), [3.5, 0.0, 0.0]);
    assert_eq!(dense("dotted"), [3.5, 0.0, 0.0]);
    assert_eq!(dense("first"), [1.0, 0.0, f64::INFINITY]);
    assert_eq!(dense("key"), [0.0, 0.0, 1e300]);
    assert_eq!(dense("all"), ROWS.concat());
    let chosen = ROWS.map(|[a, _, c_d, c]| [c, a, c_d]);
    assert_eq!(dense("chosen"), chosen.concat());
    assert_eq!(dense("one"), [0.0, 0.0, 1e300]);
    let narrow = batch.dense::<f32>("narrow").expect("a dense column");
    assert_eq!(narrow, [3.5, 0.0, 0.0, 0.0, 0.0, -2.0]);
    assert_eq!(dense("slice"), [0.0, 3.5, 0.0, 0.0, -2.0, 0.0]);
    let float32 = batch.dense::<f32>("float32").expect("a dense column");
    assert_eq!(float32[2], 3.5);
    assert_eq!(float32[11], f32::INFINITY);
    assert_eq!(
        batch.dense::<bool>("bool").expect("a dense column"),
        [true, false, true]
    );
}

#[test]
fn sparse_columns() {
    for (labelled, expected) in [
        (vec![], vec![(0, 0), (0, 2), (2, 0), (2, 1), (2, 3)]),
        (vec!["c.d"], vec![(0, 0), (2, 0), (2, 1), (2, 2)]),
        (vec!["a", "b", "c"], vec![(0, 0)]),
    ] {
        let width = 4 - labelled.len() as i64;
        for shape in [width, width + 9, -1] {
            let x = Feature::sparse("x", &[shape], DType::Float64).at("@");
            let ys = labelled
                .iter()
                .map(|&y| Feature::dense(y, &[], DType::Float64));
            let ragged = Feature::sparse("ragged", &[shape], DType::Float32)
                .at("@")
                .with_convert(Convert::Cast)
                .with_layout(Layout::Ragged);
            let features = ys.chain([x, ragged]).collect();
            let batch = read(features, &ROWS).expect("the features fit");
            let x = batch.sparse::<f64>("x").expect("coordinates");
            let indices: Vec<_> = x.indices.chunks(2).map(|pair| (pair[0], pair[1])).collect();
            assert_eq!(indices, expected);
            let largest = expected
                .iter()
                .map(|(_, column)| column + 1)
                .max()
                .unwrap_or(0);
            let extent = if shape < 0 { largest } else { shape };
            assert_eq!(x.dense_shape, [3, extent]);
            let ragged = batch.ragged_sparse::<f32>("ragged").expect("ragged");
            let columns: Vec<_> = expected.iter().map(|&(_, column)| column).collect();
            assert_eq!(ragged.indices, columns);
            for row in 0..3 {
                let cells = expected.iter().filter(|(r, _)| *r == row as i64).count();
                assert_eq!(ragged.row_range(row).len(), cells);
            }
            let values: Vec<_> = x.values.iter().map(|&value| value as f32).collect();
            assert_eq!(ragged.values, values);
        }
    }
}

/// A sparse feature of all columns.
fn all_columns(name: &str, dtype: DType, layout: Layout, extent: i64) -> Feature {
    let feature = Feature::sparse(name, &[extent], dtype).at("@");
    feature.with_convert(Convert::Cast).with_layout(layout)
}

/// The parts of a sparse column.
fn parts(batch: &Batch, name: &str) -> (Vec<i64>, Values, Vec<i64>, Vec<i64>) {
    match batch.column(name) {
        Some(Column::Sparse(column)) => (
            column.indices.to_vec(),
            column.values.clone(),
            Vec::new(),
            column.dense_shape.to_vec(),
        ),
        Some(Column::RaggedSparse(column)) => (
            column.indices.to_vec(),
            column.values.clone(),
            column.row_splits.to_vec(),
            column.dense_shape.to_vec(),
        ),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_column_of_all_cells_is_the_same_beside_others() {
    use DType::{BFloat16, Bool, Float16, Float32, Float64};
    for dtype in [Float64, Float32, Float16, BFloat16, Bool] {
        for layout in [Layout::Coo, Layout::Ragged] {
            for extent in [4, 9, -1] {
                let all = all_columns("all", dtype, layout, extent);
                let other = all_columns("other", Float64, Layout::Coo, -1);
                let alone = read(vec![all.clone()], &ROWS).expect("the feature fits");
                let beside = read(vec![other, all], &ROWS).expect("the features fit");
                let alone = parts(&alone, "all");
                assert_eq!(alone.1.len(), 5, "{dtype} {layout:?}");
                assert_eq!(alone, parts(&beside, "all"), "{dtype} {layout:?} {extent}");
            }
        }
    }
}

#[test]
fn of_a_wrong_row_nothing_is_written() {
    let cell = |column: i32| [&column.to_be_bytes()[..], &1.0f64.to_be_bytes()].concat();
    let row = |columns: &[i32]| {
        let cells = columns
            .iter()
            .map(|&column| cell(column))
            .collect::<Vec<_>>();
        [&(columns.len() as i32).to_be_bytes()[..], &cells.concat()].concat()
    };
    for (wrong, expected) in [
        (row(&[0, 2, 2]), "column 2 comes twice"),
        (row(&[0, 3, 1]), "column 1 comes after column 3"),
        (row(&[0, 4]), "no column 4"),
        (row(&[-1, 2]), "no column -1"),
        (row(&[1, -1]), "no column -1"),
    ] {
        for layout in [Layout::Coo, Layout::Ragged] {
            let all = all_columns("all", DType::Float64, layout, 4);
            let features = Features::new([all]).expect("the feature is right");
            let request = Request::of_any(features);
            let labels = labels(&["a", "b", "c", "d"]);
            let decoder = TableDecoder::of(&request, &labels).expect("the feature fits");
            let mut builder = BatchBuilder::new(request.spec().clone());
            let mut slots = builder.slots(&[4]);
            let payload = [row(&[1, 3]), row(&[]), wrong.clone(), row(&[0])].concat();
            let block = Prepared::of_bytes(payload.into());
            let scratch = &mut Scratch::default();
            let decoded = decoder.decode(&block, Pos::default(), 4, &mut slots[0], scratch, None);
            let error = decoded.expect_err("a row is wrong").to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(slots[0].row(), 2);
            let segment = slots[0].columns()[0].segment().expect("a segment");
            assert_eq!(segment.values.len(), 2);
            let (indices, splits): (&[i64], &[&[i64]]) = match layout {
                Layout::Coo => (&[0, 1, 0, 3], &[]),
                _ => (&[1, 3], &[&[0, 2, 2]]),
            };
            assert_eq!(segment.indices.as_slice(), indices);
            assert!(
                segment
                    .splits
                    .iter()
                    .map(Buffer::as_slice)
                    .eq(splits.iter().copied())
            );
        }
    }
}

#[test]
fn chosen_labels_are_not_in_the_rest() {
    let y = Feature::dense("y", &[2], DType::Float64).at("['c', 'a']");
    let x = Feature::dense("x", &[2], DType::Float64).at("@");
    let batch = read(vec![x, y], &ROWS).expect("the features fit");
    let dense = |name: &str| batch.dense::<f64>(name).expect("a dense column").to_vec();
    assert_eq!(dense("y"), ROWS.map(|[a, _, _, c]| [c, a]).concat());
    assert_eq!(dense("x"), ROWS.map(|[_, b, c_d, _]| [b, c_d]).concat());
}

#[test]
fn features_that_do_not_fit() {
    let dense = |shape: &[usize]| Feature::dense("x", shape, DType::Float64);
    let sparse = |shape: &[i64]| Feature::sparse("x", shape, DType::Float64);
    for (feature, expected) in [
        (
            dense(&[]),
            "no column has the label 'x'; the first are 'a', 'b', 'c.d', 'c'",
        ),
        (dense(&[]).at("['y']"), "no column has the label 'y'"),
        (
            dense(&[]).at("[4]"),
            "there is no column 4: the table has 4 columns",
        ),
        (dense(&[]).at("a[*]"), "an expression is a label"),
        (dense(&[]).at("@"), "it has 4 columns, but its shape is []"),
        (
            dense(&[3]).at("[*]"),
            "it has 4 columns, but its shape is [3]",
        ),
        (
            dense(&[2]).at("a"),
            "it has 1 columns, but its shape is [2]",
        ),
        (dense(&[2]).at("['a', 'y']"), "no column has the label 'y'"),
        (
            dense(&[3]).at("['a', 'b', 'a']"),
            "the label 'a' stands there twice",
        ),
        (
            dense(&[3]).at("['a', 'b']"),
            "it has 2 columns, but its shape is [3]",
        ),
        (dense(&[2]).at("x['a', 'b']"), "an expression is a label"),
        (dense(&[1]).at("[4:]"), "no column is left"),
        (
            sparse(&[3]).at("@"),
            "it has 4 columns, but its shape is [3]",
        ),
        (
            sparse(&[4]).at("a"),
            "it has 1 columns, but its shape is [4]",
        ),
        (
            Feature::varlen("x", &[-1], DType::Float64).at("@"),
            "make it dense, or sparse",
        ),
        (
            Feature::dense("x", &[], DType::Float32).at("a"),
            "values are float64, and with `cast`",
        ),
        (
            Feature::dense("x", &[], DType::Int64)
                .at("a")
                .with_convert(Convert::Cast),
            "but not int64",
        ),
        (
            dense(&[]).at("a").with_mask("m"),
            "no value is missing in a BTable",
        ),
    ] {
        let error = read(vec![feature], &ROWS).err().unwrap_or_default();
        assert!(error.starts_with("feature 'x': "), "{error}");
        assert!(error.contains(expected), "{error}, and not {expected}");
    }
}

#[test]
fn files_with_other_labels() {
    let request = |feature: Feature| {
        let features = Features::new([feature]).expect("the feature is right");
        Request::new(features, labels(&["a", "b"])).expect("the feature fits")
    };
    let other = |request: &Request, other: &[&str]| {
        let plan = TableDecoder::of(request, &labels(other));
        plan.err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    // A label is found wherever it is.
    let by_label = request(Feature::dense("b", &[], DType::Float64));
    assert_eq!(other(&by_label, &["b", "a", "c"]), "");
    assert!(other(&by_label, &["a", "c"]).contains("no column has the label 'b'"));
    let twice = other(&by_label, &["b", "a", "b"]);
    assert!(
        twice.contains("columns 0 and 2 have the label 'b'"),
        "{twice}"
    );
    let by_labels = request(Feature::dense("x", &[2], DType::Float64).at("['b', 'a']"));
    assert_eq!(other(&by_labels, &["c", "b", "a"]), "");
    assert!(other(&by_labels, &["b", "c"]).contains("no column has the label 'a'"));
    // Numbers mean one thing in a data set.
    let all = request(Feature::sparse("x", &[9], DType::Float64).at("@"));
    assert_eq!(other(&all, &["a", "b"]), "");
    for (found, column, expected) in [
        (
            &["b", "a"][..],
            0,
            "is 'b', and in the first file it is 'a'",
        ),
        (&["a"], 1, "is not there, and in the first file it is 'b'"),
        (
            &["a", "b", "c"],
            2,
            "is 'c', and in the first file it is not there",
        ),
    ] {
        let error = other(&all, found);
        assert!(
            error.starts_with(&format!("column {column} {expected}")),
            "{error}"
        );
    }
}

#[test]
fn what_begins_as_a_table() {
    let table = |bytes: &[u8]| is_table(bytes);
    assert!(table(&[0, 0, 0, 0, 0, 0, 0, 1, 0, 65]));
    assert!(table(&[0, 0, 0, 0, 0, 0, 0, 1]));
    assert!(!table(&[0; 12]));
    assert!(!table(&[0, 0, 0, 0, 0xff, 0, 0, 1, 0, 65]));
    assert!(!table(b"Obj\x01 and more"));
    assert!(!table(&[0, 0, 0]));
}
