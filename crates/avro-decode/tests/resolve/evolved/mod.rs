//! Pairs of schemas, made from arbitrary bytes. The reader's schema is the writer's with changes,
//! as schemas change over time.

mod evolver;

use std::num::NonZeroUsize;
use std::sync::Arc;

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{Schema, Value};
use proptest::prelude::*;
use serde_json::Value as Json;

use super::common::{Entropy, schema_json, value_of};

/// Two schemas, and a value of the writer's schema.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) writer: Arc<Schema>,
    pub(crate) writer_json: Json,
    pub(crate) reader: Arc<Schema>,
    pub(crate) reader_json: Json,
    pub(crate) changes: Vec<Change>,
    pub(crate) value: Value,
    pub(crate) data: Vec<u8>,
}

/// A difference of the reader's schema from the writer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Change {
    FieldsReordered,
    FieldDropped,
    FieldAdded,
    FieldRenamed,
    TypeRenamed,
    TypeMoved,
    Promoted,
    Wrapped,
    Unwrapped,
    BranchAdded,
    BranchDropped,
    BranchesReordered,
    SymbolAdded,
    SymbolDropped,
    SymbolsReordered,
    /// A type to which the writer's values cannot be resolved.
    Mismatch,
    FieldAddedWithoutDefault,
}

impl Change {
    pub(crate) const ALL: [Change; 17] = [
        Change::FieldsReordered,
        Change::FieldDropped,
        Change::FieldAdded,
        Change::FieldRenamed,
        Change::TypeRenamed,
        Change::TypeMoved,
        Change::Promoted,
        Change::Wrapped,
        Change::Unwrapped,
        Change::BranchAdded,
        Change::BranchDropped,
        Change::BranchesReordered,
        Change::SymbolAdded,
        Change::SymbolDropped,
        Change::SymbolsReordered,
        Change::Mismatch,
        Change::FieldAddedWithoutDefault,
    ];
}

/// Makes a case. The schema, the changes and the value have bytes of their own.
pub(crate) fn case(schema: Vec<u8>, changes: Vec<u8>, value: Vec<u8>) -> Case {
    let writer_json = schema_json(&mut Entropy::new(schema));
    let parse = |json: &Json| {
        let schema = Schema::parse(&json.to_string());
        Arc::new(schema.expect("the schema was made to be valid"))
    };
    let writer = parse(&writer_json);
    let (reader_json, changes) = evolver::evolve(&writer, Entropy::new(changes));
    let reader = parse(&reader_json);

    let mut entropy = Entropy::new(value);
    let mut encoding = EncodeOptions::default();
    encoding.block_items = NonZeroUsize::new(entropy.below(4));
    encoding.byte_sizes = entropy.below(2) == 1;
    let value = value_of(&writer, writer.root(), &mut entropy);
    let mut data = Vec::new();
    encode(&writer, writer.root(), &value, &mut data, &encoding)
        .expect("the value was made to fit");
    Case {
        writer,
        writer_json,
        reader,
        reader_json,
        changes,
        value,
        data,
    }
}

/// Any case.
pub(crate) fn arb_case() -> impl Strategy<Value = Case> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..400);
    (bytes(), bytes(), bytes()).prop_map(|(schema, changes, value)| case(schema, changes, value))
}

/// `count` cases, always the same ones.
pub(crate) fn cases(count: usize) -> impl Iterator<Item = Case> {
    let mut state = 1u64;
    let mut bytes = move || -> Vec<u8> {
        let byte = |_| {
            // A linear congruential generator (Knuth's MMIX).
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        (0..400).map(byte).collect()
    };
    (0..count).map(move |_| case(bytes(), bytes(), bytes()))
}
