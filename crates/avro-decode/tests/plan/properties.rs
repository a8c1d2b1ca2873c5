//! Properties of the plan and the reference for any case.

use avro_decode::feature::{FeatureKind, SparseKeys};
use avro_decode::path::{Path, Step};
use avro_decode::reference::RecordError;
use avro_decode::{Convert, DecodeError, DecodeErrorKind, Feature};

use super::harness::{assert_agrees, run, same_kind};
use super::made::Case;

/// Checks that plan and reference agree on valid data, which may not fit the features. Both make
/// the same tensors, or fail in the same record. Returns the kind of the error, if any.
///
/// # Panics
/// If they do not agree.
pub(crate) fn agree(case: &Case) -> Option<String> {
    let (records, position, error) = case.decode(&case.data);
    assert_eq!(
        (error, position),
        (None, case.data.len()),
        "the data is good"
    );
    let Some(records) = case.resolved(&records) else {
        // The values cannot be resolved to the reader's schema, which the plan may not notice.
        let _ = case.run();
        return None;
    };
    match (case.tensors(&records), case.run()) {
        (Ok(expected), Ok(ran)) => {
            assert_agrees(&expected, &ran);
            assert_eq!(ran.position, case.data.len());
            None
        }
        (Err(_), Err(error)) => {
            assert_is_one_of(case, &error, &case.faults(&records));
            assert!(error.offset <= case.data.len());
            let kind = format!("{:?}", error.kind);
            let name = kind.split([' ', '(']).next().unwrap_or_default();
            Some(name.to_owned())
        }
        (expected, ran) => panic!("{expected:?} but {ran:?}"),
    }
}

/// Checks that plan and reference agree on any data, or both refuse it.
///
/// # Panics
/// If they do not agree.
pub(crate) fn agree_on(case: &Case, data: &[u8]) {
    let ran = run(&case.plan(), data, &case.run_rows, case.call_records);
    let (records, end, decode_error) = case.decode(data);
    let Some(records) = case.resolved(&records) else {
        return;
    };
    match (ran, case.tensors(&records), decode_error) {
        (Ok(ran), Ok(expected), None) => {
            assert_agrees(&expected, &ran);
            assert_eq!(ran.position, end);
        }
        (Ok(_), Ok(_), Some(error)) => {
            assert!(!is_read(case, &error), "the plan has read over: {error}");
        }
        (Err(error), Err(_), _) => assert_is_one_of(case, &error, &case.faults(&records)),
        (Err(error), Ok(_), Some(expected)) => {
            let here = Some(records.len() as u64);
            // Skipping may pass over the damage and then read at a wrong position.
            assert!(error.record >= here, "{error}; {expected}");
            let is_skipped = !is_read(case, &expected);
            assert!(is_skipped || error.record == here, "{error}; {expected}");
            assert!(error.field.is_some() && error.offset <= data.len());
        }
        (ran, expected, error) => panic!("{expected:?}, {error:?}, but {ran:?}"),
    }
}

/// Panics unless the plan's error is among the errors of the record.
fn assert_is_one_of(case: &Case, error: &DecodeError, faults: &[RecordError]) {
    let is_it = |fault: &&RecordError| {
        error.record == Some(fault.record as u64) && same_kind(&error.kind, &fault.kind)
    };
    let fault = faults.iter().find(is_it);
    let fault = fault.unwrap_or_else(|| panic!("{error}, of {faults:?}"));
    let field = error.field.as_deref().expect("a field");
    let mut same = faults.iter().filter(is_it);
    // A key leads elsewhere than the feature's expression.
    let is_key = |fault: &RecordError| {
        let mut features = case.features.iter();
        features.any(|one| one.expression() == fault.field && has_keys(one))
    };
    assert!(
        same.any(|fault| leads_to(field, &fault.field) || is_key(fault)),
        "{error}, of {fault}"
    );
}

/// Whether `field` is on the path of a feature's expression, or inside its value. Both must begin
/// with the same name. Namespaces in the expression are ignored.
fn leads_to(field: &str, expression: &str) -> bool {
    let (Ok(way), Ok(path)) = (Path::parse(field), Path::parse(expression)) else {
        return false;
    };
    let (way, names) = (field_names(&way), field_names(&path));
    names.contains(&way[0]) || way.contains(&names[0])
}

fn field_names(path: &Path) -> Vec<&str> {
    let names = path.steps.iter().filter_map(|step| match step {
        Step::Field(name) => Some(&**name),
        _ => None,
    });
    names.collect()
}

fn has_keys(feature: &Feature) -> bool {
    let FeatureKind::Sparse { keys, .. } = &feature.kind else {
        return false;
    };
    matches!(keys, SparseKeys::Named { .. })
}

/// Whether a feature reads all values around the reference's error, so that the plan must have
/// noticed it.
fn is_read(case: &Case, error: &DecodeError) -> bool {
    let is_tree_limit = matches!(
        error.kind,
        DecodeErrorKind::TooManyZeroSizeValues | DecodeErrorKind::TooDeep { .. }
    );
    if is_tree_limit || case.options.reader_schema.is_some() {
        return false;
    }
    // The plan does not check keys of maps, or texts that become ids.
    let is_key = error.kind == DecodeErrorKind::InvalidUtf8;
    let field = error.field.as_deref().unwrap_or_default();
    let field: Vec<&str> = field.split('.').collect();
    let mut features = case.features.iter().filter(|feature| !has_keys(feature));
    features.any(|feature| {
        let is_ids = matches!(
            feature.convert,
            Convert::HashBuckets(_) | Convert::Vocabulary(_)
        );
        if feature.truncate || (is_key && (is_ids || feature.any_bytes)) {
            return false;
        }
        let path = Path::parse(feature.expression()).expect("a good expression");
        let reads_all = |step: &Step| match step {
            Step::Field(_) => true,
            Step::All => !is_key,
            _ => false,
        };
        path.steps.iter().all(reads_all) && field_names(&path).starts_with(&field)
    })
}
