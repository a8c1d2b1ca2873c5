//! Fixed-length features without a default: all records of a batch have one shape.

use atds::avro::Schema;
use atds::avro::messages::MessageDecoder;
use atds::{Codec, Column, DType, Dataset, Feature, Fill, Scalar, Threads};
use avro_decode::encode::write_long;

use crate::Messages;
use crate::common::{Folder, container};

const SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type":
    {"type": "array", "items": {"type": "array", "items": "int"}}}]}"#;

/// A record with lists of these lengths.
fn record(lists: &[usize]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut block = |count: usize, items: &mut dyn FnMut(&mut Vec<u8>)| {
        if count > 0 {
            write_long(&mut out, count as i64);
        }
        items(&mut out);
        out.push(0);
    };
    block(lists.len(), &mut |out| {
        for &list in lists {
            if list > 0 {
                write_long(out, list as i64);
                out.extend(std::iter::repeat_n(2, list));
            }
            out.push(0);
        }
    });
    out
}

fn feature(shape: &[Option<usize>]) -> Feature {
    Feature::fixed_len("x", shape, DType::Int32).at("a[*][*]")
}

/// The shapes of the batches, and the error after them.
fn read(folder: &Folder, feature: Feature, batch: usize) -> (Vec<Vec<i64>>, Option<String>) {
    let mut all = Vec::new();
    for (threads, mmap) in [(1, false), (2, false), (3, true)] {
        let dataset = Dataset::builder(folder.path(), batch)
            .features([feature.clone()])
            .threads(Threads::Fixed(threads))
            .mmap(mmap)
            .build()
            .unwrap();
        let (mut shapes, mut error) = (Vec::new(), None);
        for batch in dataset.iter() {
            match batch {
                Ok(batch) => match batch.column("x") {
                    Some(Column::Dense(dense)) => shapes.push(dense.shape.to_vec()),
                    other => panic!("{other:?}"),
                },
                Err(found) => error = Some(folder.message(&found)),
            }
        }
        all.push((shapes, error));
    }
    assert!(all.iter().all(|found| *found == all[0]), "{all:?}");
    all.swap_remove(0)
}

fn write(folder: &Folder, blocks: &[&[&[usize]]]) {
    let blocks = blocks.iter().map(|records| {
        let payload = records
            .iter()
            .flat_map(|lists| record(lists))
            .collect::<Vec<u8>>();
        (records.len() as u64, payload)
    });
    let blocks: Vec<_> = blocks.collect();
    folder.write("x.avro", &container(SCHEMA, Codec::Null, blocks));
}

#[test]
fn batches_of_one_shape_each_are_read() {
    let folder = Folder::new();
    write(
        &folder,
        &[
            &[&[3, 3], &[3, 3], &[1]],
            &[&[1], &[], &[]],
            &[&[0, 0], &[0, 0]],
        ],
    );
    let (shapes, error) = read(&folder, feature(&[None, None]), 2);
    assert_eq!(error, None);
    assert_eq!(shapes, [[2, 2, 3], [2, 1, 1], [2, 0, 0], [2, 2, 0]]);
}

#[test]
fn records_that_differ_are_named_with_their_shapes() {
    let folder = Folder::new();
    let mut messages = Messages::default();
    let advice = "for lists of several lengths give a `default` or a `mask`";
    let mut case = |blocks: &[&[&[usize]]], shape: &[Option<usize>], good: &[i64], said: &str| {
        write(&folder, blocks);
        let (shapes, error) = read(&folder, feature(shape), 4);
        assert_eq!(
            shapes.first().map_or(0, |shape| shape[0]),
            good[0],
            "{said}"
        );
        let error = error.unwrap_or_default();
        messages.check(said, error, &format!("x.avro: {said}: {advice}"));
    };
    let any = [None, None];
    case(
        &[&[&[2, 2], &[2, 2]], &[&[2, 2], &[2, 2, 2]]],
        &any,
        &[3],
        "block 1 at byte 223: record 1: field 'x': the shape [3, 2] is not [2, 2], the shape \
         of the first record of the batch (x.avro: block 0 at byte 185: record 0)",
    );
    case(
        &[&[&[2, 2], &[2, 1]]],
        &any,
        &[1],
        "block 0 at byte 185: record 1: field 'x': the shape [2, 1 to 2] is not that of the feature",
    );
    case(
        &[&[&[1, 2]]],
        &any,
        &[0],
        "block 0 at byte 185: record 0: field 'x': the shape [2, 1 to 2] is not that of the feature",
    );
    write(&folder, &[&[&[3], &[2]]]);
    let (shapes, error) = read(&folder, feature(&[None, Some(3)]), 4);
    assert_eq!(shapes, [[1, 1, 3]]);
    let said = "field 'a[*][*]': an array of 2 values, where the shape says 3; a dense feature with a `default` or a `mask` fills the rest";
    assert_eq!(
        error.unwrap_or_default(),
        format!("x.avro: block 0 at byte 195: record 1: {said}")
    );
}

/// If the feature gives the inner length, a record without lists agrees with any other.
#[test]
fn records_of_no_lists_have_the_inner_length_of_the_feature() {
    let folder = Folder::new();
    let mut messages = Messages::default();
    let shape = [None, Some(3)];
    let mut case = |lists: &[&[usize]], good: &[[i64; 3]], said: &str| {
        write(&folder, &[lists]);
        let (shapes, error) = read(&folder, feature(&shape), 4);
        assert_eq!(shapes, good, "{said}");
        let error = error.unwrap_or_default();
        let expected = format!(
            "x.avro: block 0 at byte 185: record {said} (x.avro: block 0 at byte 185: record 0): \
             for lists of several lengths give a `default` or a `mask`"
        );
        messages.check(said, error, &expected);
    };
    case(
        &[&[], &[3]],
        &[[1, 0, 3]],
        "1: field 'x': the shape [1, 3] is not [0, 3], the shape of the first record of the batch",
    );
    case(
        &[&[], &[], &[3, 3], &[]],
        &[[2, 0, 3]],
        "2: field 'x': the shape [2, 3] is not [0, 3], the shape of the first record of the batch",
    );
    case(
        &[&[3], &[]],
        &[[1, 1, 3]],
        "1: field 'x': the shape [0, 3] is not [1, 3], the shape of the first record of the batch",
    );
    write(&folder, &[&[&[], &[]], &[&[], &[], &[3, 3], &[3, 3]]]);
    assert_eq!(
        read(&folder, feature(&shape), 4),
        (vec![vec![4, 0, 3], vec![2, 2, 3]], None)
    );
}

/// A default or a mask allows records of different shapes.
#[test]
fn a_default_fills_them_up() {
    let folder = Folder::new();
    write(&folder, &[&[&[2, 2], &[1]]]);
    let filled = feature(&[None, None]).with_default(Fill::Scalar(Scalar::Int32(0)));
    assert_eq!(read(&folder, filled, 4), (vec![vec![2, 2, 2]], None));
    let masked = feature(&[None, None]).with_mask("m");
    assert_eq!(read(&folder, masked, 4), (vec![vec![2, 2, 2]], None));
}

#[test]
fn messages_that_differ_are_named() {
    let schema = Schema::parse(SCHEMA).unwrap();
    let builder = MessageDecoder::builder(schema, [feature(&[None, None])]);
    let mut decoder = builder.build().unwrap();
    let error = decoder.decode(&[record(&[1, 1]), record(&[1, 1]), record(&[1])]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "message 2: field 'x': the shape [1, 1] is not [2, 1], the shape of the first record of the \
         batch, message 0: for lists of several lengths give a `default` or a `mask`"
    );
    assert_eq!(decoder.decode(&[record(&[1])]).unwrap().rows(), 1);
}
