//! Features from a schema alone.

mod names;

use tensor_batch::{DType, MAX_RANK, UNKNOWN};

use super::compile::{array_rank, sparse_roles};
use super::sparse::Role;
use crate::feature::Feature;
use crate::limits::{MAX_DECODE_DEPTH, MAX_INFERRED_FIELDS, MAX_NAME_BYTES};
use crate::path::field_step;
use crate::schema::{LogicalType, Node, NodeId, Record, Schema};

/// The features of a schema.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Inferred {
    /// Features, in the order of the schema.
    pub features: Vec<Feature>,
    /// Fields that cannot be a tensor.
    pub left_out: Vec<LeftOut>,
    /// Whether there are more fields than
    /// [`MAX_INFERRED_FIELDS`](crate::limits::MAX_INFERRED_FIELDS), and those
    /// beyond are neither features nor left out.
    pub truncated: bool,
}

/// A field that cannot be a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The [path](crate::path) to the field.
    pub field: String,
    /// Its type.
    pub schema_type: String,
}

/// The features that `schema` has without a look at any data: values are dense
/// scalars, arrays of values varlen, records of the ATDS form sparse with
/// [`UNKNOWN`] dimensions, the fields of other records features of their own by
/// dotted names, in arrays of records and in maps with a `[*]`. Strings, bytes,
/// fixed, enums and uuids are strings, decimals float64.
///
/// Names of fields that are quoted in an expression stand in a feature's name
/// without quotes, `größe.user-id` with the expression `'größe'.'user-id'`, unless
/// two features would have one name.
///
/// A feature whose schema allows a null, anywhere on the way to it, has a mask
/// of its own name with `.mask` behind it. Unions of several types besides null
/// are left out.
///
/// A schema that is not a record has no fields, and so no features.
pub fn infer(schema: &Schema) -> Inferred {
    let mut inferred = Inferred::default();
    if let Node::Record(record) = schema.node(schema.root()) {
        let mut walk = Walk {
            schema,
            inferred: &mut inferred,
            open: vec![schema.root()],
            fields: 0,
        };
        walk.record(record, "", Way::default());
    }
    names::name(&mut inferred.features, schema);
    inferred
}

/// What lies on the way to a field.
#[derive(Clone, Copy, Default)]
struct Way {
    /// Arrays of records, and maps.
    lists: usize,
    /// Whether something may be null.
    nullable: bool,
}

struct Walk<'a> {
    schema: &'a Schema,
    inferred: &'a mut Inferred,
    /// The records being walked, to stop at those that hold themselves.
    open: Vec<NodeId>,
    /// Fields met so far.
    fields: usize,
}

impl Walk<'_> {
    fn record(&mut self, record: &Record, prefix: &str, way: Way) {
        for field in &record.fields {
            // Records that repeat each other's types can have far more fields
            // than the schema has bytes.
            if self.fields == MAX_INFERRED_FIELDS {
                self.inferred.truncated = true;
                return;
            }
            self.fields += 1;
            let path = format!("{prefix}{}", field_step(&field.name));
            if !self.field(&path, field.ty, way) {
                self.inferred.left_out.push(LeftOut {
                    field: path,
                    schema_type: self.schema.describe(field.ty),
                });
            }
        }
    }

    /// Whether a field is a feature, or has features inside.
    fn field(&mut self, path: &str, node: NodeId, way: Way) -> bool {
        if let Some(feature) = self.feature(path, node, way) {
            let mask = format!("{path}.mask");
            let nullable = way.nullable || self.allows_null(node);
            self.inferred.features.push(match nullable {
                true => feature.with_mask(mask),
                false => feature,
            });
            return true;
        }
        let Some((inner, nullable)) = self.not_null(node) else {
            return false;
        };
        let mut way = Way {
            nullable: way.nullable || nullable,
            ..way
        };
        match self.schema.node(inner) {
            Node::Record(record) if self.may_open(inner, path) => {
                self.open.push(inner);
                self.record(record, &format!("{path}."), way);
                self.open.pop();
                true
            }
            // Items without bytes are never read.
            Node::Array(item) if self.schema.is_always_empty(*item) => false,
            Node::Array(item) | Node::Map(item) if way.lists < MAX_RANK => {
                way.lists += 1;
                self.field(&format!("{path}[*]"), *item, way)
            }
            _ => false,
        }
    }

    /// What a type holds besides null, and whether it may hold that.
    fn not_null(&self, node: NodeId) -> Option<(NodeId, bool)> {
        let Node::Union(branches) = self.schema.node(node) else {
            return Some((node, false));
        };
        let is_value = |branch: &NodeId| *self.schema.node(*branch) != Node::Null;
        let mut values = branches.iter().copied().filter(is_value);
        let (value, None) = (values.next()?, values.next()) else {
            return None;
        };
        Some((value, branches.len() > 1))
    }

    /// Whether a record's fields are looked at: not if it holds itself, lies
    /// deeper than anything that can be decoded, or has so long a dotted name
    /// that the names of all fields inside would take far more memory than the
    /// schema.
    fn may_open(&self, record: NodeId, path: &str) -> bool {
        !self.open.contains(&record)
            && self.open.len() < MAX_DECODE_DEPTH
            && path.len() <= MAX_NAME_BYTES
    }

    /// Whether a value of a feature's type can hold a null.
    fn allows_null(&self, node: NodeId) -> bool {
        match self.schema.node(node) {
            Node::Null => true,
            Node::Union(branches) => branches.iter().any(|&branch| self.allows_null(branch)),
            Node::Array(item) => self.allows_null(*item),
            Node::Record(record) => record.fields.iter().any(|field| self.allows_null(field.ty)),
            _ => false,
        }
    }

    fn feature(&self, path: &str, node: NodeId, way: Way) -> Option<Feature> {
        let (arrays, innermost) = array_rank(self.schema, node).ok()?;
        let rank = way.lists + arrays;
        if let Some((dtype, width)) = self.value(innermost) {
            let mut shape = vec![UNKNOWN; rank];
            shape.extend((width > 1).then_some(width as i64));
            if shape.len() > MAX_RANK {
                return None;
            }
            return Some(match rank {
                0 if width > 1 => Feature::dense(path, &[width], dtype),
                0 => Feature::dense(path, &[], dtype),
                _ => Feature::varlen(path, &shape, dtype),
            });
        }
        match self.schema.node(innermost) {
            Node::Record(record) if rank == 0 => self.sparse(path, record),
            _ => None,
        }
    }

    /// The dtype of a value, and how many numbers it is.
    fn value(&self, node: NodeId) -> Option<(DType, usize)> {
        let dtype = match (self.schema.node(node), self.schema.logical(node)) {
            (_, Some(LogicalType::Decimal { .. })) => DType::Float64,
            (_, Some(LogicalType::Duration)) => return Some((DType::Int64, 3)),
            // Nothing bounds how many of them an array has.
            (Node::Fixed(fixed), _) if fixed.size == 0 => return None,
            (Node::Int, _) => DType::Int32,
            (Node::Long, _) => DType::Int64,
            (Node::Float, _) => DType::Float32,
            (Node::Double, _) => DType::Float64,
            (Node::Boolean, _) => DType::Bool,
            (Node::Bytes | Node::String | Node::Fixed(_) | Node::Enum(_), _) => DType::String,
            _ => return None,
        };
        Some((dtype, 1))
    }

    fn sparse(&self, path: &str, record: &Record) -> Option<Feature> {
        let roles = sparse_roles(record).ok()?;
        let mut dtype = None;
        for (field, role) in record.fields.iter().zip(&roles) {
            let (1, item) = array_rank(self.schema, field.ty).ok()? else {
                return None;
            };
            let (values, 1) = self.value(item)? else {
                return None;
            };
            match role {
                Role::Values => dtype = Some(values),
                Role::Indices(_) if matches!(self.schema.node(item), Node::Int | Node::Long) => {}
                Role::Indices(_) => return None,
            }
        }
        let rank = roles.len() - 1;
        if rank > MAX_RANK {
            return None;
        }
        let shape = vec![UNKNOWN; rank];
        Some(Feature::sparse(path, &shape, dtype?))
    }
}
