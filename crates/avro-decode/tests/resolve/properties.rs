//! Properties of arbitrary pairs of schemas.

use std::collections::BTreeMap;
use std::sync::Arc;

use avro_decode::{Resolution, Transcoder};
use proptest::prelude::*;

use super::agreement::agree;
use super::common::assert_same;
use super::evolved::{Case, Change, arb_case, cases};

/// Whether every value of the writer stays readable with these changes.
fn are_harmless(changes: &[Change]) -> bool {
    !changes.iter().any(|change| {
        matches!(
            change,
            Change::Mismatch
                | Change::FieldAddedWithoutDefault
                | Change::Unwrapped
                | Change::BranchDropped
                | Change::SymbolDropped
                // Bytes that are promoted to a string may not be UTF-8.
                | Change::Promoted
        )
    })
}

fn check(case: &Case) {
    let resolution = Resolution::new(Arc::clone(&case.writer), Arc::clone(&case.reader));
    let harmless = are_harmless(&case.changes);
    match resolution {
        Ok(resolution) => {
            let read = agree(&resolution, &case.data);
            assert!(read.is_some() || !harmless);
        }
        Err(error) => assert!(!harmless, "{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn the_transcoder_does_what_the_reference_does(case in arb_case()) {
        check(&case);
    }

    #[test]
    fn neither_reads_what_the_other_refuses(case in arb_case(), damage: [(prop::sample::Index, u8); 3]) {
        if let Ok(resolution) = Resolution::new(case.writer, case.reader) {
            let mut data = case.data;
            for (at, byte) in damage {
                if !data.is_empty() {
                    let at = at.index(data.len());
                    data[at] = byte;
                    agree(&resolution, &data);
                }
            }
        }
    }

    #[test]
    fn a_schema_reads_its_own_data_as_it_is(case in arb_case()) {
        let resolved = Resolution::new(Arc::clone(&case.writer), Arc::clone(&case.writer)).unwrap();
        let identity = Resolution::identity(Arc::clone(&case.writer));
        let mut outs = [Vec::new(), Vec::new()];
        for (resolution, out) in [&resolved, &identity].into_iter().zip(&mut outs) {
            assert_same(&agree(resolution, &case.data).unwrap(), &case.value);
            Transcoder::new(resolution).transcode(&case.data, out).unwrap();
        }
        assert_eq!(outs[0], outs[1]);
    }
}

/// Number of cases with each change.
type Counts = BTreeMap<Change, usize>;

/// Checks that the properties above cover every kind of change, with readable and unreadable
/// values.
#[test]
fn cases_have_all_sorts_of_changes() {
    let (mut read, mut unread, mut refused) = (Counts::new(), Counts::new(), Counts::new());
    for case in cases(3000) {
        let counts = match Resolution::new(case.writer, case.reader) {
            Err(_) => &mut refused,
            Ok(resolution) => match agree(&resolution, &case.data) {
                None => &mut unread,
                Some(_) => &mut read,
            },
        };
        for change in case.changes {
            *counts.entry(change).or_default() += 1;
        }
    }
    let refusing = [Change::Mismatch, Change::FieldAddedWithoutDefault];
    for change in Change::ALL {
        let counts = if refusing.contains(&change) {
            &refused
        } else {
            &read
        };
        let count = counts.get(&change).copied().unwrap_or_default();
        assert!(count >= 20, "{change:?}: {count}");
    }
    let unreadable = [
        Change::Unwrapped,
        Change::BranchDropped,
        Change::SymbolDropped,
    ];
    for change in unreadable {
        let count = unread.get(&change).copied().unwrap_or_default();
        assert!(count >= 10, "{change:?}: {count}");
    }
}
