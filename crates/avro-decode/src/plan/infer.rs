//! Infers features from a schema alone.

mod left_out;
mod names;

use atds_features::feature::Feature;
use atds_features::path::field_step;
use tensor_batch::{DType, MAX_RANK, UNKNOWN};

use super::compile::unions::{Joined, is_several, joined};
use super::compile::{array_rank, sparse_roles};
use super::sparse::Role;
use crate::limits::{
    MAX_DECODE_DEPTH, MAX_INFERRED_FIELDS, MAX_NAME_BYTES, MAX_PATH_BYTES, MAX_PATH_STEPS,
};
use crate::paths::branch_names;
use crate::schema::{LogicalType, Node, NodeId, Record, Schema, SchemaError};

pub use left_out::{LeftOut, LeftOutReason, Rounded};

/// The features inferred from a schema.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Inferred {
    /// Features, in the order of the schema.
    pub features: Vec<Feature>,
    /// The names of string features whose values are bytes, which need not be text.
    pub binary: Vec<String>,
    /// Values that no feature reads.
    pub left_out: Vec<LeftOut>,
    /// Values that their feature reads inexactly.
    pub rounded: Vec<Rounded>,
    /// Invalid logical types in the schema. Their values are read as the underlying type.
    pub not_taken: Vec<SchemaError>,
    /// Dense features whose shape was found in a sample of records. [`infer`] reads no data, so it
    /// leaves this empty.
    pub sampled: Vec<Sampled>,
    /// Whether there are more fields than
    /// [`MAX_INFERRED_FIELDS`](crate::limits::MAX_INFERRED_FIELDS). Fields beyond the limit are
    /// neither in `features` nor in `left_out`.
    pub truncated: bool,
}

/// A dense feature whose shape is common to all records of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sampled {
    /// The name of the feature.
    pub feature: String,
    /// Its expression.
    pub expression: String,
    /// Number of records in the sample.
    pub records: u64,
}

impl Sampled {
    /// The feature `feature` at `expression`, found in a sample of `records` records.
    pub fn new(feature: impl Into<String>, expression: impl Into<String>, records: u64) -> Self {
        Sampled {
            feature: feature.into(),
            expression: expression.into(),
            records,
        }
    }
}

/// The features that follow from `schema` alone, without reading data.
///
/// | type | feature |
/// |---|---|
/// | a number, a boolean, a date, a time | dense, of its dtype |
/// | string, bytes, fixed, enum, uuid | dense, string |
/// | decimal | dense, int64 for scale 0, otherwise float64, which is [`rounded`](Inferred::rounded) |
/// | array of any of these | varlen |
/// | map `m` | varlen of its keys, `m.keys()`, and the features of its values, by `m[*]` |
/// | record of the ATDS form | sparse, with [`UNKNOWN`] dimensions |
/// | other records | the features of the fields, by dotted names; in an array by `[*]` |
/// | union with null | the feature of the other type, with a mask |
/// | union of numbers | int64, or float64 if one of them is a float |
/// | union of strings, or of strings and numbers | string |
/// | union of several other types | the features of each type, by `:type`, with masks |
///
/// If an expression quotes the names of fields, the feature's name is without quotes:
/// `größe.user-id` for the expression `'größe'.'user-id'`. If two features would then have one
/// name, they keep the quotes.
///
/// A feature gets a mask if its schema allows a missing value anywhere on its path. The mask's name
/// is the feature's name with `.mask` after it. The value of a schema that is not a record is `@`.
pub fn infer(schema: &Schema) -> Inferred {
    let mut inferred = Inferred {
        not_taken: schema.logical_types_not_taken().to_vec(),
        ..Inferred::default()
    };
    let mut inference = Inference {
        schema,
        inferred: &mut inferred,
        open: Vec::new(),
        fields: 0,
        most_fields: MAX_INFERRED_FIELDS,
        is_example: false,
        binary: Vec::new(),
    };
    inference.value("", schema.root(), PathInfo::default());
    let binary = inference.binary;
    names::name(&mut inferred.features, schema);
    let names = binary
        .into_iter()
        .map(|index| &inferred.features[index].name);
    inferred.binary = names.cloned().collect();
    inferred
}

/// Properties of the path to a value.
#[derive(Clone, Copy, Default)]
struct PathInfo {
    /// Number of steps of the expression.
    steps: usize,
    /// Number of arrays of records, and of maps.
    lists: usize,
    /// Whether a value on the path may be missing.
    nullable: bool,
}

impl PathInfo {
    fn step(self) -> PathInfo {
        let steps = self.steps + 1;
        PathInfo { steps, ..self }
    }

    fn list(self) -> PathInfo {
        let lists = self.lists + 1;
        PathInfo { lists, ..self }.step()
    }

    fn or_missing(self) -> PathInfo {
        let nullable = true;
        PathInfo { nullable, ..self }
    }
}

struct Inference<'a> {
    schema: &'a Schema,
    inferred: &'a mut Inferred,
    /// The enclosing records, to stop at a record inside itself.
    open: Vec<NodeId>,
    /// Number of fields, branches and keys visited so far.
    fields: usize,
    most_fields: usize,
    /// Whether to stop after one feature, the example of how to read a value that is left out.
    is_example: bool,
    /// The indices of the features whose strings are bytes.
    binary: Vec<usize>,
}

impl Inference<'_> {
    /// Adds the features of a value.
    fn value(&mut self, path: &str, node: NodeId, info: PathInfo) {
        if info.steps > MAX_PATH_STEPS || path.len() > MAX_PATH_BYTES {
            return self.leave_out(path, node, LeftOutReason::TooDeep, None);
        }
        if self.feature(path, node, info) {
            return;
        }
        match self.schema.node(node) {
            Node::Null => self.leave_out(path, node, LeftOutReason::NoValue, None),
            Node::Union(branches) => self.union(path, node, branches, info),
            Node::Record(record) => self.record(path, node, record, info),
            // Nothing bounds the number of such items in an array.
            Node::Array(item) if self.schema.is_always_empty(*item) => {
                self.leave_out(path, node, LeftOutReason::EmptyItems, None);
            }
            Node::Array(item) => self.list(path, node, *item, info),
            Node::Map(item) => {
                if info.lists < MAX_RANK && self.counts() {
                    let keys = format!("{path}.keys()");
                    let feature =
                        Feature::varlen(&keys, &vec![UNKNOWN; info.lists + 1], DType::String);
                    self.push(feature, info.nullable);
                }
                self.list(path, node, *item, info);
            }
            // A fixed without bytes.
            _ => self.leave_out(path, node, LeftOutReason::NoValue, None),
        }
    }

    /// Adds the features of a union whose branches have no common dtype.
    fn union(&mut self, path: &str, node: NodeId, branches: &[NodeId], info: PathInfo) {
        let is_value = |branch: &NodeId| *self.schema.node(*branch) != Node::Null;
        let values: Vec<NodeId> = branches.iter().copied().filter(is_value).collect();
        match *values {
            [] => self.leave_out(path, node, LeftOutReason::NoValue, None),
            [value] if values.len() == branches.len() => self.value(path, value, info),
            [value] => self.value(path, value, info.or_missing()),
            _ => {
                for (&value, name) in branches.iter().zip(branch_names(self.schema, branches)) {
                    if !is_value(&value) {
                        continue;
                    }
                    if !self.counts() {
                        return;
                    }
                    let path = format!("{path}:{}", field_step(&name));
                    self.value(&path, value, info.step().or_missing());
                }
            }
        }
    }

    /// Adds the features of a record's fields.
    fn record(&mut self, path: &str, node: NodeId, record: &Record, info: PathInfo) {
        if self.open.contains(&node) {
            let example = self.example(path, node, info);
            return self.leave_out(path, node, LeftOutReason::Recursive, example);
        }
        // With a long path, the names of all fields below it would take far more memory than the
        // schema.
        if self.open.len() >= MAX_DECODE_DEPTH || path.len() > MAX_NAME_BYTES {
            return self.leave_out(path, node, LeftOutReason::TooDeep, None);
        }
        if record.fields.is_empty() {
            return self.leave_out(path, node, LeftOutReason::NoValue, None);
        }
        self.open.push(node);
        for field in &record.fields {
            if !self.counts() {
                break;
            }
            let step = field_step(&field.name);
            let path = match path {
                "" => step.into_owned(),
                path => format!("{path}.{step}"),
            };
            self.value(&path, field.ty, info.step());
        }
        self.open.pop();
    }

    /// Adds the features of the elements of an array or a map.
    fn list(&mut self, path: &str, node: NodeId, item: NodeId, info: PathInfo) {
        if info.lists < MAX_RANK {
            return self.value(&format!("{path}[*]"), item, info.list());
        }
        let first = (matches!(self.schema.node(node), Node::Array(_)))
            .then(|| (format!("{path}[0]"), info.step().or_missing()));
        match first {
            Some((path, info)) if self.is_example => self.value(&path, item, info),
            first => {
                let example = first.and_then(|(path, info)| self.example(&path, item, info));
                self.leave_out(path, node, LeftOutReason::TooManyDimensions, example);
            }
        }
    }

    /// Counts a field, a branch or a map's keys; returns false if the limit is reached.
    fn counts(&mut self) -> bool {
        // Records that repeat each other's types can have far more fields than the schema has
        // bytes.
        if self.fields == self.most_fields {
            self.inferred.truncated = true;
            return false;
        }
        self.fields += 1;
        !self.is_example || self.inferred.features.is_empty()
    }

    fn push(&mut self, feature: Feature, nullable: bool) {
        let mask = format!("{}.mask", feature.name);
        self.inferred.features.push(if nullable {
            feature.with_mask(mask)
        } else {
            feature
        });
    }

    fn leave_out(
        &mut self,
        path: &str,
        node: NodeId,
        reason: LeftOutReason,
        read_with: Option<Feature>,
    ) {
        let field = name_of(path).to_owned();
        self.inferred.left_out.push(LeftOut {
            field,
            schema_type: self.schema.describe(node),
            reason,
            read_with,
        });
    }

    /// A feature that reads a part of a value that is left out.
    fn example(&self, path: &str, node: NodeId, info: PathInfo) -> Option<Feature> {
        /// Maximum number of fields searched for the example.
        const MOST_FIELDS: usize = 64;
        if self.is_example {
            return None;
        }
        let mut inferred = Inferred::default();
        let mut inference = Inference {
            schema: self.schema,
            inferred: &mut inferred,
            open: Vec::new(),
            fields: 0,
            most_fields: MOST_FIELDS,
            is_example: true,
            binary: Vec::new(),
        };
        inference.value(path, node, info);
        inferred.features.into_iter().next()
    }

    /// Adds the feature of a whole value; returns false if the value is not one feature.
    fn feature(&mut self, path: &str, node: NodeId, info: PathInfo) -> bool {
        let name = name_of(path);
        let Ok((arrays, innermost)) = array_rank(self.schema, node) else {
            return false;
        };
        let rank = info.lists + arrays;
        let Some(value) = self.element(innermost) else {
            // A sparse record at the root is a record, not a field.
            if let (Node::Record(record), 0) = (self.schema.node(innermost), rank)
                && !path.is_empty()
                && let Some((feature, item, value)) = self.sparse(name, record)
            {
                self.note(name, format!("{path}.values[*]"), item, &value);
                let nullable = info.nullable || self.allows_null(node);
                self.push(feature, nullable);
                return true;
            }
            return false;
        };
        let mut shape = vec![UNKNOWN; rank];
        shape.extend((value.width > 1).then_some(value.width as i64));
        if shape.len() > MAX_RANK {
            if arrays == 0 {
                let reason = LeftOutReason::TooManyDimensions;
                self.leave_out(path, node, reason, None);
            }
            // Otherwise the arrays are read one dimension at a time.
            return arrays == 0;
        }
        let feature = match rank {
            0 if value.width > 1 => Feature::dense(name, &[value.width], value.dtype),
            0 => Feature::dense(name, &[], value.dtype),
            _ => Feature::varlen(name, &shape, value.dtype),
        };
        self.note(
            name,
            format!("{path}{}", "[*]".repeat(arrays)),
            innermost,
            &value,
        );
        let nullable = info.nullable || self.allows_null(node);
        self.push(feature, nullable);
        true
    }

    /// Records the notes on the next feature's values. `expression` is the expression of each value.
    fn note(&mut self, name: &str, expression: String, node: NodeId, value: &Element) {
        if value.is_binary {
            self.binary.push(self.inferred.features.len());
        }
        if value.is_rounded {
            let exact = match self.schema.node(node) {
                Node::Union(_) => format!("{expression}:long"),
                _ => name.to_owned(),
            };
            self.inferred.rounded.push(Rounded {
                field: name.to_owned(),
                schema_type: self.describe(node),
                exact,
                fits_int64: !matches!(
                    self.schema.logical(node),
                    Some(LogicalType::Decimal { precision, .. }) if *precision > INT64_DIGITS
                ),
            });
        }
    }

    /// The element that a type becomes; `None` if it becomes none.
    fn element(&self, node: NodeId) -> Option<Element> {
        let element = |dtype| {
            Some(Element {
                dtype,
                width: 1,
                is_binary: false,
                is_rounded: false,
            })
        };
        match (self.schema.node(node), self.schema.logical(node)) {
            (_, Some(LogicalType::Decimal { scale: 0, .. })) => element(DType::Int64),
            (_, Some(LogicalType::Decimal { .. })) => Some(Element {
                is_rounded: true,
                ..element(DType::Float64)?
            }),
            (_, Some(LogicalType::Duration)) => Some(Element {
                width: 3,
                ..element(DType::Int64)?
            }),
            (Node::Fixed(fixed), _) if fixed.size == 0 => None,
            (Node::Int, _) => element(DType::Int32),
            (Node::Long, _) => element(DType::Int64),
            (Node::Float, _) => element(DType::Float32),
            (Node::Double, _) => element(DType::Float64),
            (Node::Boolean, _) => element(DType::Bool),
            (Node::String | Node::Enum(_), _) => element(DType::String),
            (Node::Fixed(_), Some(LogicalType::Uuid)) => element(DType::String),
            (Node::Bytes | Node::Fixed(_), _) => Some(Element {
                is_binary: true,
                ..element(DType::String)?
            }),
            (Node::Union(branches), _) if is_several(self.schema, branches) => {
                let joined = joined(self.schema, branches)?;
                let has_longs = || {
                    branches
                        .iter()
                        .any(|&one| *self.schema.node(one) == Node::Long)
                };
                match joined {
                    Joined::Number(dtype) => Some(Element {
                        is_rounded: dtype == DType::Float64 && has_longs(),
                        ..element(dtype)?
                    }),
                    Joined::Text => element(DType::String),
                    Joined::Bytes => Some(Element {
                        is_binary: true,
                        ..element(DType::String)?
                    }),
                }
            }
            _ => None,
        }
    }

    /// Whether a value of a feature's type can contain a null. Such types are not recursive.
    fn allows_null(&self, node: NodeId) -> bool {
        match self.schema.node(node) {
            Node::Null => true,
            Node::Union(branches) => branches.iter().any(|&branch| self.allows_null(branch)),
            Node::Array(item) => self.allows_null(*item),
            Node::Record(record) => record.fields.iter().any(|field| self.allows_null(field.ty)),
            _ => false,
        }
    }

    /// The feature of ATDS's sparse record, with the type of its values.
    fn sparse(&self, name: &str, record: &Record) -> Option<(Feature, NodeId, Element)> {
        let roles = sparse_roles(record).ok()?;
        let mut found = None;
        for (field, role) in record.fields.iter().zip(&roles) {
            let (1, item) = array_rank(self.schema, field.ty).ok()? else {
                return None;
            };
            let values = self.element(item)?;
            if values.width != 1 {
                return None;
            }
            match role {
                Role::Values => found = Some((item, values)),
                Role::Indices(_) if matches!(self.schema.node(item), Node::Int | Node::Long) => {}
                Role::Indices(_) => return None,
            }
        }
        let rank = roles.len() - 1;
        if rank > MAX_RANK {
            return None;
        }
        let shape = vec![UNKNOWN; rank];
        let (item, values) = found?;
        let feature = Feature::sparse(name, &shape, values.dtype);
        Some((feature, item, values))
    }

    /// The type in words, with its logical type.
    fn describe(&self, node: NodeId) -> String {
        let described = self.schema.describe(node);
        match self.schema.logical(node) {
            Some(LogicalType::Decimal { precision, scale }) => {
                format!("{described}, decimal({precision}, {scale})")
            }
            Some(logical) => format!("{described}, {}", logical.name()),
            None => described,
        }
    }
}

/// The element that a type becomes in a tensor.
struct Element {
    dtype: DType,
    /// Number of elements per value.
    width: usize,
    /// Whether the values are bytes, which need not be text.
    is_binary: bool,
    /// Whether the dtype rounds some values.
    is_rounded: bool,
}

/// Maximum number of decimal digits that always fit int64.
const INT64_DIGITS: u32 = 18;

/// The expression of a path from the root.
fn name_of(path: &str) -> &str {
    match path {
        "" => "@",
        path => path,
    }
}
