//! Parsing a printed path gives the same path; no text makes the parser panic.

use atds_features::path::{Path, PathError, Reference};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use crate::made::{any_path, any_pieces, any_reference, nearly_a_path};

proptest! {
    #[test]
    fn any_path_printed_and_parsed_is_the_same(path in any_path()) {
        prop_assert_eq!(Path::parse(&path.to_string()), Ok(path));
    }

    #[test]
    fn any_reference_printed_and_parsed_is_the_same(reference in any_reference()) {
        prop_assert_eq!(Reference::parse(&reference.to_string()), Ok(reference));
    }

    #[test]
    fn any_text_is_refused_or_prints_to_the_same(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_pieces_are_refused_or_print_to_the_same(text in any_pieces()) {
        check(&text)?;
    }

    #[test]
    fn what_is_nearly_a_path_is_refused_or_prints_to_the_same(text in nearly_a_path()) {
        check(&text)?;
    }
}

fn check(text: &str) -> Result<(), TestCaseError> {
    match Path::parse(text) {
        Ok(path) => {
            prop_assert_eq!(Path::parse(&path.to_string()), Ok(path.clone()));
            let reference = Reference::parse(text);
            // "@" is the root value: a path without steps.
            let from_root = text == "@";
            prop_assert_eq!(reference, Ok(Reference { from_root, path }));
        }
        Err(error) => check_error(&error, text)?,
    }
    match Reference::parse(text) {
        Ok(reference) => {
            let printed = reference.to_string();
            prop_assert_eq!(printed.starts_with('@'), reference.from_root);
            prop_assert_eq!(Reference::parse(&printed), Ok(reference));
        }
        Err(error) => check_error(&error, text)?,
    }
    Ok(())
}

/// Checks that the error's position is a character of the text, or its end.
fn check_error(error: &PathError, text: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(&error.expression, text);
    prop_assert!(text.is_char_boundary(error.offset), "{error:?}");
    let before = text[..error.offset].chars().count();
    prop_assert_eq!(error.character(), before + 1);
    Ok(())
}

/// Checks that the properties above cover both kinds of texts, and many of each.
#[test]
fn texts_are_made_that_parse_and_that_do_not() {
    let mut runner = TestRunner::deterministic();
    let mut made =
        |strategy: BoxedStrategy<String>| strategy.new_tree(&mut runner).unwrap().current();
    for strategy in [any_pieces().boxed(), nearly_a_path().boxed()] {
        let texts = (0..2000).map(|_| made(strategy.clone()));
        let parsed = texts.filter(|text| Path::parse(text).is_ok()).count();
        assert!((20..1980).contains(&parsed), "{parsed}");
    }
}
