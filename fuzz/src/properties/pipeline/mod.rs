//! The whole pipeline on one file.

mod leaving_out;
mod made_file;
mod oracle;
mod reading;

use std::sync::Arc;

use atds::OnError;
use avro_decode::{DecodeErrorKind, Feature, Features, Plan, PlanOptions, infer};
use tensor_batch::Batch;

use super::input::Input;
use oracle::{End, Expected};
use reading::{Options, Outcome, read};

/// See [`PIPELINE`](super::PIPELINE).
pub(super) fn any_file(data: &[u8]) {
    let mut input = Input::new(data);
    let options = Options::any(&mut input);
    check(input.rest(), None, &options);
}

/// See [`PIPELINE_DAMAGED`](super::PIPELINE_DAMAGED).
pub(super) fn damaged_file(data: &[u8]) {
    let mut input = Input::new(data);
    let mut options = Options::any(&mut input);
    let (file, case) = made_file::damaged(&mut input);
    options.out_of_bounds = case.options.out_of_bounds;
    if case.options.reader_schema.is_some() {
        // Here the reference reads values of the writer's schema.
        return;
    }
    let features: Vec<Feature> = case.features.iter().cloned().collect();
    if checked(&features, &options).is_none() {
        // A value outside lists has no ragged layout.
        return;
    }
    let features = Some(&*features);
    check(&file, features.filter(|f| !f.is_empty()), &options);
}

/// Reads a file in three ways that must agree, and compares the batches with the reference. Without
/// features, they are inferred.
fn check(file: &[u8], features: Option<&[Feature]>, options: &Options) {
    let one = read(file, features, options, 1, false);
    one.assert_same(&read(file, features, options, 2, false));
    one.assert_same_but_for_memory(&read(file, features, options, 2, true));

    let mut plan_options = PlanOptions::default();
    plan_options.out_of_bounds = options.out_of_bounds;
    match (&one.spec, oracle::schema(file)) {
        (Some(spec), Some(schema)) => {
            let mut inferred = infer(&schema).features;
            one.set_sampled(&mut inferred);
            let features = checked(features.unwrap_or(&inferred), options);
            let features = features.expect("the dataset has them");
            // Columns of the pipeline stand after them.
            let columns = features.spec().columns();
            assert_eq!(columns, &spec.columns()[..columns.len()]);
            if options.on_error == OnError::SkipBlock {
                leaving_out::check(file, &schema, &features, &plan_options, &one, options);
            }
            let expected = oracle::read(file, schema, &features, &plan_options);
            check_sampled(&one, &expected);
            match options.on_error {
                OnError::SkipBlock => {}
                OnError::SkipFile => check_healthy(&one, &expected),
                _ => compare_with_reference(&one, &expected, options),
            }
        }
        (Some(_), None) => panic!("a file without a schema is read"),
        (None, None) => assert!(one.error.is_some()),
        (None, Some(schema)) if one.is_left_out() => {
            let features = features.and_then(|features| checked(features, options));
            if let Some(features) = features {
                let expected = oracle::read(file, schema, &features, &plan_options);
                let is_whole = matches!(expected.end, End::Whole);
                assert!(
                    !is_whole || first_misfit(&expected).is_some(),
                    "it is healthy"
                );
            }
        }
        // All of the file was read.
        (None, Some(_)) if options.on_error == OnError::SkipFile && one.is_out_of_memory() => {}
        (None, Some(schema)) => {
            let schema = Arc::new(schema);
            let features = features.and_then(|features| checked(features, options));
            let is_misfit = features.is_some_and(|features| {
                // At least one file must have each field of the features.
                let plan = Plan::compile(&schema, &features, &plan_options);
                !plan.is_ok_and(|plan| plan.absent().is_empty())
            });
            assert!(is_misfit || one.has_no_features(), "{:?}", one.error);
        }
    }
}

/// Checks that features which are dense by a sample fit the sampled records.
fn check_sampled(outcome: &Outcome, expected: &Expected) {
    let Some(sampled) = outcome.sampled.first() else {
        return;
    };
    let records = expected.records.len().min(sampled.records as usize);
    if let Err(error) = expected.tensors(0..records) {
        let is_length = matches!(error.kind, DecodeErrorKind::ArrayLength { .. });
        assert!(!is_length, "{error}, of {records} records sampled");
    }
}

/// The features with the layout of the options; `None` if they cannot have it.
fn checked(features: &[Feature], options: &Options) -> Option<Features> {
    let features = features.iter().cloned();
    let features = features.map(|feature| match options.layout {
        Some(layout) => feature.with_layout(layout),
        None => feature,
    });
    Features::new(features).ok()
}

fn compare_with_reference(outcome: &Outcome, expected: &Expected, options: &Options) {
    let known = expected.records.len();
    let delivered: usize = outcome.batches.iter().map(Batch::rows).sum();
    if options.is_in_order() {
        compare_values(outcome, expected);
    }
    if outcome.is_out_of_memory() {
        return;
    }
    if let Some(misfit) = first_misfit(expected) {
        assert!(outcome.error.is_some(), "record {misfit} fits no feature");
        if options.is_in_order() {
            assert_eq!(
                delivered, misfit,
                "records before the one that does not fit"
            );
        }
        return;
    }
    match expected.end {
        End::Whole => {
            let error = outcome.error.as_ref().map(ToString::to_string);
            assert_eq!((delivered, error), (known, None));
        }
        End::Framing => {
            assert!(outcome.error.is_some());
            // Runs are listed before the first batch.
            let known = if options.shuffle_runs { 0 } else { known };
            assert_eq!(delivered, known, "nothing of what is whole is lost");
        }
        End::Block { whole } => {
            assert!(outcome.error.is_some());
            if options.is_in_order() {
                assert!((whole..=known).contains(&delivered), "{delivered} records");
            }
        }
        End::Unknown => {}
    }
}

/// A file that is read although those with damage are left out.
fn check_healthy(outcome: &Outcome, expected: &Expected) {
    if outcome.is_out_of_memory() {
        return;
    }
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(first_misfit(expected), None, "it fits no feature");
    match expected.end {
        End::Whole => {
            let delivered: usize = outcome.batches.iter().map(Batch::rows).sum();
            assert_eq!(delivered, expected.records.len());
        }
        End::Unknown => {}
        End::Framing | End::Block { .. } => panic!("it has damage"),
    }
}

/// Compares the batches, whose records are in file order, with the tensors of the reference as far
/// as those go.
fn compare_values(outcome: &Outcome, expected: &Expected) {
    let mut start = 0;
    for batch in &outcome.batches {
        let end = start + batch.rows();
        if end > expected.records.len() {
            assert!(matches!(expected.end, End::Unknown), "{end} records");
            return;
        }
        let tensors = expected.tensors(start..end);
        let tensors = tensors.unwrap_or_else(|error| panic!("{error}, but there is a batch"));
        if let Err(difference) = tensors.compare(batch) {
            panic!("{difference}");
        }
        start = end;
    }
}

/// The index of the first record that does not fit its features.
fn first_misfit(expected: &Expected) -> Option<usize> {
    let error = expected.tensors(0..expected.records.len()).err()?;
    Some(error.record)
}
