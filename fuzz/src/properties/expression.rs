//! Path expressions.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use atds_features::limits::MAX_PATH_BYTES;
use atds_features::path::{Path, PathError, Reference, Step, field_step};

/// See [`EXPRESSION`](super::EXPRESSION).
pub(super) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let field = Path {
        steps: vec![Step::Field(text.clone().into_owned())],
    };
    if field_step(&text).len() <= MAX_PATH_BYTES {
        assert_eq!(Path::parse(&field_step(&text)).as_ref(), Ok(&field));
    }
    let path = check_as::<Path>(&text);
    let reference = check_as::<Reference>(&text);
    if let Some(path) = path {
        // A path without steps is the value of the root.
        let from_root = path.steps.is_empty();
        assert_eq!(reference, Some(Reference { from_root, path }));
    }
}

fn check_as<T>(text: &str) -> Option<T>
where
    T: FromStr<Err = PathError> + Display + Debug + PartialEq,
{
    match text.parse::<T>() {
        Ok(parsed) => {
            let printed = parsed.to_string();
            assert_eq!(printed.parse().as_ref(), Ok(&parsed));
            Some(parsed)
        }
        Err(error) => {
            check_error(&error, text);
            None
        }
    }
}

fn check_error(error: &PathError, text: &str) {
    assert_eq!(error.expression, text);
    let before = text.get(..error.offset).expect("a character's start");
    assert_eq!(error.character(), before.chars().count() + 1);
    assert_eq!(error.to_string().lines().count(), 1);
    assert!(error.pointer().ends_with('^'));
}
