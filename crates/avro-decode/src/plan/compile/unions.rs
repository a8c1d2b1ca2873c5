//! Unions of several types for which an expression names no branch.

use atds_features::Convert;
use atds_features::path::{Path, Step};
use tensor_batch::DType;

use super::fields::{FieldIndices, leads_to};
use super::request::{Request, Target};
use super::values::unwrap_nullable;
use crate::convert::ConvertError;
use crate::paths::branch_names;
use crate::plan::PlanErrorKind;
use crate::schema::{LogicalType, Node, NodeId, Schema};

/// The common type of a union with several types besides null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) enum Joined {
    /// Numbers, with the dtype that holds all of them: int64, or float64 if one type is a float.
    Number(DType),
    /// Strings, or strings and numbers; the numbers become text.
    Text,
    /// Bytes, which need not be text.
    Bytes,
}

/// The common type of a union's values; `None` if no dtype can hold all of them.
pub(in crate::plan) fn joined(schema: &Schema, branches: &[NodeId]) -> Option<Joined> {
    let (mut integers, mut floats, mut texts, mut uuids, mut bytes) = (0, 0, 0, 0, 0);
    for &branch in branches {
        let logical = schema.logical(branch);
        let is_uuid = logical == Some(&LogicalType::Uuid);
        let is_time = logical.and_then(LogicalType::time).is_some();
        let is_number = matches!(
            logical,
            Some(LogicalType::Decimal { .. } | LogicalType::Duration)
        );
        match schema.node(branch) {
            Node::Null => {}
            Node::Int | Node::Long if !is_time => integers += 1,
            Node::Float | Node::Double => floats += 1,
            Node::String | Node::Enum(_) => texts += 1,
            Node::Fixed(_) if is_uuid => uuids += 1,
            Node::Fixed(fixed) if !is_number && fixed.size > 0 => bytes += 1,
            Node::Bytes if !is_number => bytes += 1,
            _ => return None,
        }
    }
    match (integers, floats, texts + uuids, bytes) {
        (_, 0, 0, 0) => Some(Joined::Number(DType::Int64)),
        (_, _, 0, 0) => Some(Joined::Number(DType::Float64)),
        (_, _, _, 0) => Some(Joined::Text),
        // A UUID has a text form that differs from its bytes, so it does not join bytes.
        (0, 0, _, _) if uuids == 0 => Some(Joined::Bytes),
        _ => None,
    }
}

/// Whether a union has several types besides null.
pub(in crate::plan) fn is_several(schema: &Schema, branches: &[NodeId]) -> bool {
    let is_value = |&&branch: &&NodeId| *schema.node(branch) != Node::Null;
    branches.iter().filter(is_value).count() > 1
}

/// Checks whether a request's expression can end at a union of several types.
///
/// # Errors
/// If it cannot, or not with the request's dtype.
pub(super) fn check_joined(
    schema: &Schema,
    union: NodeId,
    branches: &[NodeId],
    request: &Request<'_>,
) -> Result<(), PlanErrorKind> {
    let no_value = || {
        let union = schema.describe(union);
        PlanErrorKind::Union { union }
    };
    let all = |is: &dyn Fn(NodeId) -> bool| {
        let mut values = branches
            .iter()
            .copied()
            .filter(|&branch| *schema.node(branch) != Node::Null);
        values.all(is).then_some(()).ok_or_else(no_value)
    };
    match request.target {
        Target::Values(_) | Target::Value(_) => {}
        Target::Index(..) => {
            return all(&|branch| matches!(schema.node(branch), Node::Int | Node::Long));
        }
        _ => return Err(no_value()),
    }
    let feature = &request.checked.feature;
    if !matches!(feature.convert, Convert::Exact | Convert::Cast) {
        // Each branch is converted to an id or a unit separately.
        return all(&|branch| {
            schema.logical(branch) != Some(&LogicalType::Duration)
                && !matches!(
                    schema.node(branch),
                    Node::Array(_) | Node::Map(_) | Node::Record(_)
                )
        });
    }
    let expected = match joined(schema, branches).ok_or_else(no_value)? {
        Joined::Number(dtype) => dtype,
        Joined::Text | Joined::Bytes => DType::String,
    };
    let asked = feature.dtype;
    let castable = match (expected, asked) {
        (DType::String, _) | (_, DType::String) => false,
        // A float is never cast to an integer.
        (DType::Float64, asked) if asked.is_integer() => false,
        _ => true,
    };
    if expected == asked || (castable && feature.convert == Convert::Cast) {
        return Ok(());
    }
    Err(PlanErrorKind::Convert(ConvertError::DType {
        schema_type: schema.describe(union),
        convert: feature.convert.clone(),
        expected: [expected].into(),
        asked,
        castable: castable && feature.convert == Convert::Exact,
    }))
}

/// The branches of a union that a step to a field leads through: the records that have the field.
/// All of them must give the field the same type.
///
/// # Errors
/// If no record has the field, or several have it with different types.
pub(super) fn field_branches(
    indices: &FieldIndices,
    schema: &Schema,
    (union, branches): (NodeId, &[NodeId]),
    steps: &[Step],
    at: &str,
) -> Result<Vec<usize>, PlanErrorKind> {
    let mut found: Vec<usize> = Vec::new();
    let mut first: Option<NodeId> = None;
    let mut agree = true;
    for (number, &branch) in branches.iter().enumerate() {
        let Node::Record(record) = schema.node(branch) else {
            continue;
        };
        let index = |name: &str| indices.index(schema, branch, name);
        if let Some((field, _)) = leads_to(&record.name, index, steps) {
            let ty = record.fields[field].ty;
            agree &= is_same_type(schema, *first.get_or_insert(ty), ty);
            found.push(number);
        }
    }
    if found.is_empty() {
        return Err(no_branch(schema, union, branches, steps, at));
    }
    if agree {
        return Ok(found);
    }
    let names = branch_names(schema, branches);
    let expressions = found.into_iter().map(|branch| {
        let name = names[branch].clone();
        let mut path = Path {
            steps: vec![Step::Branch(name)],
        };
        path.steps.extend_from_slice(steps);
        format!("{at}{path}")
    });
    Err(PlanErrorKind::SeveralBranches {
        union: schema.describe(union),
        expressions: expressions.collect(),
    })
}

/// Maximum number of fields listed in the error for a missing field.
const MAX_FIELDS: usize = 64;

#[cold]
fn no_branch(
    schema: &Schema,
    union: NodeId,
    branches: &[NodeId],
    steps: &[Step],
    at: &str,
) -> PlanErrorKind {
    let mut expressions = Vec::new();
    for (&branch, name) in branches.iter().zip(branch_names(schema, branches)) {
        if let Node::Record(record) = schema.node(branch) {
            for field in record.fields.iter().take(MAX_FIELDS - expressions.len()) {
                let path = Path {
                    steps: vec![Step::Branch(name.clone()), Step::Field(field.name.clone())],
                };
                expressions.push(format!("{at}{path}"));
            }
        }
    }
    let union = schema.describe(union);
    match (expressions.is_empty(), steps) {
        (false, [Step::Field(field), ..]) => PlanErrorKind::NoBranchHasField {
            field: field.clone(),
            union,
            expressions,
        },
        _ => PlanErrorKind::Union { union },
    }
}

/// Whether two types are the same, apart from null.
fn is_same_type(schema: &Schema, left: NodeId, right: NodeId) -> bool {
    let unwrap = |node| unwrap_nullable(schema, node).unwrap_or(node);
    let (left, right) = (unwrap(left), unwrap(right));
    if left == right {
        return true;
    }
    let is_same = |left, right| is_same_type(schema, left, right);
    schema.logical(left) == schema.logical(right)
        && match (schema.node(left), schema.node(right)) {
            (&Node::Array(left), &Node::Array(right)) | (&Node::Map(left), &Node::Map(right)) => {
                is_same(left, right)
            }
            (Node::Union(left), Node::Union(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right)
                        .all(|(&left, &right)| is_same(left, right))
            }
            (Node::Enum(left), Node::Enum(right)) => left.symbols == right.symbols,
            (Node::Fixed(left), Node::Fixed(right)) => left.size == right.size,
            // Record types have different names.
            (Node::Record(_), _) => false,
            (left, right) => left == right,
        }
}
