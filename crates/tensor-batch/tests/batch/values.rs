//! Compares values and scalars with `Vec`.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tensor_batch::half::{bf16, f16};
use tensor_batch::{DType, Element, Scalar, Values};

use crate::any::any_scalar;
use crate::model::scalars;

fn any_scalars() -> impl Strategy<Value = (DType, Vec<Scalar>)> {
    let dtype = prop::sample::select(DType::ALL);
    dtype.prop_flat_map(|dtype| (Just(dtype), vec(any_scalar(dtype), 0..20)))
}

proptest! {
    #[test]
    fn values_are_what_was_pushed((dtype, model) in any_scalars()) {
        let values = Values::from_scalars(dtype, &model);
        prop_assert_eq!(values.dtype(), dtype);
        prop_assert_eq!((values.len(), values.is_empty()), (model.len(), model.is_empty()));
        prop_assert_eq!(scalars(&values), &model[..]);
        for i in 0..=model.len() {
            prop_assert_eq!(values.get(i), model.get(i).cloned());
        }
    }

    #[test]
    fn bytes_are_those_of_the_last_values((dtype, model) in any_scalars(), first in any::<Index>()) {
        let first = first.index(model.len() + 1);
        let values = Values::from_scalars(dtype, &model);
        let last = Values::from_scalars(dtype, &model[first..]);
        prop_assert_eq!(values.bytes_from(first), last.bytes_from(0));
        let expected: usize = match values.as_strings() {
            Some(strings) => strings.iter().skip(first).map(<[u8]>::len).sum(),
            None => (model.len() - first) * dtype.size().expect("fixed width"),
        };
        prop_assert_eq!(values.bytes_from(first).len(), expected);
    }

    #[test]
    fn push_from_appends_one_value((dtype, model) in any_scalars(), picks in vec(any::<Index>(), 0..9)) {
        prop_assume!(!model.is_empty());
        let from = Values::from_scalars(dtype, &model);
        let mut to = from.clone();
        let mut expected = model.clone();
        for pick in picks {
            let i = pick.index(model.len());
            to.push_from(&from, i);
            expected.push(model[i].clone());
        }
        prop_assert_eq!(scalars(&to), expected);
    }

    #[test]
    fn truncate_keeps_the_first((dtype, mut model) in any_scalars(), len in 0..25usize) {
        let mut values = Values::from_scalars(dtype, &model);
        values.truncate(len);
        model.truncate(len);
        prop_assert_eq!(scalars(&values), &model[..]);
        // The next value comes directly after them.
        values.push(&Scalar::zero(dtype));
        model.push(Scalar::zero(dtype));
        prop_assert_eq!(scalars(&values), model);
    }

    #[test]
    fn retain_from_keeps_what_it_is_told(
        (dtype, model) in any_scalars(),
        start in any::<Index>(),
        keep in vec(any::<bool>(), 20),
    ) {
        let mut values = Values::from_scalars(dtype, &model);
        let (before, after) = model.split_at(start.index(model.len() + 1));
        values.retain_from(before.len(), &keep[..after.len()]);
        let kept = after.iter().zip(&keep).filter(|(_, keep)| **keep);
        let kept = kept.map(|(scalar, _)| scalar.clone()).collect();
        prop_assert_eq!(scalars(&values), [before.to_vec(), kept].concat());
    }

    #[test]
    fn permute_from_puts_values_in_the_order_it_is_told(
        (dtype, model) in any_scalars(),
        start in any::<Index>(),
        order in Just((0..20usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut values = Values::from_scalars(dtype, &model);
        let (before, after) = model.split_at(start.index(model.len() + 1));
        let order: Vec<_> = order.into_iter().filter(|&i| i < after.len()).collect();
        values.permute_from(before.len(), &order);
        let permuted = order.iter().map(|&i| after[i].clone()).collect();
        prop_assert_eq!(scalars(&values), [before.to_vec(), permuted].concat());
    }
}

#[test]
#[should_panic(expected = "a float64 value among float32 values")]
fn a_value_of_another_dtype_is_not_pushed() {
    Values::new(DType::Float32).push(&Scalar::Float64(1.0));
}

#[test]
#[should_panic(expected = "a string value among int64 values")]
fn values_of_another_dtype_are_not_copied() {
    let strings = Values::from_scalars(DType::String, &[Scalar::String(Vec::new())]);
    Values::new(DType::Int64).push_from(&strings, 0);
}

#[test]
#[should_panic(expected = "the order names each value once")]
fn an_order_has_an_entry_per_value() {
    Values::from_scalars(DType::Bool, &[Scalar::Bool(true)]).permute_from(0, &[]);
}

#[test]
#[should_panic(expected = "the order names each value once")]
fn an_order_of_strings_keeps_their_bytes() {
    let strings = [b"a", &b"bc"[..]].map(|string| Scalar::String(string.to_vec()));
    Values::from_scalars(DType::String, &strings).permute_from(0, &[0, 0]);
}

#[test]
fn a_scalar_knows_its_dtype() {
    for &dtype in DType::ALL {
        let zero = Scalar::zero(dtype);
        assert_eq!(zero.dtype(), dtype);
        let bytes = Values::from_scalars(dtype, &[zero]);
        let bytes = bytes.as_strings().map_or(0, |strings| strings.data().len());
        assert_eq!(bytes, 0, "the empty string");
    }
    assert_eq!(Scalar::zero(DType::Bool), Scalar::Bool(false));
    assert_eq!(Scalar::zero(DType::Int64), Scalar::Int64(0));
    assert_eq!(
        Scalar::zero(DType::Float16),
        Scalar::Float16(f16::from_f32(0.0))
    );
}

#[test]
fn integers_become_scalars_in_the_range_of_their_dtype() {
    for (dtype, least, most) in [
        (DType::Int8, -128, 127),
        (DType::Int16, -32_768, 32_767),
        (DType::Int32, i32::MIN.into(), i32::MAX.into()),
        (DType::UInt8, 0, 255),
        (DType::UInt16, 0, 65_535),
    ] {
        for value in [least, 0, 7, most] {
            let scalar = Scalar::integer(dtype, value).expect("in the range");
            assert_eq!(scalar.dtype(), dtype);
            assert!(
                format!("{scalar:?}").ends_with(&format!("({value})")),
                "{scalar:?}"
            );
        }
        assert_eq!(Scalar::integer(dtype, least - 1), None);
        assert_eq!(Scalar::integer(dtype, most + 1), None);
    }
    for value in [i64::MIN, 0, i64::MAX] {
        assert_eq!(
            Scalar::integer(DType::Int64, value),
            Some(Scalar::Int64(value))
        );
    }
    for dtype in [DType::Float64, DType::Bool, DType::String] {
        assert_eq!(Scalar::integer(dtype, 1), None);
    }
}

#[test]
fn scalars_are_equal_by_their_bits() {
    let nan = f32::from_bits(0x7fc0_0001);
    assert_eq!(Scalar::Float32(nan), Scalar::Float32(nan));
    assert_ne!(Scalar::Float32(nan), Scalar::Float32(f32::NAN));
    assert_eq!(Scalar::BFloat16(bf16::NAN), Scalar::BFloat16(bf16::NAN));
    assert_ne!(Scalar::Float64(0.0), Scalar::Float64(-0.0));
    assert_ne!(Scalar::Int32(0), Scalar::Int64(0));
}

#[test]
fn values_are_seen_as_their_own_dtype_alone() {
    for &dtype in DType::ALL {
        let mut values = Values::new(dtype);
        assert_eq!(
            (values.dtype(), values.len(), values.is_empty()),
            (dtype, 0, true)
        );
        assert_eq!(values.as_slice::<i8>().is_some(), dtype == DType::Int8);
        assert_eq!(values.as_slice::<i16>().is_some(), dtype == DType::Int16);
        assert_eq!(values.as_slice::<u8>().is_some(), dtype == DType::UInt8);
        assert_eq!(values.as_slice::<u16>().is_some(), dtype == DType::UInt16);
        assert_eq!(values.as_slice::<i32>().is_some(), dtype == DType::Int32);
        assert_eq!(values.as_slice::<i64>().is_some(), dtype == DType::Int64);
        assert_eq!(values.as_slice::<f16>().is_some(), dtype == DType::Float16);
        assert_eq!(
            values.as_slice::<bf16>().is_some(),
            dtype == DType::BFloat16
        );
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
