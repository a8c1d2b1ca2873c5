//! Batches reuse memory, and their memory is bounded.

use std::collections::BTreeSet;

use atds::avro::Schema;
use atds::avro::messages::MessageDecoder;
use atds::{Batch, Column, ColumnSpec, DType, ErrorKind, Feature, Fill, Scalar};
use avro_decode::encode::{write_bytes, write_long};

use crate::common::rows;
use crate::{messages, rows_decoder};

/// The addresses of the columns' values, and the capacity of the batch in bytes.
fn memory(batch: &Batch) -> (Vec<usize>, usize) {
    let ids = batch.dense::<i64>("id").unwrap().as_ptr() as usize;
    let pairs = batch.dense::<f32>("pair").unwrap().as_ptr() as usize;
    let texts = batch.strings("text").unwrap().data().as_ptr() as usize;
    (vec![ids, pairs, texts], batch.capacity_bytes())
}

#[test]
fn the_next_batch_reuses_the_memory_of_a_dropped_one() {
    let mut decoder = rows_decoder().build().unwrap();
    let messages = messages(0..500);
    let mut seen = Vec::new();
    for _ in 0..10 {
        let batch = decoder.decode(&messages).unwrap();
        assert_eq!(rows(&batch).len(), 500);
        seen.push(memory(&batch));
        drop(batch);
        // An error between two batches does not lose the memory.
        decoder.decode(&[b"bad"]).unwrap_err();
    }
    // A gathered column may swap its buffer with the buffer that it is gathered from.
    for batch in &seen[1..] {
        assert_eq!(batch.0[..2], seen[0].0[..2]);
        assert_eq!(batch.1, seen[0].1);
    }
    let later = seen[4..].iter().map(|batch| batch.0[2]);
    let texts: BTreeSet<usize> = later.collect();
    assert!(texts.len() <= 2, "{texts:?}");
}

#[test]
fn batches_that_are_kept_are_not_touched() {
    let mut decoder = rows_decoder().build().unwrap();
    let kept: Vec<Batch> = (0..5)
        .map(|batch| {
            decoder
                .decode(&messages(10 * batch..10 * (batch + 1)))
                .unwrap()
        })
        .collect();
    let ids: Vec<i64> = kept.iter().flat_map(rows).map(|row| row.id).collect();
    assert_eq!(ids, (0..50).collect::<Vec<_>>());
}

fn bytes_schema() -> Schema {
    let text = r#"{"type": "record", "name": "R", "fields": [{"name": "b", "type": "bytes"}]}"#;
    Schema::parse(text).unwrap()
}

/// The limit and the bytes needed, both from the error.
fn limits(decoder: &mut MessageDecoder, messages: &[Vec<u8>]) -> (u64, u64) {
    let error = decoder.decode(messages).unwrap_err();
    let ErrorKind::BatchTooLarge { limit, needed } = error.kind else {
        panic!("{error}");
    };
    assert_eq!(
        error.to_string(),
        format!(
            "`memory_limit` is {limit} bytes, but the batch needs {needed} or more: raise it, or \
             decode fewer messages at a time"
        )
    );
    (limit, needed)
}

#[test]
fn dense_rows_are_counted_before_there_is_memory_for_them() {
    let text = r#"{"type": "record", "name": "R", "fields": [
        {"name": "x", "type": {"type": "array", "items": "double"}}]}"#;
    // A row of 8 TB.
    let features = [Feature::fixed_len("x", &[Some(1 << 40)], DType::Float64)
        .with_default(Fill::Scalar(Scalar::Float64(0.0)))];
    let decoder = MessageDecoder::builder(Schema::parse(text).unwrap(), features);
    let mut decoder = decoder.memory_limit(1 << 30).build().unwrap();
    let found = limits(&mut decoder, &vec![vec![0]; 100]);
    assert_eq!(found, (1 << 30, (100 * 8) << 40));
}

#[test]
fn a_batch_of_strings_stops_where_the_limit_is_reached() {
    let features = [ColumnSpec::dense("b", &[], DType::String)];
    let decoder = MessageDecoder::builder(bytes_schema(), features);
    let mut message = Vec::new();
    write_bytes(&mut message, &[7; 10_000]);
    let messages = vec![message; 1_000];
    let mut enough = decoder.clone().memory_limit(11_000_000).build().unwrap();
    assert_eq!(enough.decode(&messages).unwrap().rows(), 1_000);

    let mut less = decoder.memory_limit(1_000_000).build().unwrap();
    let (limit, needed) = limits(&mut less, &messages);
    assert_eq!(limit, 1_000_000);
    assert!(needed < 2_000_000, "{needed}: the rest was not decoded");
    assert_eq!(less.decode(&messages[..90]).unwrap().rows(), 90);
}

/// One long list makes every row long.
#[test]
fn padding_is_counted_before_there_is_memory_for_it() {
    let text = r#"{"type": "record", "name": "R", "fields": [{"name": "x", "type":
        {"type": "array", "items": {"type": "array", "items": "long"}}}]}"#;
    let features = [Feature::fixed_len("x", &[None, None], DType::Int64)
        .with_default(Fill::Scalar(Scalar::Int64(-1)))];
    let decoder = MessageDecoder::builder(Schema::parse(text).unwrap(), features);
    let mut decoder = decoder.memory_limit(64 << 20).build().unwrap();
    let mut long = Vec::new();
    let length = 1 << 20;
    write_long(&mut long, length);
    write_long(&mut long, length);
    // The items, the end of the inner list, and the end of the outer list.
    long.resize(long.len() + 2 * length as usize + 1, 0);
    let mut messages = vec![vec![0]; 10];
    messages[6] = long;
    let (limit, needed) = limits(&mut decoder, &messages);
    assert_eq!(limit, 64 << 20);
    assert!(needed > (10 * 8) << 40, "{needed}");

    messages[6] = vec![2, 4, 8, 10, 0, 0];
    let batch = decoder.decode(&messages).unwrap();
    let Some(Column::Dense(padded)) = batch.column("x") else {
        panic!("not dense");
    };
    assert_eq!(padded.shape, [10, 1, 2]);
    let values = padded.values.as_slice::<i64>().unwrap();
    assert_eq!(values[12..14], [4, 5]);
    assert_eq!(values.iter().filter(|&&value| value == -1).count(), 18);
}
