//! Casts and promotions of numbers.

use super::*;

const INT: &str = r#""int""#;
const LONG: &str = r#""long""#;
const FLOAT: &str = r#""float""#;
const DOUBLE: &str = r#""double""#;
const BOOLEAN: &str = r#""boolean""#;

fn cast(schema: &str, dtype: DType) -> Case {
    Case::of(schema, dtype, Convert::Cast)
}

#[test]
fn promotion_needs_no_cast() {
    let data = varints(&[-3, 1 << 24 | 1]);
    let read = |reader, dtype| Case::resolved(INT, reader, dtype, Convert::Exact).read(&data, 2);
    assert_eq!(
        read(LONG, DType::Int64),
        [-3, 16_777_217].map(Scalar::Int64)
    );
    assert_eq!(
        read(FLOAT, DType::Float32),
        [-3.0, 16_777_216.0].map(Scalar::Float32)
    );
    assert_eq!(
        read(DOUBLE, DType::Float64),
        [-3.0, 16_777_217.0].map(Scalar::Float64)
    );
}

#[test]
fn promotion_comes_before_the_cast() {
    // A float cannot represent 2^24 + 1. The nearest float is converted to float64.
    let data = varints(&[16_777_217]);
    let case = Case::resolved(INT, FLOAT, DType::Float64, Convert::Cast);
    assert_eq!(case.read_one(&data), Scalar::Float64(16_777_216.0));
    let case = cast(INT, DType::Float64);
    assert_eq!(case.read_one(&data), Scalar::Float64(16_777_217.0));
}

#[test]
fn a_type_of_its_own_dtype_is_read_plainly() {
    for (schema, dtype, leaf) in [
        (INT, DType::Int32, Leaf::Int),
        (LONG, DType::Int64, Leaf::Long),
        (FLOAT, DType::Float32, Leaf::Float),
        (DOUBLE, DType::Float64, Leaf::Double),
        (BOOLEAN, DType::Bool, Leaf::Boolean),
    ] {
        for convert in [Convert::Exact, Convert::Cast] {
            match Case::of(schema, dtype, convert).compile() {
                Ok(Source::Plain(found)) => assert_eq!(found, leaf),
                other => panic!("{schema}: {other:?}"),
            }
        }
    }
}

#[test]
fn booleans_are_0_and_1_and_numbers_true_unless_0() {
    for (dtype, expected) in [
        (DType::Int8, [0, 1].map(Scalar::Int8)),
        (DType::Int16, [0, 1].map(Scalar::Int16)),
        (DType::UInt8, [0, 1].map(Scalar::UInt8)),
        (DType::UInt16, [0, 1].map(Scalar::UInt16)),
        (DType::Int32, [Scalar::Int32(0), Scalar::Int32(1)]),
        (DType::Int64, [Scalar::Int64(0), Scalar::Int64(1)]),
        (DType::Float32, [Scalar::Float32(0.0), Scalar::Float32(1.0)]),
        (DType::Float64, [Scalar::Float64(0.0), Scalar::Float64(1.0)]),
        (DType::Float16, [f16::ZERO, f16::ONE].map(Scalar::Float16)),
        (
            DType::BFloat16,
            [bf16::ZERO, bf16::ONE].map(Scalar::BFloat16),
        ),
    ] {
        assert_eq!(cast(BOOLEAN, dtype).read(&[0, 1], 2), expected);
    }
    let data = varints(&[0, -1, 256, 1 << 20]);
    let expected = [false, true, true, true].map(Scalar::Bool);
    assert_eq!(cast(INT, DType::Bool).read(&data, 4), expected);
    assert_eq!(cast(LONG, DType::Bool).read(&data, 4), expected);
    let floats = [0.0f32, -0.0, f32::NAN, 1e-45];
    let expected = [false, false, true, true].map(Scalar::Bool);
    let data: Vec<u8> = floats
        .iter()
        .flat_map(|float| float.to_le_bytes())
        .collect();
    assert_eq!(cast(FLOAT, DType::Bool).read(&data, 4), expected);
    let doubles = floats.map(f64::from);
    let data: Vec<u8> = doubles
        .iter()
        .flat_map(|float| float.to_le_bytes())
        .collect();
    assert_eq!(cast(DOUBLE, DType::Bool).read(&data, 4), expected);
}

#[test]
fn integers_in_the_range_of_a_dtype_are_cast_to_it() {
    for (dtype, least, most) in [
        (DType::Int8, -128, 127),
        (DType::Int16, -32_768, 32_767),
        (DType::Int32, i32::MIN.into(), i32::MAX.into()),
        (DType::UInt8, 0, 255),
        (DType::UInt16, 0, 65_535),
    ] {
        let ends = [least, 0, 1, most];
        let expected = ends.map(|end| Scalar::integer(dtype, end).unwrap());
        assert_eq!(cast(LONG, dtype).read(&varints(&ends), 4), expected);
        if dtype != DType::Int32 {
            assert_eq!(cast(INT, dtype).read(&varints(&ends), 4), expected);
        }
        for outside in [least - 1, most + 1] {
            let case = cast(LONG, dtype);
            let data = varints(&[0, outside]);
            let message = format!("{outside} is not in the range of {dtype}");
            assert_eq!(case.fault(&data, 2), (message.clone(), 1));
            if i32::try_from(outside).is_ok() {
                assert_eq!(cast(INT, dtype).fault(&data, 2), (message, 1));
            }
        }
    }
}

#[test]
fn the_indices_of_an_enum_have_to_be_in_the_range_of_the_dtype() {
    let symbols: Vec<_> = (0..300).map(|i| format!("\"s{i}\"")).collect();
    let schema = format!(
        r#"{{"type": "enum", "name": "E", "symbols": [{}]}}"#,
        symbols.join(", ")
    );
    let case = cast(&schema, DType::UInt8);
    let data = varints(&[255, 0]);
    assert_eq!(case.read(&data, 2), [255, 0].map(Scalar::UInt8));
    let message = "256 is not in the range of uint8".to_owned();
    assert_eq!(case.fault(&varints(&[255, 256]), 2), (message, 2));
    let case = cast(&schema, DType::Int16);
    assert_eq!(case.read(&varints(&[299]), 1), [Scalar::Int16(299)]);
}

#[test]
fn small_floats_are_rounded_once() {
    let half = |value: f64| cast(DOUBLE, DType::Float16).read_one(&value.to_le_bytes());
    let brain = |value: f64| cast(DOUBLE, DType::BFloat16).read_one(&value.to_le_bytes());
    let next = |bits| Scalar::Float16(f16::from_bits(bits));
    let tie = 1.0 + 2f64.powi(-11);
    // float32 has no number between the tie and this one.
    let above = tie + 2f64.powi(-50);
    assert_eq!(half(tie), next(0x3c00));
    assert_eq!(half(above), next(0x3c01));
    assert_eq!(half(-above), next(0xbc01));
    assert_eq!(half(65_519.999_999_999), Scalar::Float16(f16::MAX));
    assert_eq!(half(65520.0), Scalar::Float16(f16::INFINITY));
    assert_eq!(half(2f64.powi(-25)), Scalar::Float16(f16::ZERO));
    assert_eq!(half(2f64.powi(-25) * (1.0 + f64::EPSILON)), next(1));
    assert_eq!(half(-1e-300), Scalar::Float16(f16::NEG_ZERO));

    let tie = 1.0 + 2f64.powi(-8);
    assert_eq!(brain(tie), Scalar::BFloat16(bf16::ONE));
    let above = tie + 2f64.powi(-50);
    assert_eq!(brain(above), Scalar::BFloat16(bf16::from_bits(0x3f81)));
    assert_eq!(brain(f64::MAX), Scalar::BFloat16(bf16::INFINITY));
    assert_eq!(brain(f64::from(f32::MAX)), Scalar::BFloat16(bf16::INFINITY));

    // A tie between two bfloat16 numbers, plus 1, which float64 rounds to the tie.
    let long = (1 << 62) + (1 << 54) + 1;
    let case = cast(LONG, DType::BFloat16);
    let expected = Scalar::BFloat16(bf16::from_bits(0x5e81));
    assert_eq!(case.read_one(&varints(&[long])), expected);
    let expected = Scalar::BFloat16(bf16::from_bits(0x5e80));
    assert_eq!(case.read_one(&varints(&[long - 1])), expected);
}

#[test]
fn nan_and_infinity_stay() {
    let data = |value: f64| value.to_le_bytes();
    for dtype in [DType::Float16, DType::BFloat16, DType::Float32] {
        let case = cast(DOUBLE, dtype);
        let nan = match case.read_one(&data(f64::NAN)) {
            Scalar::Float16(value) => value.is_nan(),
            Scalar::BFloat16(value) => value.is_nan(),
            Scalar::Float32(value) => value.is_nan(),
            other => panic!("{other:?}"),
        };
        assert!(nan, "{dtype}");
        let infinity = match case.read_one(&data(f64::NEG_INFINITY)) {
            Scalar::Float16(value) => value == f16::NEG_INFINITY,
            Scalar::BFloat16(value) => value == bf16::NEG_INFINITY,
            Scalar::Float32(value) => value == f32::NEG_INFINITY,
            other => panic!("{other:?}"),
        };
        assert!(infinity, "{dtype}");
    }
}
