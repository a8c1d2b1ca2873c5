//! Features from a schema alone.

use tensor_batch::{ColumnSpec, MAX_RANK, UNKNOWN};

use super::compile::{array_rank, leaf_of, sparse_roles, unwrap_nullable};
use super::describe::describe;
use super::nested::Leaf;
use super::sparse::Role;
use crate::limits::{MAX_DECODE_DEPTH, MAX_INFERRED_FIELDS, MAX_NAME_BYTES};
use crate::schema::{Node, NodeId, Record, Schema};

/// The features of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inferred {
    /// Columns, in the order of the schema.
    pub columns: Vec<ColumnSpec>,
    /// The columns whose schema allows a null, which they have no place for: in
    /// the field itself, around a record it is in, or in an item.
    pub nullable: Vec<LeftOut>,
    /// Fields that cannot be a tensor.
    pub left_out: Vec<LeftOut>,
    /// Whether there are more fields than
    /// [`MAX_INFERRED_FIELDS`](crate::limits::MAX_INFERRED_FIELDS), and those
    /// beyond are neither columns nor left out.
    pub truncated: bool,
}

/// A field that cannot be a tensor, or not whatever it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The field, dotted.
    pub field: String,
    /// Its type.
    pub schema_type: String,
}

/// The features that `schema` has without a look at any data: primitives are
/// dense scalars, arrays of primitives varlen, records of the ATDS form sparse
/// with [`UNKNOWN`] dimensions, the fields of other records features of their
/// own by dotted names. A union with null counts as what else it holds, and is
/// also listed as nullable.
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
            nullable: None,
        };
        walk.record(record, "");
    }
    inferred
}

struct Walk<'a> {
    schema: &'a Schema,
    inferred: &'a mut Inferred,
    /// The records being walked, to stop at those that hold themselves.
    open: Vec<NodeId>,
    /// Fields met so far.
    fields: usize,
    /// The outermost of the records being walked that may be null.
    nullable: Option<NodeId>,
}

impl Walk<'_> {
    fn record(&mut self, record: &Record, prefix: &str) {
        for field in &record.fields {
            // Records that repeat each other's types can have far more fields
            // than the schema has bytes.
            if self.fields == MAX_INFERRED_FIELDS {
                self.inferred.truncated = true;
                return;
            }
            self.fields += 1;
            let path = format!("{prefix}{}", field.name);
            self.field(path, field.ty);
        }
    }

    fn field(&mut self, path: String, node: NodeId) {
        if let Some(column) = self.column(&path, node) {
            let null_at = self.nullable.or(self.allows_null(node).then_some(node));
            if let Some(node) = null_at {
                self.inferred.nullable.push(LeftOut {
                    field: path,
                    schema_type: describe(self.schema, node),
                });
            }
            self.inferred.columns.push(column);
            return;
        }
        if let Ok((_, inner)) = unwrap_nullable(self.schema, node)
            && let Node::Record(record) = self.schema.node(inner)
            && self.may_open(inner, &path)
        {
            let around = self.nullable;
            let here = self.is_null_union(node).then_some(node);
            self.nullable = around.or(here);
            self.open.push(inner);
            self.record(record, &format!("{path}."));
            self.open.pop();
            self.nullable = around;
            return;
        }
        self.inferred.left_out.push(LeftOut {
            field: path,
            schema_type: describe(self.schema, node),
        });
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

    /// Whether a value of a column's type can hold a null.
    fn allows_null(&self, node: NodeId) -> bool {
        match self.schema.node(node) {
            Node::Union(_) if self.is_null_union(node) => true,
            Node::Union(branches) => branches.iter().any(|&branch| self.allows_null(branch)),
            Node::Array(item) => self.allows_null(*item),
            Node::Record(record) => record.fields.iter().any(|field| self.allows_null(field.ty)),
            _ => false,
        }
    }

    fn is_null_union(&self, node: NodeId) -> bool {
        let is_null = |&branch: &NodeId| matches!(self.schema.node(branch), Node::Null);
        matches!(self.schema.node(node), Node::Union(branches) if branches.iter().any(is_null))
    }

    fn column(&self, path: &str, node: NodeId) -> Option<ColumnSpec> {
        let (rank, innermost) = array_rank(self.schema, node).ok()?;
        if rank > MAX_RANK {
            return None;
        }
        if let Some(leaf) = leaf_of(self.schema.node(innermost)) {
            let dtype = leaf.dtype();
            return Some(match rank {
                0 => ColumnSpec::dense(path, &[], dtype),
                rank => ColumnSpec::varlen(path, &vec![UNKNOWN; rank], dtype),
            });
        }
        match self.schema.node(innermost) {
            Node::Record(record) if rank == 0 => self.sparse(path, record),
            _ => None,
        }
    }

    fn sparse(&self, path: &str, record: &Record) -> Option<ColumnSpec> {
        let roles = sparse_roles(record).ok()?;
        let mut dtype = None;
        for (field, role) in record.fields.iter().zip(&roles) {
            let (1, item) = array_rank(self.schema, field.ty).ok()? else {
                return None;
            };
            let leaf = leaf_of(self.schema.node(item))?;
            match role {
                Role::Values => dtype = Some(leaf.dtype()),
                Role::Indices(_) if matches!(leaf, Leaf::Int | Leaf::Long) => {}
                Role::Indices(_) => return None,
            }
        }
        let rank = roles.len() - 1;
        if rank > MAX_RANK {
            return None;
        }
        let shape = vec![UNKNOWN; rank];
        Some(ColumnSpec::sparse(path, &shape, dtype?))
    }
}
