//! Buffers and values against `Vec`.

use proptest::collection::vec;
use proptest::prelude::*;
use tensor_batch::{ALIGNMENT, Buffer, DType, Element, Scalar, Strings, Values};

use crate::model::scalars;

#[derive(Clone, Debug)]
enum Step {
    Push(i64),
    Extend(Vec<i64>),
    Append(Vec<i64>),
    Truncate(usize),
    Clear,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<i64>().prop_map(Step::Push),
        vec(any::<i64>(), 0..40).prop_map(Step::Extend),
        vec(any::<i64>(), 0..40).prop_map(Step::Append),
        (0..100usize).prop_map(Step::Truncate),
        Just(Step::Clear),
    ]
}

proptest! {
    #[test]
    fn a_buffer_is_a_vec(steps in vec(any_step(), 0..30)) {
        let mut buffer = Buffer::new();
        let mut model = Vec::new();
        for step in steps {
            let capacity = buffer.capacity();
            match step {
                Step::Push(value) => {
                    buffer.push(value);
                    model.push(value);
                }
                Step::Extend(values) => {
                    buffer.extend_from_slice(&values);
                    model.extend(values);
                }
                Step::Append(values) => {
                    buffer.append(values.len()).copy_from_slice(&values);
                    model.extend(values);
                }
                Step::Truncate(len) => {
                    let len = len.min(model.len());
                    buffer.set_len(len);
                    model.truncate(len);
                }
                Step::Clear => {
                    buffer.clear();
                    model.clear();
                }
            }
            prop_assert_eq!(buffer.as_slice(), &model[..]);
            prop_assert_eq!((buffer.len(), buffer.is_empty()), (model.len(), model.is_empty()));
            prop_assert_eq!(buffer.as_slice().as_ptr() as usize % ALIGNMENT, 0);
            prop_assert!(buffer.capacity() >= buffer.len().max(capacity), "memory is kept");
            prop_assert_eq!(buffer.capacity_bytes(), buffer.capacity() * 8);
            let bytes: Vec<u8> = model.iter().flat_map(|v| v.to_ne_bytes()).collect();
            prop_assert_eq!(buffer.as_bytes(), &bytes[..]);
            prop_assert_eq!(&buffer.clone(), &buffer);
        }
    }

    #[test]
    fn retain_from_keeps_what_it_is_told(
        values in vec(any::<i32>(), 0..20),
        strings in vec(vec(any::<u8>(), 0..5), 0..20),
        start in any::<prop::sample::Index>(),
        keep in vec(any::<bool>(), 20),
    ) {
        let retained = |len: usize| {
            let start = start.index(len + 1);
            let kept = (0..len).filter(|&i| i < start || keep[i - start]).collect::<Vec<_>>();
            (start, kept)
        };
        let mut ints = Values::new(DType::Int32);
        i32::buffer_mut(&mut ints).expect("int32").extend_from_slice(&values);
        let (from, kept) = retained(values.len());
        ints.retain_from(from, &keep[..values.len() - from]);
        let expected: Vec<_> = kept.iter().map(|&i| values[i]).collect();
        prop_assert_eq!(ints.as_slice::<i32>(), Some(&expected[..]));

        let mut texts = Strings::new();
        strings.iter().for_each(|string| texts.push(string));
        let mut texts = Values::String(texts);
        let (from, kept) = retained(strings.len());
        texts.retain_from(from, &keep[..strings.len() - from]);
        let expected: Vec<_> = kept.iter().map(|&i| Scalar::String(strings[i].clone())).collect();
        prop_assert_eq!(scalars(&texts), expected);
    }
}

#[test]
fn growing_within_the_capacity_writes_nothing() {
    let mut buffer = Buffer::new();
    buffer.extend_from_slice(&[1i32, 2, 3]);
    assert_eq!(buffer.capacity(), ALIGNMENT / 4, "whole cache lines");
    buffer.clear();
    assert_eq!(buffer.append(4), [1, 2, 3, 0]);
}

#[test]
fn growing_keeps_the_elements_and_doubles() {
    let mut buffer = Buffer::new();
    buffer.append(16).fill(5i32);
    buffer.push(6);
    assert_eq!(buffer.capacity(), 32);
    assert_eq!(buffer.as_slice()[..16], [5; 16]);
    assert_eq!(buffer.as_slice()[16..], [6]);
    buffer.as_mut_slice()[0] = 7;
    assert_eq!(buffer.as_slice()[0], 7);
}

#[test]
fn values_are_seen_as_their_own_dtype_alone() {
    for dtype in DType::ALL {
        let mut values = Values::new(dtype);
        assert_eq!(
            (values.dtype(), values.len(), values.is_empty()),
            (dtype, 0, true)
        );
        assert_eq!(values.as_slice::<i32>().is_some(), dtype == DType::Int32);
        assert_eq!(values.as_slice::<i64>().is_some(), dtype == DType::Int64);
        assert_eq!(values.as_slice::<f32>().is_some(), dtype == DType::Float32);
        assert_eq!(values.as_slice::<f64>().is_some(), dtype == DType::Float64);
        assert_eq!(values.as_slice::<bool>().is_some(), dtype == DType::Bool);
        assert_eq!(values.as_strings().is_some(), dtype == DType::String);
        assert_eq!(
            f64::buffer_mut(&mut values).is_some(),
            dtype == DType::Float64
        );
    }
}
