//! Dense features whose dimensions are filled from a single list.

use std::rc::Rc;

use atds_features::feature::{CheckedFeature, FeatureKind};
use atds_features::path::Step;

use super::branches::find_branch;
use super::fields::{FieldIndices, leads_to};
use super::unions::{field_branches, is_several};
use super::values::{array_rank, unwrap_nullable};
use crate::convert::are_octets;
use crate::schema::{LogicalType, Node, NodeId, Schema};

/// The dimensions of a dense or varlen feature's lists: those of its shape. If the feature may be
/// reshaped and the record has a single list for all dimensions, their product.
pub(super) fn list_dims(
    indices: &FieldIndices,
    schema: &Schema,
    checked: &CheckedFeature,
) -> Rc<[Option<usize>]> {
    match one_list(indices, schema, checked) {
        Some(len) => Rc::from([Some(len)]),
        None => checked.shape.as_slice().into(),
    }
}

/// The length of the single list that fills all dimensions; `None` if there is no such list.
fn one_list(indices: &FieldIndices, schema: &Schema, checked: &CheckedFeature) -> Option<usize> {
    let FeatureKind::Dense { reshape: true, .. } = checked.feature.kind else {
        return None;
    };
    let len = checked.shape.iter().copied().product::<Option<usize>>()?;
    if checked.shape.len() < 2 {
        return None;
    }
    if let Some(Step::Keys) = checked.path.steps.last() {
        return (checked.path.lists() == 1).then_some(len);
    }
    // If the schema lacks the value, lists of any length up to `len` are valid.
    let (arrays, is_duration) = match end(indices, schema, &checked.path.steps) {
        Some(end) => {
            let (arrays, innermost) = array_rank(schema, end).ok()?;
            // Bytes that are read as numbers are a list.
            let is_octets = checked.feature.takes_octets() && are_octets((schema, innermost));
            let arrays = arrays + usize::from(is_octets);
            // The three numbers of a duration are a list too.
            let is_duration = schema.logical(innermost) == Some(&LogicalType::Duration);
            (arrays, is_duration)
        }
        None => (0, false),
    };
    let is_one = checked.path.lists() + arrays == 1 && !is_duration;
    is_one.then_some(len)
}

/// The type that steps from the root lead to; `None` if the schema lacks it.
fn end(indices: &FieldIndices, schema: &Schema, mut steps: &[Step]) -> Option<NodeId> {
    let mut node = schema.root();
    while let [step, rest @ ..] = steps {
        let mut behind = rest;
        node = match (schema.node(node), step) {
            (Node::Union(branches), Step::Branch(name)) => {
                branches[find_branch(schema, branches, name).ok()?]
            }
            (Node::Union(branches), Step::Field(_)) if is_several(schema, branches) => {
                behind = steps;
                let union = (node, branches.as_slice());
                let found = field_branches(indices, schema, union, steps, "").ok()?;
                branches[found[0]]
            }
            (Node::Union(_), _) => {
                behind = steps;
                unwrap_nullable(schema, node).ok()?
            }
            (_, Step::Branch(_)) => node,
            (Node::Array(item) | Node::Map(item), _) => *item,
            (Node::Record(record), _) => {
                let index = |name: &str| indices.index(schema, node, name);
                let (field, after) = leads_to(&record.name, index, steps)?;
                behind = after;
                record.fields[field].ty
            }
            _ => return None,
        };
        steps = behind;
    }
    Some(node)
}
