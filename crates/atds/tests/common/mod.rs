//! Small files in which every value follows from the number of its record, and helpers that read
//! them.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it, and a panic is a failure"
)]

pub(crate) mod meanings;

use std::borrow::BorrowMut;
use std::fs;
use std::path::{Path, PathBuf};

use atds::tensors::Values;

use atds::{Batches, Codec, Column, ColumnSpec, DType, Dataset, DatasetBuilder, Error, Layout};
use avro_block::{SyncMarker, Writer, WriterOptions};
use avro_decode::encode::{write_long, write_string};
use tempfile::TempDir;

/// Every codec.
pub(crate) const CODECS: [Codec; 6] = [
    Codec::Null,
    Codec::Deflate,
    Codec::Snappy,
    Codec::Zstandard,
    Codec::Bzip2,
    Codec::Xz,
];

/// The schema of [`Row`].
pub(crate) const SCHEMA: &str = r#"{"type": "record", "name": "Row", "fields": [
    {"name": "id", "type": "long"},
    {"name": "skipped", "type": {"type": "map", "values": "string"}},
    {"name": "pair", "type": {"type": "array", "items": "float"}},
    {"name": "text", "type": "string"},
    {"name": "list", "type": {"type": "array", "items": "int"}},
    {"name": "cells", "type": {"type": "record", "name": "Cells", "fields": [
        {"name": "indices0", "type": {"type": "array", "items": "long"}},
        {"name": "values", "type": {"type": "array", "items": "double"}}]}}]}"#;

/// The sync marker of every file made here.
pub(crate) const SYNC: SyncMarker = SyncMarker(*b"-- the marker --");

/// A record of a file, or a row of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) pair: [f32; 2],
    pub(crate) text: String,
    pub(crate) list: Vec<i32>,
    pub(crate) cells: Vec<(i64, f64)>,
}

impl Row {
    /// The record with the number `id`.
    pub(crate) fn new(id: i64) -> Self {
        let few = (id % 4) as i32;
        Row {
            id,
            pair: [id as f32, -0.5 * id as f32],
            text: format!("{id:0width$}", width = (id % 7) as usize),
            list: (0..few).map(|i| 10 * i - few).collect(),
            cells: (0..id % 3).map(|i| (99 - i, i as f64 / 8.0)).collect(),
        }
    }

    /// The record in Avro's encoding.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_long(&mut out, self.id);
        // A map of one entry, in a block with its size in bytes.
        write_long(&mut out, -1);
        write_long(&mut out, 4);
        write_string(&mut out, "k");
        write_string(&mut out, "v");
        write_long(&mut out, 0);
        array(&mut out, &self.pair, |out, value| {
            out.extend(value.to_le_bytes())
        });
        write_string(&mut out, &self.text);
        array(&mut out, &self.list, |out, &value| {
            write_long(out, value.into())
        });
        array(&mut out, &self.cells, |out, &(index, _)| {
            write_long(out, index)
        });
        array(&mut out, &self.cells, |out, (_, value)| {
            out.extend(value.to_le_bytes())
        });
        out
    }
}

fn array<T>(out: &mut Vec<u8>, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    if !items.is_empty() {
        write_long(out, items.len() as i64);
        items.iter().for_each(|item| write(out, item));
    }
    write_long(out, 0);
}

/// Features of [`Row`] of every kind.
pub(crate) fn features() -> [ColumnSpec; 5] {
    [
        ColumnSpec::dense("id", &[], DType::Int64),
        ColumnSpec::dense("pair", &[2], DType::Float32),
        ColumnSpec::dense("text", &[], DType::String),
        ColumnSpec::varlen("list", &[-1], DType::Int32),
        ColumnSpec::sparse("cells", &[100], DType::Float64),
    ]
}

/// The bytes of a file with these blocks of encoded records.
pub(crate) fn container(
    schema: &str,
    codec: Codec,
    blocks: impl IntoIterator<Item = (u64, Vec<u8>)>,
) -> Vec<u8> {
    let mut options = WriterOptions::with_codec(codec);
    options.sync = Some(SYNC);
    let mut writer = Writer::new(Vec::new(), schema, options).unwrap();
    for (count, payload) in blocks {
        writer.write_block(count, &payload).unwrap();
    }
    writer.finish().unwrap()
}

/// The bytes of a file of [`Row`]s with these numbers, `per_block` in a block.
pub(crate) fn rows_file(
    ids: impl IntoIterator<Item = i64>,
    per_block: usize,
    codec: Codec,
) -> Vec<u8> {
    let ids: Vec<i64> = ids.into_iter().collect();
    let blocks = ids.chunks(per_block).map(|ids| {
        let records = ids.iter().flat_map(|&id| Row::new(id).encode());
        (ids.len() as u64, records.collect())
    });
    container(SCHEMA, codec, blocks)
}

/// A folder that is removed after the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// A folder with `files` files of [`Row`]s. Numbers continue from file to file; file `i` has
    /// `records + i` rows.
    pub(crate) fn of_rows(files: usize, records: usize, per_block: usize, codec: Codec) -> Self {
        let folder = Folder::new();
        let mut next = 0;
        for i in 0..files {
            let end = next + (records + i) as i64;
            let bytes = rows_file(next..end, per_block, codec);
            folder.write(&format!("{i:02}.avro"), &bytes);
            next = end;
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// A dataset of [`Row`]s from all files of the folder.
    pub(crate) fn rows(&self, batch_size: usize) -> DatasetBuilder {
        Dataset::builder(self.path(), batch_size).features(features())
    }

    /// The text of an error, without the folder.
    pub(crate) fn message(&self, error: &Error) -> String {
        let folder = format!("{}/", self.path().display());
        let text = error.to_string().replace(&folder, "");
        text.replace(&self.path().display().to_string(), "FOLDER")
    }
}

/// The rows of a batch of [`features`], of any layout.
pub(crate) fn rows(batch: &atds::Batch) -> Vec<Row> {
    let ids = batch.dense::<i64>("id").unwrap();
    assert_eq!(ids.len(), batch.rows());
    let pairs = batch.dense::<f32>("pair").unwrap();
    let texts = batch.strings("text").unwrap();
    let lists = entries(batch.column("list").unwrap(), batch.rows());
    let cells = entries(batch.column("cells").unwrap(), batch.rows());
    let row = |row: usize| Row {
        id: ids[row],
        pair: pairs[2 * row..][..2].try_into().unwrap(),
        text: String::from_utf8(texts.get(row).unwrap().to_vec()).unwrap(),
        list: lists[row]
            .iter()
            .map(|&(_, entry)| lists_value(batch, entry))
            .collect(),
        cells: cells[row]
            .iter()
            .map(|&(index, entry)| (index, cells_value(batch, entry)))
            .collect(),
    };
    (0..batch.rows()).map(row).collect()
}

fn lists_value(batch: &atds::Batch, entry: usize) -> i32 {
    values(batch.column("list").unwrap())
        .as_slice::<i32>()
        .unwrap()[entry]
}

fn cells_value(batch: &atds::Batch, entry: usize) -> f64 {
    values(batch.column("cells").unwrap())
        .as_slice::<f64>()
        .unwrap()[entry]
}

fn values(column: Column<'_>) -> &Values {
    match column {
        Column::Dense(tensor) => tensor.values,
        Column::Sparse(tensor) => tensor.values,
        Column::Ragged(tensor) => tensor.values,
        Column::RaggedSparse(tensor) => tensor.values,
        _ => unreachable!("another kind of column"),
    }
}

/// For each row of a column of rank 1: each entry's index, and its position in the values.
fn entries(column: Column<'_>, rows: usize) -> Vec<Vec<(i64, usize)>> {
    let mut found = vec![Vec::new(); rows];
    let by_splits = |splits: &[i64], index: &dyn Fn(usize, usize) -> i64| {
        assert_eq!(splits.len(), rows + 1);
        let bounds = splits.windows(2);
        bounds
            .map(|ends| {
                let entries = ends[0] as usize..ends[1] as usize;
                let entries = entries.enumerate();
                entries.map(|(i, entry)| (index(i, entry), entry)).collect()
            })
            .collect()
    };
    match column {
        Column::Sparse(tensor) => {
            assert_eq!(tensor.dense_shape[0], rows as i64);
            for (entry, place) in tensor.indices.chunks(2).enumerate() {
                assert!(place[1] < tensor.dense_shape[1]);
                found[place[0] as usize].push((place[1], entry));
            }
            found
        }
        Column::Ragged(tensor) => by_splits(tensor.row_splits[0].as_slice(), &|i, _| i as i64),
        Column::RaggedSparse(tensor) => {
            by_splits(tensor.row_splits, &|_, entry| tensor.indices[entry])
        }
        _ => panic!("the column has no entries"),
    }
}

/// The record numbers of each batch, and the error that ended the iteration.
///
/// Compares every value of every row with its [`Row`].
pub(crate) fn read(mut batches: impl BorrowMut<Batches>) -> (Vec<Vec<i64>>, Option<Error>) {
    let batches = batches.borrow_mut();
    let mut ids = Vec::new();
    for batch in batches.by_ref() {
        match batch {
            Ok(batch) => {
                let rows = rows(&batch);
                ids.push(rows.iter().map(|row| row.id).collect());
                for row in rows {
                    assert_eq!(row, Row::new(row.id));
                }
            }
            Err(error) => {
                assert!(batches.next().is_none(), "nothing follows an error");
                return (ids, Some(error));
            }
        }
    }
    (ids, None)
}

/// The record numbers of each batch of an iteration without errors.
pub(crate) fn read_all(batches: impl BorrowMut<Batches>) -> Vec<Vec<i64>> {
    match read(batches) {
        (ids, None) => ids,
        (_, Some(error)) => panic!("{error}"),
    }
}

/// Both layouts.
pub(crate) const LAYOUTS: [Layout; 2] = [Layout::Coo, Layout::Ragged];
