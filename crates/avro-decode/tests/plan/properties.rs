//! What holds for the plan and the reference on any case.

use avro_decode::{DecodeError, DecodeErrorKind};

use super::harness::{assert_agrees, run, same_kind};
use super::made::Case;

/// On good data, which may not fit the features, plan and reference make the
/// same tensors, or give the same error: then its kind.
///
/// Panics where they do not.
pub(crate) fn agree(case: &Case) -> Option<String> {
    let (records, position, error) = case.decode(&case.data);
    assert_eq!(
        (error, position),
        (None, case.data.len()),
        "the data is good"
    );
    match (case.tensors(&records), case.run()) {
        (Ok(expected), Ok(ran)) => {
            assert_agrees(&expected, &ran);
            assert_eq!(ran.position, case.data.len());
            None
        }
        (Err(expected), Err(error)) => {
            assert!(
                same_kind(&error.kind, &expected.kind),
                "{error}; {expected}"
            );
            assert_eq!(
                error.record,
                Some(expected.record as u64),
                "{error}; {expected}"
            );
            assert_eq!(
                error.field.as_ref(),
                Some(&expected.field),
                "{error}; {expected}"
            );
            assert!(error.offset < case.data.len());
            let kind = format!("{:?}", error.kind);
            let name = kind.split([' ', '(']).next().unwrap_or_default();
            Some(name.to_owned())
        }
        (expected, ran) => panic!("{expected:?} but {ran:?}"),
    }
}

/// On any data the plan makes what the reference makes, or both refuse it.
///
/// Panics where they do not.
pub(crate) fn agree_on(case: &Case, data: &[u8]) {
    let (records, end, decode_error) = case.decode(data);
    let tensors = case.tensors(&records);
    let ran = run(&case.plan(), data, &case.run_rows, case.call_records);
    match (ran, tensors, decode_error) {
        (Ok(ran), Ok(expected), None) => {
            assert_agrees(&expected, &ran);
            assert_eq!(ran.position, end);
        }
        (Ok(_), Ok(_), Some(error)) => {
            assert!(!is_read(case, &error), "the plan has read over: {error}");
        }
        (Err(error), Err(expected), _) => {
            // With more than one fault in a field, either may be seen first.
            assert!(is_feature_error(&error.kind), "{error}; {expected}");
            assert_eq!(
                error.record,
                Some(expected.record as u64),
                "{error}; {expected}"
            );
            assert_eq!(error.field, Some(expected.field));
        }
        (Err(error), Ok(_), Some(expected)) => {
            let here = Some(records.len() as u64);
            assert!(error.record >= here, "{error}; {expected}");
            // Skipping may run over the damage, and come out somewhere else.
            let is_skipped = !is_read(case, &expected);
            assert!(error.record == here || is_skipped, "{error}; {expected}");
            assert!(error.field.is_some() && error.offset <= data.len());
        }
        (ran, expected, error) => panic!("{expected:?}, {error:?}, but {ran:?}"),
    }
}

/// Whether a feature of the case has the reference's error in it, or is in a
/// record around that is at fault itself.
pub(crate) fn is_read(case: &Case, error: &DecodeError) -> bool {
    let field = error.field.as_deref().unwrap_or_default();
    let is_inside = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut names = case.spec.columns().iter().map(|column| &*column.name);
    names.any(|name| is_inside(field, name) || is_inside(name, field))
}

fn is_feature_error(kind: &DecodeErrorKind) -> bool {
    matches!(
        kind,
        DecodeErrorKind::Null
            | DecodeErrorKind::ArrayLength { .. }
            | DecodeErrorKind::SparseLengths { .. }
            | DecodeErrorKind::IndexOutOfBounds { .. }
    )
}
