//! Records for features.

use atds_features::{Convert, Feature, Fill, TimeUnit};
use tensor_batch::{DType, Scalar};

use super::*;

#[test]
fn records_fit_features_of_every_kind() {
    let dims = |dims: &[Option<usize>]| Feature::fixed_len("padded", dims, DType::Int64);
    let hash = Convert::HashBuckets(100);
    let features = [
        Feature::dense("scalar", &[], DType::Int32),
        Feature::dense("image", &[4, 5, 1], DType::Float32),
        Feature::dense("flags", &[3], DType::Bool).with_default(Fill::Scalar(Scalar::Bool(true))),
        dims(&[None, Some(2)]).with_mask("is_padded"),
        Feature::varlen("pixels", &[UNKNOWN], DType::UInt8).with_convert(Convert::Cast),
        Feature::dense("half", &[2], DType::Float16).with_convert(Convert::Cast),
        Feature::varlen("lists", &[UNKNOWN, 2, UNKNOWN], DType::String),
        Feature::sparse("pairs", &[100, UNKNOWN], DType::Float64).with_mask("has"),
        Feature::fixed_len("bucket", &[], DType::Int64).with_convert(hash),
        Feature::var_len("one", DType::String).at("single"),
    ];
    let shape = RecordShape::of_features(&Features::new(features).unwrap(), 3.0).unwrap();
    let records = decoded(&shape, 0..300);
    assert_records_fit(&shape, &records);
    let nullable = shape.fields.iter().zip(fields(&records[0]));
    let nullable = nullable.filter(|(_, value)| matches!(value, Value::Union(..)));
    let names: Vec<&str> = nullable.map(|(field, _)| &*field.name).collect();
    assert_eq!(names, ["flags", "padded", "pairs"]);
}

#[test]
fn lengths_that_are_left_open_have_the_mean_length() {
    let features = [
        Feature::varlen("v", &[UNKNOWN], DType::Int32),
        Feature::sparse("s", &[1_000_000], DType::Int32),
    ];
    let features = Features::new(features).unwrap();
    let shape = RecordShape::of_features(&features, 30.0).unwrap();
    let mut counts = [0, 0];
    for record in decoded(&shape, 0..400) {
        let [sparse, list] = fields(&record) else {
            panic!("not two fields")
        };
        counts[0] += items(list).len();
        counts[1] += items(&fields(sparse)[1]).len();
    }
    for count in counts {
        // Five standard deviations of the mean of 400 Poisson draws.
        let mean = count as f64 / 400.0;
        assert!((mean - 30.0).abs() < 30f64.sqrt() / 4.0, "{mean}");
    }
}

#[test]
fn features_of_ads_nullable_have_records_of_its_schema() {
    let features = Features::new(Preset::AdsNullable.features()).unwrap();
    let shape = RecordShape::of_features(&features, 8.0).unwrap();
    assert_eq!(shape.preset(), None);
    let types = |schema: &str| {
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        let fields = schema["fields"].as_array().unwrap().clone();
        let named = fields
            .into_iter()
            .map(|field| (field["name"].to_string(), field));
        named.collect::<std::collections::BTreeMap<_, _>>()
    };
    assert_eq!(types(&shape.schema()), types(&Preset::AdsNullable.schema()));
}

#[test]
fn features_without_samples_are_refused() {
    let dense = || Feature::dense("x", &[], DType::Int32);
    let sparse = |shape: &[i64]| Feature::sparse("x", shape, DType::Int32);
    let cases: [(&str, Feature); 9] = [
        (
            "'x.y' is not the name of a field: samples are made for fields only",
            dense().at("x.y"),
        ),
        (
            "samples are made for dense and varlen features, and for sparse ones of a shape",
            Feature::sparse_keys("x", &["a"], "b", &[10], DType::Int32),
        ),
        (
            "samples of float16 are made only with a cast",
            Feature::dense("x", &[], DType::Float16),
        ),
        (
            "samples of uint16 are made only with a cast",
            Feature::dense("x", &[], DType::UInt16),
        ),
        (
            "samples are not made for a vocabulary or a unit",
            Feature::dense("x", &[], DType::Int64).with_convert(Convert::Unit(TimeUnit::Millis)),
        ),
        (
            "the shape has 2^64 cells or more",
            sparse(&[1 << 32, 1 << 32]),
        ),
        (
            "with this feature, records would have more than 16000000 values",
            Feature::dense("x", &[4_000, 4_001], DType::Bool),
        ),
        (
            "with this feature, records would have more than 16000000 values",
            Feature::varlen("x", &[UNKNOWN; 31], DType::Bool),
        ),
        (
            "with this feature, records would have more than 16000000 values",
            Feature::dense("x", &[1 << 30, 1 << 29], DType::Bool),
        ),
    ];
    for (expected, feature) in cases {
        let error = of([feature]).unwrap_err();
        assert_eq!(error.to_string(), format!("feature 'x': {expected}"));
    }
    assert!(of([sparse(&[1 << 32, 1 << 31])]).is_ok());
    assert!(of([Feature::dense("x", &[4_000, 4_000], DType::Bool)]).is_ok());

    let twice = [dense(), Feature::dense("y", &[2], DType::Int32).at("x")];
    let error = of(twice).unwrap_err();
    assert_eq!(
        error.to_string(),
        "feature 'y': another feature reads the field 'x', too"
    );

    let error = of([Feature::dense("x".repeat(1_025), &[], DType::Int32)]).unwrap_err();
    assert!(
        matches!(error.kind, GenerateErrorKind::Schema(_)),
        "{error}"
    );
}

#[test]
fn the_mean_length_has_a_range() {
    let features = || Features::new([Feature::varlen("v", &[UNKNOWN], DType::Int32)]).unwrap();
    for bad in [0.0, -1.0, 500.1, f64::NAN, f64::INFINITY] {
        let error = RecordShape::of_features(&features(), bad).unwrap_err();
        let expected = format!("`mean_length` is {bad}: it must be above 0, at most 500");
        assert_eq!(error.to_string(), expected);
    }
    for good in [1e-300, 500.0] {
        let shape = RecordShape::of_features(&features(), good).unwrap();
        let values: usize = decoded(&shape, 0..20)
            .iter()
            .map(|r| items(&fields(r)[0]).len())
            .sum();
        assert!(
            (values as f64 / 20.0 - good).abs() <= 0.05 * good.max(1.0),
            "{values} for {good}"
        );
    }
}

fn of(features: impl IntoIterator<Item = Feature>) -> Result<RecordShape, GenerateError> {
    RecordShape::of_features(&Features::new(features).unwrap(), 2.0)
}
