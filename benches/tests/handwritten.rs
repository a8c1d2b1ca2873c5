//! The hand-written loop makes the batches of the pipeline, and finds the same faults.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use atds::tensors::Element;
use atds::{Batch, Codec, Column, Dataset, Threads};
use atds_benches::SampleFiles;
use atds_benches::handwritten::{AdsBatch, Coo, Cursor, Error, Fault, HandwrittenLoop, Value};
use atds_generate::{Preset, RecordEncoder};
use avro_decode::{Features, Plan, PlanOptions, Schema};
use tensor_batch::BatchBuilder;

const BATCH_SIZE: usize = 100;

/// More batches than the loop has, across blocks and files, and a smaller last batch.
const RECORDS: u64 = 770;

#[test]
fn batches_are_those_of_the_pipeline() {
    let files = SampleFiles::ads(RECORDS, 3, Codec::Null);
    let dataset = Dataset::builder(files.folder(), BATCH_SIZE)
        .features(Preset::Ads.features())
        .threads(Threads::Fixed(1))
        .build()
        .unwrap();
    let mut batches = dataset.iter();
    let mut handwritten = HandwrittenLoop::new(BATCH_SIZE);
    for _ in 0..2 {
        let records = handwritten.epoch(files.paths(), |batch| {
            if let Some(expected) = batches.next() {
                assert_same(batch, &expected.unwrap());
            }
        });
        assert_eq!(records.unwrap(), RECORDS);
    }
    assert_eq!(batches.stats().records, RECORDS, "all were compared");
}

#[test]
fn compressed_files_are_refused() {
    let files = SampleFiles::ads(10, 1, Codec::Deflate);
    let error = HandwrittenLoop::new(BATCH_SIZE)
        .epoch(files.paths(), |_| ())
        .unwrap_err();
    assert!(matches!(error, Error::NotNullCodec), "{error:?}");
}

#[test]
fn a_block_ends_with_its_last_record() {
    assert_eq!(Cursor::new(&[]).at_end(), Ok(()));
    assert_eq!(Cursor::new(&[0]).at_end(), Err(Fault::Trailing));
}

/// For each change of a byte of a record, and for each prefix, the loop and the plan agree on whether it is
/// a record, and on its values.
#[test]
fn faults_are_those_that_the_plan_finds() {
    let schema = Arc::new(Schema::parse(&Preset::Ads.schema()).unwrap());
    let features = Features::new(Preset::Ads.features()).unwrap();
    let plan = Plan::compile(&schema, &features, &PlanOptions::default()).unwrap();
    let mut builder = BatchBuilder::new(features.spec().clone());
    let mut record = Vec::new();
    RecordEncoder::new(Preset::Ads, 5).encode(0, &mut record);
    assert!(agreed(&plan, &mut builder, &record), "a sound record");

    let (mut sound, mut faulty) = (0, 0);
    for at in 0..record.len() {
        assert!(!agreed(&plan, &mut builder, &record[..at]), "ends at {at}");
        for change in [0x01, 0x02, 0x40, 0x80, 0xff] {
            record[at] ^= change;
            if agreed(&plan, &mut builder, &record) {
                sound += 1;
            } else {
                faulty += 1;
            }
            record[at] ^= change;
        }
    }
    // Most bytes belong to floats, where any change is valid.
    assert!(
        sound > 1_000 && faulty > 500,
        "{sound} sound, {faulty} faulty"
    );
}

/// Whether `record` is valid. Checks that loop and plan agree.
fn agreed(plan: &Plan, builder: &mut BatchBuilder, record: &[u8]) -> bool {
    let mut batch = AdsBatch::new(1);
    let read = batch.push_record(&mut Cursor::new(record));
    let mut slots = builder.slots(&[1]);
    let executed = slots
        .iter_mut()
        .try_for_each(|slots| plan.execute(record, 0, 1, slots).map(drop));
    drop(slots);
    assert_eq!(read.is_ok(), executed.is_ok(), "{read:?}, {executed:?}");
    if read.is_ok() {
        builder.gather().into_iter().for_each(|task| task.run());
        assert_same(&batch, &builder.finish());
    }
    read.is_ok()
}

fn assert_same(batch: &AdsBatch, expected: &Batch) {
    let rows = batch.rows();
    assert_eq!(rows, expected.rows());
    let booleans: Vec<u8> = expected
        .dense("s_click")
        .unwrap()
        .iter()
        .map(|&b: &bool| b.into())
        .collect();
    assert_eq!(batch.s_click[..rows], booleans);
    let countries = expected.strings("s_country").unwrap();
    assert_eq!(batch.s_country_offsets[..=rows], *countries.offsets());
    assert_eq!(batch.s_country, countries.data());
    assert_dense(&batch.s_label, expected, "s_label");
    assert_dense(&batch.s_weight, expected, "s_weight");
    assert_dense(&batch.s_member, expected, "s_member");
    assert_dense(&batch.s_bid, expected, "s_bid");
    assert_dense(&batch.d0, expected, "d0");
    assert_dense(&batch.d1, expected, "d1");
    assert_dense(&batch.d2, expected, "d2");
    assert_dense(&batch.d3, expected, "d3");
    assert_dense(&batch.d4, expected, "d4");
    assert_dense(&batch.d5, expected, "d5");
    assert_dense(&batch.d6, expected, "d6");
    assert_dense(&batch.d7, expected, "d7");
    assert_sparse(&batch.sp0, expected, "sp0");
    assert_sparse(&batch.sp1, expected, "sp1");
    assert_sparse(&batch.sp2, expected, "sp2");
    assert_sparse(&batch.sp3, expected, "sp3");
    assert_sparse(&batch.sp4, expected, "sp4");
}

fn assert_dense<T: Element + Bits>(values: &[T], expected: &Batch, name: &str) {
    let expected: &[T] = expected.dense(name).unwrap();
    // Row by row, because data after the rows does not count.
    assert_bits(&values[..expected.len()], expected, name);
}

fn assert_sparse<T: Value + Element + Bits>(column: &Coo<T>, expected: &Batch, name: &str) {
    let Some(Column::Sparse(tensor)) = expected.column(name) else {
        panic!("{name} is not sparse")
    };
    assert_eq!(*column.indices().as_flattened(), *tensor.indices, "{name}");
    assert_bits(column.values(), tensor.values.as_slice().unwrap(), name);
}

/// Compares bits, so that NaN equals itself.
fn assert_bits<T: Bits>(values: &[T], expected: &[T], name: &str) {
    let bits = |values: &[T]| values.iter().map(|value| value.bits()).collect::<Vec<_>>();
    assert_eq!(bits(values), bits(expected), "{name}");
}

trait Bits {
    fn bits(&self) -> u64;
}

impl Bits for i32 {
    fn bits(&self) -> u64 {
        *self as u64
    }
}

impl Bits for i64 {
    fn bits(&self) -> u64 {
        *self as u64
    }
}

impl Bits for f32 {
    fn bits(&self) -> u64 {
        self.to_bits().into()
    }
}

impl Bits for f64 {
    fn bits(&self) -> u64 {
        self.to_bits()
    }
}
