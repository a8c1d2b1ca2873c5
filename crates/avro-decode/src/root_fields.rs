//! The fields of a schema's root record, which a feature's name may mean.

use std::borrow::Cow;

use atds_features::Features;
use atds_features::feature::CheckedFeature;

use crate::schema::{Field, Node, NodeId, Schema};

/// The features for the data of `schema`. The name of a feature without an expression is a field of
/// the root, if there is such a field, and an expression otherwise.
pub(crate) fn of_schema<'a>(features: &'a Features, schema: &Schema) -> Cow<'a, [CheckedFeature]> {
    features.for_fields(root_fields(schema).iter().map(|field| &*field.name))
}

/// The fields of the root record. A union at the root may hold one record.
pub(crate) fn root_fields(schema: &Schema) -> &[Field] {
    let record = |id: &NodeId| match schema.node(*id) {
        Node::Record(record) => Some(&*record.fields),
        _ => None,
    };
    match schema.node(schema.root()) {
        Node::Union(branches) => {
            let mut records = branches.iter().filter_map(record);
            match (records.next(), records.next()) {
                (Some(fields), None) => fields,
                _ => &[],
            }
        }
        _ => record(&schema.root()).unwrap_or_default(),
    }
}
