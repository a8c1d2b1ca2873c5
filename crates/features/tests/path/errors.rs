//! Errors for texts that are not expressions: messages and positions.

use atds_features::limits::{MAX_PATH_BYTES, MAX_PATH_STEPS};
use atds_features::path::{Path, PathError, PathErrorKind as Kind, Reference, Side};

fn refused(text: &str) -> PathError {
    let error = Path::parse(text).unwrap_err();
    assert_eq!(error.expression, text);
    error
}

/// Checks the error. The whole message is `message`, the position and the text.
#[track_caller]
fn assert_refused(text: &str, kind: Kind, offset: usize, message: &str) {
    let error = refused(text);
    assert_eq!((&error.kind, error.offset), (&kind, offset));
    let message = format!("{message} at character {} of '{text}'", error.character());
    assert_eq!(error.to_string(), message);
}

#[test]
fn an_empty_text() {
    let error = refused("");
    assert_eq!((&error.kind, error.offset), (&Kind::Empty, 0));
    assert_eq!(error.to_string(), "the expression is empty");
    assert_eq!(Reference::parse("").unwrap_err(), error);
}

#[test]
fn names_that_are_missing() {
    let name = "expected a field's name";
    let cases = [
        (".a", 0),
        ("a.", 2),
        ("a..b", 2),
        ("a[x.=1]", 4),
        ("a[@=1]", 3),
    ];
    for (text, offset) in cases {
        assert_refused(text, Kind::Expected("a field's name"), offset, name);
    }
    let end = "the end of a slice, or ']'";
    let message = format!("expected {end}");
    assert_refused("a[:b=1]", Kind::Expected(end), 3, &message);
    let error = Reference::parse("@@").unwrap_err();
    let name = "@".to_owned();
    assert_eq!((error.kind, error.offset), (Kind::NeedsQuotes { name }, 1));
    for (text, offset) in [("a:", 2), ("a:.b", 2), ("a[x:=1]", 4)] {
        let kind = Kind::Expected("a type's name");
        assert_refused(text, kind, offset, "expected a type's name");
    }
}

/// The error says how to write the name.
#[test]
fn names_that_need_quotes() {
    for (text, offset, write) in [
        ("é", 0, "'é'"),
        ("9", 0, "'9'"),
        ("3hsp", 0, "'3hsp'"),
        (" a", 0, "' a'"),
        ("@timestamp", 0, "'@timestamp'"),
        ("user-id", 4, "'user-id'"),
        ("user-id.x", 4, "'user-id'"),
        ("a.größe[0]", 4, "'größe'"),
        ("a b", 1, "'a b'"),
        ("first name:int", 5, "'first name'"),
        ("a$b\\", 1, "'a$b\\\\'"),
        ("a.5", 2, "'5'"),
        ("a#2", 1, "'a#2'"),
        ("f:9", 2, "'9'"),
        ("f:x-y.z", 3, "'x-y'"),
        ("e[user-id=5].x", 6, "'user-id'"),
        ("e[größe=@x]", 4, "'größe'"),
        ("e[x=@@y]", 5, "'@y'"),
        ("e[1=@a.b-c]", 8, "'b-c'"),
        ("1.5", 0, "'1.5'"),
        ("a.1.5.2.b", 2, "'1.5.2'"),
        ("1.a", 0, "'1'"),
        ("2.5%[0]", 0, "'2.5%'"),
    ] {
        let error = refused(text);
        assert!(
            matches!(error.kind, Kind::NeedsQuotes { .. }),
            "{text}: {error}"
        );
        let message = format!(
            "a name with characters other than letters, digits and '_' needs quotes: write \
             {write} at character {} of '{text}'",
            error.character()
        );
        assert_eq!((error.offset, error.to_string()), (offset, message));
    }
    for (text, write) in [
        ("a\nb", r"'a\nb'"),
        ("a\n", r"'a\n'"),
        ("\u{1b}[0]", r"'\u{1b}'"),
        ("x\u{7f}.y", r"'x\u{7f}'"),
    ] {
        let message = refused(text).to_string();
        let expected =
            format!("write {write}, with each escape replaced by its character, at character ");
        assert!(message.contains(&expected), "{message}");
    }
    let error = Reference::parse("@@a").unwrap_err();
    assert!(matches!(error.kind, Kind::NeedsQuotes { name } if name == "@a"));
}

#[test]
fn what_is_no_step() {
    let expected = "'.', '[' or ':'";
    for (text, offset) in [("a[0]b", 4), ("a]", 1), ("a'b", 1), ("a=1", 1), ("'a' ", 3)] {
        let kind = Kind::Expected(expected);
        assert_refused(text, kind, offset, &format!("expected {expected}"));
    }
}

#[test]
fn what_is_not_for_brackets() {
    let expected = "an index, a slice, '*', a key in quotes or a filter";
    for (text, offset) in [("a[", 2), ("a[]", 2), ("a[ ?]", 3), ("a[!x]", 2)] {
        let kind = Kind::Expected(expected);
        assert_refused(text, kind, offset, &format!("expected {expected}"));
    }
    for (text, offset) in [("a['k',]", 6), ("a['k', l]", 7), ("a['k','l',", 10)] {
        let expected = "a key in quotes after the ','";
        let kind = Kind::Expected(expected);
        assert_refused(text, kind, offset, &format!("expected {expected}"));
    }
    let not_a_step =
        "expected an index, a slice such as [0:4], a key in quotes, or a filter with '='";
    for text in [
        "a[key]", "a[1.5]", "a[true]", "a[@x.y ]", "a['k'.b]", "a[.'k']",
    ] {
        assert_refused(text, Kind::NotAStep, 2, not_a_step);
    }
}

#[test]
fn slices_that_are_none() {
    for (text, offset, kind, message) in [
        (
            "a[-3]",
            2,
            Kind::NegativeIndex(-3),
            "an index cannot be negative; the slice [-3:] has the last 3 elements",
        ),
        ("a[1:5:2]", 5, Kind::SliceStep, STEP),
        ("a[::2]", 3, Kind::SliceStep, STEP),
        ("a[1:5:]", 5, Kind::SliceStep, STEP),
        ("a[0..4]", 3, Kind::NotASlice, COLON),
        ("a[0,4]", 3, Kind::NotASlice, COLON),
        ("a[0-4]", 3, Kind::NotASlice, COLON),
        (
            "a[1.5:]",
            2,
            Kind::Expected("an integer"),
            "expected an integer",
        ),
        (
            "a[:1e3]",
            3,
            Kind::Expected("an integer"),
            "expected an integer",
        ),
        (
            "a[:+1]",
            3,
            Kind::Expected(END),
            "expected the end of a slice, or ']'",
        ),
        (
            "a[:n]",
            3,
            Kind::Expected(END),
            "expected the end of a slice, or ']'",
        ),
        (
            "a[0:",
            4,
            Kind::Expected(END),
            "expected the end of a slice, or ']'",
        ),
        ("a[0:4", 5, Kind::UnclosedBracket, "expected a closing ']'"),
        (
            "a[0:4.b",
            5,
            Kind::UnclosedBracket,
            "expected a closing ']'",
        ),
        ("a[:-]", 4, Kind::Expected("a digit"), "expected a digit"),
        ("a[9223372036854775808:]", 2, Kind::NumberTooLarge, LARGE),
        ("a[:-9223372036854775809]", 3, Kind::NumberTooLarge, LARGE),
        ("a[x[0:4]=1]", 4, Kind::NotSingle, SINGLE),
        ("a[x[:4]=1]", 4, Kind::NotSingle, SINGLE),
    ] {
        assert_refused(text, kind, offset, message);
    }
}

const STEP: &str = "a slice has no step: [start:end] selects all elements from start to end";
const COLON: &str = "a slice is written with a ':', such as [0:4] or [:4]";
const END: &str = "the end of a slice, or ']'";
const LARGE: &str = "number too large for 64 bits";
const SINGLE: &str = "a side of a filter is a single value: expected an index or a key in quotes";

#[test]
fn brackets_that_do_not_close() {
    let cases = [
        ("a[2.b", 3),
        ("a[2", 3),
        ("a[2 3]", 4),
        ("a[2e]", 3),
        ("a[*", 3),
        ("a[*.b", 3),
        ("a['k'", 5),
        ("a['k','l' 'm']", 10),
        ("a[x=1", 5),
        ("a[x=1.]", 5),
        ("a[x=1 2]", 6),
        ("a[x=y[0", 7),
    ];
    for (text, offset) in cases {
        let message = "expected a closing ']'";
        assert_refused(text, Kind::UnclosedBracket, offset, message);
    }
}

#[test]
fn quotes_that_do_not_close() {
    for (text, offset) in [("m['k", 2), ("m['k\"]", 2), ("m['k\\", 2), ("m['k\\']", 2)] {
        assert_refused(text, Kind::UnclosedQuote, offset, "unclosed quote");
    }
    assert_refused("f:'x", Kind::UnclosedQuote, 2, "unclosed quote");
    assert_refused("a[x='", Kind::UnclosedQuote, 4, "unclosed quote");
}

#[test]
fn escapes_that_there_are_not() {
    let known = r#"(there are '\\', '\'' and '\"')"#;
    let message = format!(r"unknown escape '\n' {known}");
    assert_refused(r"m['a\n']", Kind::BadEscape('n'), 4, &message);

    let error = refused("m['\\\n']");
    assert_eq!(error.kind, Kind::BadEscape('\n'));
    let message = format!("unknown escape '\\\\n' {known} at character 4 of 'm['\\\u{fffd}']'");
    assert_eq!(error.to_string(), message);
}

#[test]
fn numbers_that_are_too_large() {
    let cases = [
        ("a[18446744073709551616]", 2),
        ("a[9223372036854775808=x]", 2),
        ("a[x=9223372036854775808]", 4),
        ("a[x= -9223372036854775809]", 5),
        ("a[x=1e309]", 4),
        ("a[x=y[99999999999999999999]]", 6),
    ];
    for (text, offset) in cases {
        let message = "number too large for 64 bits";
        assert_refused(text, Kind::NumberTooLarge, offset, message);
    }
    let kind = Kind::Expected("a digit");
    assert_refused("a[x=-y]", kind, 5, "expected a digit");
}

#[test]
fn filters_without_a_side() {
    let left = Kind::MissingSide(Side::Left);
    for text in ["a[=1]", "a[=]", "a[==x]"] {
        assert_refused(text, left.clone(), 2, "the filter has no left side");
    }
    let right = Kind::MissingSide(Side::Right);
    for (text, offset) in [("a[x=]", 4), ("a[x= ]", 5), ("a[x=", 4)] {
        let message = "the filter has no right side";
        assert_refused(text, right.clone(), offset, message);
    }
    for (text, offset) in [("a[x=?]", 4), ("a[x=*]", 4), ("a[x=!y]", 4)] {
        let expected = "a path or a constant";
        let kind = Kind::Expected(expected);
        assert_refused(text, kind, offset, &format!("expected {expected}"));
    }
}

#[test]
fn filters_with_other_than_one_equals() {
    for (text, offset) in [("a[x==1]", 4), ("a[x=1=2]", 5), ("a['k'=x = y]", 8)] {
        let message = "the filter has a second '='";
        assert_refused(text, Kind::SecondEquals, offset, message);
    }
    for (text, offset) in [("a[x", 3), ("a[x y]", 4), ("a[x!=1]", 3)] {
        assert_refused(text, Kind::Expected("'='"), offset, "expected '='");
    }
}

#[test]
fn filters_of_constants() {
    for text in ["a[1=1]", "a['k'='v']", "a[true=1.5]"] {
        let message = "both sides of the filter are constants; a field in quotes has a '.' before it: .'name'";
        assert_refused(text, Kind::BothConstant, 2, message);
    }
}

#[test]
fn sides_that_are_not_a_single_value() {
    let cases = [
        ("a[x[*]=1]", 4),
        ("a[x.y[ * ]=1]", 7),
        ("a[1=@x[*].y]", 7),
        ("a[x[y=1]=2]", 4),
        ("a[x['k'=y]=2]", 4),
        ("a[x[0=y]=2]", 4),
        ("a[m[k]=1]", 4),
        ("a[m['k','l']=1]", 4),
        ("a[x[", 4),
    ];
    for (text, offset) in cases {
        let message = "a side of a filter is a single value: expected an index or a key in quotes";
        assert_refused(text, Kind::NotSingle, offset, message);
    }
    // Recursion would overflow the stack.
    let nested = "a[".repeat(MAX_PATH_BYTES / 2);
    assert_eq!(refused(&nested).kind, Kind::NotSingle);
}

#[test]
fn too_many_bytes() {
    let longest = "a".repeat(MAX_PATH_BYTES);
    assert_eq!(Path::parse(&longest).unwrap().to_string(), longest);
    let error = refused(&format!("{longest}a"));
    assert_eq!(
        (&error.kind, error.offset),
        (&Kind::TooLong { bytes: 4097 }, 0)
    );
    assert_eq!(
        error.to_string(),
        "an expression of 4097 bytes, more than 4096"
    );
}

#[test]
fn too_many_bytes_as_it_prints() {
    let quotes = "'".repeat(MAX_PATH_BYTES - 5);
    let kind = refused(&format!("m[\"{quotes}\"]")).kind;
    assert_eq!(
        kind,
        Kind::TooLong {
            bytes: 5 + 2 * quotes.len()
        }
    );
}

#[test]
fn too_many_steps() {
    let most = format!("a{}", "[*]".repeat(MAX_PATH_STEPS - 1));
    assert_eq!(Path::parse(&most).unwrap().steps.len(), MAX_PATH_STEPS);
    let text = format!("{most}.b");
    let offset = most.len();
    assert_refused(&text, Kind::TooManySteps, offset, "more than 64 steps");

    let fields = vec!["x"; MAX_PATH_STEPS].join(".");
    assert!(Path::parse(&format!("a[{fields}=@{fields}]")).is_ok());
    let text = format!("a[1=@{fields}:int]");
    let offset = text.len() - ":int]".len();
    assert_refused(&text, Kind::TooManySteps, offset, "more than 64 steps");
}

#[test]
fn places_are_shown_in_characters() {
    let error = refused("m['é\t'].]");
    assert_eq!((error.offset, error.character()), (9, 9));
    let message = "expected a field's name at character 9 of 'm['é\u{fffd}'].]'";
    assert_eq!(error.to_string(), message);
    assert_eq!(error.pointer(), "m['é\u{fffd}'].]\n        ^");

    let error = refused("a[2");
    assert_eq!(error.pointer(), "a[2\n   ^");
    assert_eq!(refused("").pointer(), "\n^");
}
