//! Compares buffers with `Vec`.

use proptest::collection::vec;
use proptest::prelude::*;
use tensor_batch::{ALIGNMENT, Buffer};

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
