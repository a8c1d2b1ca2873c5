//! Random paths, and random texts that are nearly paths.

use atds_features::path::{Constant, Filter, Operand, Path, Reference, Slice, Step};
use proptest::prelude::*;
use proptest::sample::select;

/// Any path of the grammar, short enough for the limits.
pub(crate) fn any_path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![
        4 => any_value_step(),
        1 => Just(Step::All),
        1 => any_slice().prop_map(Step::Slice),
        1 => some_keys(),
        1 => Just(Step::Keys),
        1 => any_filter().prop_map(Step::Filter),
    ];
    let first = prop_oneof![
        4 => any_name().prop_map(Step::Field),
        1 => Just(Step::All),
        1 => any_slice().prop_map(Step::Slice),
        1 => some_keys(),
        1 => Just(Step::Keys),
        1 => any::<String>().prop_map(Step::Key),
        1 => any_name().prop_map(Step::Branch),
        1 => any_filter().prop_map(Step::Filter),
    ];
    prop_oneof![
        1 => Just(Path { steps: Vec::new() }),
        20 => path_of(first, step, 5),
    ]
}

pub(crate) fn any_reference() -> impl Strategy<Value = Reference> {
    let parts = (any::<bool>(), any_path());
    parts.prop_map(|(from_root, path)| Reference {
        // A path without steps is `@`, which starts at the root.
        from_root: from_root || path.steps.is_empty(),
        path,
    })
}

/// Pieces of expressions in any order.
pub(crate) fn any_pieces() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "a", "x1", "true", ".", "[", "]", "[*]", "*", "=", "@", ":", "'", "\"", "'k'", ",", "\\",
        " ", "0", "2", "-", "[:", ":2]", "[1:3]", "1.5", "e", "é", "\n", ".keys()", "keys", "(",
    ];
    prop::collection::vec(select(PIECES), 0..20).prop_map(|pieces| pieces.concat())
}

/// Expressions with a character removed or replaced.
pub(crate) fn nearly_a_path() -> impl Strategy<Value = String> {
    let other = prop_oneof![
        select(b"[]*=@:,.'\"\\ 1-a".as_slice()).prop_map(char::from),
        any::<char>()
    ];
    let change = (any::<prop::sample::Index>(), any::<bool>(), other);
    (any_path(), change).prop_map(|(path, (at, take_out, other))| {
        let mut chars: Vec<char> = path.to_string().chars().collect();
        let at = at.index(chars.len());
        if take_out {
            chars.remove(at);
        } else {
            chars.insert(at, other);
        }
        chars.into_iter().collect()
    })
}

fn path_of(
    first: impl Strategy<Value = Step>,
    step: impl Strategy<Value = Step>,
    most_after_first: usize,
) -> impl Strategy<Value = Path> {
    let parts = (first, prop::collection::vec(step, 0..=most_after_first));
    parts.prop_map(|(first, more)| {
        let mut steps = vec![first];
        steps.extend(more);
        Path { steps }
    })
}

/// A step to a single value.
fn any_value_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any_name().prop_map(Step::Field),
        any::<u64>().prop_map(Step::Index),
        any::<String>().prop_map(Step::Key),
        any_name().prop_map(Step::Branch),
    ]
}

fn some_keys() -> impl Strategy<Value = Step> {
    prop::collection::vec(any::<String>(), 2..4).prop_map(Step::SomeKeys)
}

fn any_slice() -> impl Strategy<Value = Slice> {
    let bound = || {
        prop_oneof![
            Just(None),
            any::<i64>().prop_map(Some),
            (-9..9i64).prop_map(Some)
        ]
    };
    (bound(), bound()).prop_map(|(start, end)| Slice { start, end })
}

fn any_filter() -> impl Strategy<Value = Filter> {
    let sides = (any_operand(), any_operand());
    let one_is_a_path = |(left, right): &(Operand, Operand)| {
        !matches!((left, right), (Operand::Constant(_), Operand::Constant(_)))
    };
    sides
        .prop_filter("two constants", one_is_a_path)
        .prop_map(|(left, right)| Filter { left, right })
}

fn any_operand() -> impl Strategy<Value = Operand> {
    let field = || any_name().prop_map(Step::Field);
    prop_oneof![
        path_of(field(), any_value_step(), 2).prop_map(Operand::Element),
        path_of(any_value_step(), any_value_step(), 2).prop_map(Operand::Root),
        any_constant().prop_map(Operand::Constant),
    ]
}

fn any_constant() -> impl Strategy<Value = Constant> {
    use prop::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop_oneof![
        any::<String>().prop_map(Constant::String),
        any::<i64>().prop_map(Constant::Integer),
        (POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO).prop_map(Constant::Float),
        (-1000i32..1000).prop_map(|n| Constant::Float(f64::from(n) / 8.0)),
        any::<bool>().prop_map(Constant::Boolean),
    ]
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-Za-z_][A-Za-z0-9_]{0,8}",
        1 => "true|false",
        2 => any::<String>(),
    ]
}
