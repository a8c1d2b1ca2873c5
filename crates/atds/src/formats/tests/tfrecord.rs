//! The conformance suite for TFRecord files.

use std::fs;
use std::io;
use std::sync::Arc;

use atds_features::{Feature, Features};
use atds_format::Format;
use atds_test_formats::{Row, TestFile, TestFormat, conformance};
use atds_tfrecord::{FramerOptions, Plan, Writer};
use tensor_batch::{BatchSpec, DType, Layout};

use crate::formats::tfrecord::TfRecordFormat;
use crate::source::{OnceInputs, open};

conformance!(tfrecord_of_records, &TfRecordFiles { block_bytes: 0 });
conformance!(tfrecord_of_blocks, &TfRecordFiles { block_bytes: 150 });

/// Writes TFRecord files of Examples.
#[derive(Clone, Copy, Debug)]
struct TfRecordFiles {
    block_bytes: u64,
}

fn features() -> Features {
    let features = [
        Feature::fixed_len("label", &[], DType::Int64),
        Feature::var_len_of_rank("numbers", DType::Int64, 1).with_layout(Layout::Ragged),
    ];
    Features::new(features).expect("the features are right")
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn delimited(field: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![field << 3 | 2];
    varint(bytes.len() as u64, &mut out);
    out.extend_from_slice(bytes);
    out
}

fn entry(key: &str, numbers: &[i64]) -> Vec<u8> {
    let mut packed = Vec::new();
    numbers.iter().for_each(|&n| varint(n as u64, &mut packed));
    let feature = delimited(3, &delimited(1, &packed));
    let entry = [delimited(1, key.as_bytes()), delimited(2, &feature)].concat();
    delimited(1, &entry)
}

fn example(row: &Row) -> Vec<u8> {
    let entries = [entry("label", &[row.label]), entry("numbers", &row.numbers)];
    delimited(1, &entries.concat())
}

impl TfRecordFiles {
    fn options(self) -> FramerOptions {
        let mut options = FramerOptions::default();
        options.block_bytes = self.block_bytes;
        options
    }

    fn write_rows<'a>(rows: impl Iterator<Item = (&'a Row, bool)>) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        for (row, is_damaged) in rows {
            let written = match is_damaged {
                false => writer.write(&example(row)),
                // A label of two values.
                true => writer.write(&delimited(1, &entry("label", &[1, 2]))),
            };
            written.expect("memory takes bytes");
        }
        writer.finish().expect("memory takes bytes")
    }
}

impl TestFormat for TfRecordFiles {
    fn format(&self) -> Arc<dyn Format> {
        let plan = Plan::of(&features()).expect("the features are of TFRecord");
        Arc::new(TfRecordFormat {
            plan: Arc::new(plan),
            framing: self.options(),
        })
    }

    fn spec(&self) -> BatchSpec {
        features().spec().clone()
    }

    fn write(&self, blocks: &[Vec<Row>]) -> Vec<u8> {
        Self::write_rows(blocks.iter().flatten().map(|row| (row, false)))
    }

    fn write_damaged(&self, blocks: &[Vec<Row>], block: usize, row: usize) -> Vec<u8> {
        let rows = blocks.iter().enumerate().flat_map(|(b, rows)| {
            let rows = rows.iter().enumerate();
            rows.map(move |(r, of)| (of, (b, r) == (block, row)))
        });
        Self::write_rows(rows)
    }

    fn framed(&self, blocks: &[Vec<Row>]) -> Vec<Vec<Row>> {
        let (mut framed, mut open, mut bytes) = (Vec::new(), Vec::new(), 0);
        for row in blocks.iter().flatten() {
            bytes += example(row).len() as u64 + 16;
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
        let rows = blocks.iter().flatten();
        rows.map(|row| vec![row.clone()]).collect()
    }

    /// A block of one record is as much memory as one of many.
    fn memory_factor(&self) -> u64 {
        2
    }

    fn resyncs(&self) -> bool {
        true
    }

    /// A file of the local file system.
    fn file(&self, name: &str, bytes: Vec<u8>) -> TestFile {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("the file can be written");
        let location = path.as_path().into();
        TestFile::new(location, move || -> io::Result<_> {
            let _in = &folder;
            open(&path, None, &OnceInputs::default())
        })
    }
}
