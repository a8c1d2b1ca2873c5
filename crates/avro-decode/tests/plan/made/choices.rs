//! Dtypes and conversions of a type.

use std::sync::Arc;

use avro_decode::schema::{LogicalType, Node, NodeId};
use avro_decode::{Convert, Schema, TimeUnit, Vocabulary};
use tensor_batch::DType;
use tensor_batch::DType::{
    BFloat16, Bool, Float16, Float32, Float64, Int8, Int16, Int32, Int64, String, UInt8, UInt16,
};

use super::Source;

/// A dtype for values of a type, and the conversion.
pub(super) fn choice(schema: &Schema, ty: NodeId, source: &mut Source) -> (DType, Convert) {
    match source.below(4) {
        0 | 1 => exact(schema, ty, source),
        2 => (source.one_of(casts(schema, ty)), Convert::Cast),
        _ => ids_or_unit(schema, ty, source).unwrap_or_else(|| exact(schema, ty, source)),
    }
}

/// Whether each value of a type is three numbers.
pub(super) fn is_duration(schema: &Schema, ty: NodeId) -> bool {
    schema.logical(ty) == Some(&LogicalType::Duration)
}

fn is_decimal(schema: &Schema, ty: NodeId) -> bool {
    matches!(schema.logical(ty), Some(LogicalType::Decimal { .. }))
}

fn exact(schema: &Schema, ty: NodeId, source: &mut Source) -> (DType, Convert) {
    let dtypes: &[DType] = match schema.node(ty) {
        _ if is_duration(schema, ty) => &[Int64],
        _ if is_decimal(schema, ty) => &[Float64, Int64, String],
        Node::Int => &[Int32],
        Node::Long => &[Int64],
        Node::Float => &[Float32],
        Node::Double => &[Float64],
        Node::Boolean => &[Bool],
        Node::Enum(_) => &[String, Int32],
        _ => &[String],
    };
    (source.one_of(dtypes), Convert::Exact)
}

fn casts(schema: &Schema, ty: NodeId) -> &'static [DType] {
    match schema.node(ty) {
        _ if is_duration(schema, ty) => &[Int64],
        _ if is_decimal(schema, ty) => &[Float64, Float32, Float16, BFloat16],
        // Some values do not fit these dtypes.
        Node::Long => &[
            Int32, Int32, Int32, Float16, BFloat16, Float32, Float64, Bool, Int8, Int16, UInt8,
            UInt16,
        ],
        Node::Int | Node::Boolean => &[
            Int32, Int64, Float16, BFloat16, Float32, Float64, Bool, Int8, Int16, UInt8, UInt16,
        ],
        Node::Float | Node::Double => &[Float16, BFloat16, Float32, Float64, Bool],
        Node::Enum(_) => &[Int64, Int32, String, Int8, UInt8],
        _ => &[String],
    }
}

fn ids_or_unit(schema: &Schema, ty: NodeId, source: &mut Source) -> Option<(DType, Convert)> {
    const UNITS: [TimeUnit; 4] = [
        TimeUnit::Days,
        TimeUnit::Seconds,
        TimeUnit::Millis,
        TimeUnit::Nanos,
    ];
    let is_time = schema.logical(ty).is_some_and(|logical| {
        let name = logical.name();
        name == "date" || name.starts_with("time") || name.starts_with("local")
    });
    if is_time && source.flag() {
        return Some((Int64, Convert::Unit(source.one_of(&UNITS))));
    }
    if is_duration(schema, ty)
        || matches!(schema.node(ty), Node::Float | Node::Double | Node::Boolean)
    {
        return None;
    }
    if source.flag() {
        let buckets = source.one_of(&[1, 7, 1 << 40]);
        return Some((Int64, Convert::HashBuckets(buckets)));
    }
    let words = ["a", "A", "it's", "0", "3"].map(Vec::from);
    let dtype = source.one_of(&[Int64, Int32, Int8, Int16, UInt8, UInt16]);
    let unknown = if matches!(dtype, UInt8 | UInt16) {
        200
    } else {
        -1
    };
    let vocabulary = Vocabulary::new(words, unknown).expect("words that differ");
    Some((dtype, Convert::Vocabulary(Arc::new(vocabulary))))
}
