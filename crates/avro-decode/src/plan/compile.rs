//! From a schema and columns to a plan.

use tensor_batch::{BatchSpec, ColumnKind, ColumnSpec, DType};

use super::dense::Dense;
use super::describe::describe;
use super::nested::{Leaf, Level, Nested, Nullable};
use super::skip::SkipTable;
use super::sparse::{Role, Sparse, SparseField};
use super::varlen::Varlen;
use super::{Action, Operation, Plan, PlanError, PlanErrorKind, PlanOptions};
use crate::schema::{Node, NodeId, Record, Schema};

pub(super) fn compile(
    schema: &Schema,
    spec: &BatchSpec,
    options: &PlanOptions,
) -> Result<Plan, PlanError> {
    let Node::Record(root) = schema.node(schema.root()) else {
        let schema_type = describe(schema, schema.root());
        return Err(PlanError::new(
            "",
            PlanErrorKind::SchemaNotRecord { schema_type },
        ));
    };
    let mut compiler = Compiler {
        schema,
        spec,
        options,
        skips: SkipTable::default(),
        found: vec![false; spec.columns().len()],
    };
    let operations = compiler.record(root, "")?;
    if let Some(missing) = compiler.found.iter().position(|found| !found) {
        let name = &spec.columns()[missing].name;
        let kind = why_not_found(schema, root, name);
        return Err(PlanError::new(name, kind));
    }
    Ok(Plan {
        spec: spec.clone(),
        operations: join_skips(operations),
        skips: compiler.skips,
        min_record_len: schema.min_encoded_len(schema.root()),
    })
}

/// Why the dotted `name` leads to no field.
#[cold]
fn why_not_found(schema: &Schema, root: &Record, name: &str) -> PlanErrorKind {
    let mut record = root;
    let mut start = 0;
    loop {
        let end = name[start..]
            .find('.')
            .map_or(name.len(), |dot| start + dot);
        let Some((_, field)) = record.field(&name[start..end]) else {
            let missing = name[..end].to_owned();
            return PlanErrorKind::NoSuchField { missing };
        };
        let inner = match unwrap_nullable(schema, field.ty) {
            Ok((_, inner)) => inner,
            Err(kind) => return kind,
        };
        match schema.node(inner) {
            Node::Record(inner) if end < name.len() => record = inner,
            _ => {
                return PlanErrorKind::NotNested {
                    through: name[..end].to_owned(),
                    schema_type: describe(schema, inner),
                };
            }
        }
        start = end + 1;
    }
}

struct Compiler<'a> {
    schema: &'a Schema,
    spec: &'a BatchSpec,
    options: &'a PlanOptions,
    skips: SkipTable,
    /// Which columns the schema has.
    found: Vec<bool>,
}

impl Compiler<'_> {
    /// The operations of a record's fields; `prefix` is the dotted way to it.
    fn record(&mut self, record: &Record, prefix: &str) -> Result<Vec<Operation>, PlanError> {
        let mut operations = Vec::new();
        for field in &record.fields {
            let path = format!("{prefix}{}", field.name);
            let own = match self.spec.position(&path) {
                Some(column) => {
                    self.found[column] = true;
                    Some(self.feature(column, field.ty)?)
                }
                None => None,
            };
            let inside = format!("{path}.");
            // Columns are sorted by name.
            let columns = self.spec.columns();
            let next = columns.partition_point(|column| column.name < inside);
            let next = columns.get(next);
            let wanted_inside = next.is_some_and(|column| column.name.starts_with(&inside));
            let operation = |action| Operation {
                field: path.as_str().into(),
                action,
            };
            match (own, wanted_inside) {
                (Some(own), false) => operations.push(operation(own)),
                (None, false) => {
                    let skip = self.skips.skip_of(self.schema, field.ty);
                    operations.push(operation(Action::Skip {
                        all: skip.clone(),
                        each: vec![(path.as_str().into(), skip)],
                    }));
                }
                (own, true) => {
                    if let Some(own) = own {
                        operations.push(operation(Action::Peek([operation(own)].into())));
                    }
                    // If it is no record, the columns inside it are not found.
                    if let Ok((nullable, inner)) = unwrap_nullable(self.schema, field.ty)
                        && let Node::Record(inner) = self.schema.node(inner)
                    {
                        if let Some(nullable) = nullable {
                            operations.push(operation(Action::ExpectValue(nullable)));
                        }
                        operations.extend(self.record(inner, &inside)?);
                    }
                }
            }
        }
        Ok(operations)
    }

    fn feature(&self, column: usize, node: NodeId) -> Result<Action, PlanError> {
        let spec = &self.spec.columns()[column];
        let action = match &spec.kind {
            ColumnKind::Dense { shape } => {
                let shape: Vec<_> = shape.iter().map(|&dim| Some(dim)).collect();
                self.nested(spec, node, &shape).map(|nested| {
                    let row_len = spec.row_len().unwrap_or(1);
                    Action::Dense(column, Dense { nested, row_len })
                })
            }
            ColumnKind::Varlen { shape, layout } => {
                let shape: Vec<_> = shape.iter().map(|&dim| usize::try_from(dim).ok()).collect();
                self.nested(spec, node, &shape).map(|nested| {
                    let layout = *layout;
                    Action::Varlen(column, Varlen { nested, layout })
                })
            }
            ColumnKind::Sparse { shape, layout } => {
                let fields = self.sparse_fields(spec, node, shape.len());
                fields.map(|(nullable, fields)| {
                    let sparse = Sparse {
                        nullable,
                        fields,
                        shape: shape.as_slice().into(),
                        layout: *layout,
                        out_of_bounds: self.options.out_of_bounds,
                    };
                    Action::Sparse(column, sparse)
                })
            }
            _ => unreachable!("every kind of this version is above"),
        };
        action.map_err(|kind| PlanError::new(&spec.name, kind))
    }

    /// A primitive in as many arrays as `shape` has dimensions.
    fn nested(
        &self,
        spec: &ColumnSpec,
        mut node: NodeId,
        shape: &[Option<usize>],
    ) -> Result<Nested, PlanErrorKind> {
        let (schema_rank, innermost) = array_rank(self.schema, node)?;
        let leaf = leaf_of(self.schema.node(innermost)).ok_or_else(|| {
            let schema_type = describe(self.schema, innermost);
            PlanErrorKind::NotAnElement { schema_type }
        })?;
        if schema_rank != shape.len() {
            let rank = shape.len();
            return Err(PlanErrorKind::RankMismatch { rank, schema_rank });
        }
        self.check_dtype(innermost, leaf, spec.dtype)?;
        let mut levels = Vec::with_capacity(shape.len());
        for &length in shape {
            let (level, item) = self.level(node, length)?;
            levels.push(level);
            node = item;
        }
        let (nullable, _) = unwrap_nullable(self.schema, node)?;
        Ok(Nested {
            levels: levels.into(),
            nullable,
            leaf,
        })
    }

    fn sparse_fields(
        &self,
        spec: &ColumnSpec,
        node: NodeId,
        rank: usize,
    ) -> Result<(Option<Nullable>, Box<[SparseField]>), PlanErrorKind> {
        let (nullable, node) = unwrap_nullable(self.schema, node)?;
        let Node::Record(record) = self.schema.node(node) else {
            let schema_type = describe(self.schema, node);
            return Err(PlanErrorKind::NotSparse { schema_type });
        };
        let roles = sparse_roles(record)?;
        let schema_rank = roles.len() - 1;
        if schema_rank != rank {
            return Err(PlanErrorKind::RankMismatch { rank, schema_rank });
        }
        let mut fields = Vec::with_capacity(roles.len());
        for (field, role) in record.fields.iter().zip(roles) {
            let bad = |node| {
                let schema_type = describe(self.schema, node);
                match role {
                    Role::Values => PlanErrorKind::BadValues { schema_type },
                    Role::Indices(_) => PlanErrorKind::BadIndices {
                        field: field.name.clone(),
                        schema_type,
                    },
                }
            };
            let (_, array) = unwrap_nullable(self.schema, field.ty)?;
            let Node::Array(item) = *self.schema.node(array) else {
                return Err(bad(array));
            };
            let (level, _) = self.level(field.ty, None)?;
            let (item_nullable, item) = unwrap_nullable(self.schema, item)?;
            let leaf = leaf_of(self.schema.node(item)).ok_or_else(|| bad(array))?;
            match role {
                Role::Values => self.check_dtype(item, leaf, spec.dtype)?,
                Role::Indices(_) if matches!(leaf, Leaf::Int | Leaf::Long) => {}
                Role::Indices(_) => return Err(bad(array)),
            }
            fields.push(SparseField {
                role,
                level,
                nullable: item_nullable,
                leaf,
            });
        }
        Ok((nullable, fields.into()))
    }

    /// The array `node` as a level, and its item.
    fn level(&self, node: NodeId, length: Option<usize>) -> Result<(Level, NodeId), PlanErrorKind> {
        let (nullable, array) = unwrap_nullable(self.schema, node)?;
        let Node::Array(item) = *self.schema.node(array) else {
            let schema_type = describe(self.schema, array);
            return Err(PlanErrorKind::NotAnElement { schema_type });
        };
        let min = self.schema.min_encoded_len(item);
        let level = Level {
            nullable,
            length,
            min_item: usize::try_from(min).unwrap_or(usize::MAX),
        };
        Ok((level, item))
    }

    fn check_dtype(&self, node: NodeId, leaf: Leaf, asked: DType) -> Result<(), PlanErrorKind> {
        let expected = leaf.dtype();
        if expected == asked {
            return Ok(());
        }
        Err(PlanErrorKind::DTypeMismatch {
            schema_type: describe(self.schema, node),
            expected,
            asked,
        })
    }
}

/// The union around a type, if it is one of those a feature may have.
pub(super) fn unwrap_nullable(
    schema: &Schema,
    node: NodeId,
) -> Result<(Option<Nullable>, NodeId), PlanErrorKind> {
    let Node::Union(branches) = schema.node(node) else {
        return Ok((None, node));
    };
    let is_null = |node: NodeId| matches!(schema.node(node), Node::Null);
    let value = match **branches {
        [only] if !is_null(only) => 0,
        [first, second] if is_null(first) && !is_null(second) => 1,
        [first, second] if !is_null(first) && is_null(second) => 0,
        _ => {
            let union = describe(schema, node);
            return Err(PlanErrorKind::Union { union });
        }
    };
    let nullable = Nullable {
        value: value as i64,
        branches: branches.len() as i64,
    };
    Ok((Some(nullable), branches[value]))
}

/// How many arrays are nested in a type, and what is in the innermost.
pub(super) fn array_rank(
    schema: &Schema,
    mut node: NodeId,
) -> Result<(usize, NodeId), PlanErrorKind> {
    let mut rank = 0;
    loop {
        let (_, inner) = unwrap_nullable(schema, node)?;
        match schema.node(inner) {
            Node::Array(item) => node = *item,
            _ => return Ok((rank, inner)),
        }
        rank += 1;
    }
}

/// The leaf of a primitive type.
pub(super) fn leaf_of(node: &Node) -> Option<Leaf> {
    Some(match node {
        Node::Int => Leaf::Int,
        Node::Long => Leaf::Long,
        Node::Float => Leaf::Float,
        Node::Double => Leaf::Double,
        Node::Boolean => Leaf::Boolean,
        Node::Bytes => Leaf::Bytes,
        Node::String => Leaf::String,
        _ => return None,
    })
}

/// What each field of a sparse record is, in the order of the fields.
pub(super) fn sparse_roles(record: &Record) -> Result<Vec<Role>, PlanErrorKind> {
    let rank = record.fields.len().saturating_sub(1);
    let role = |name: &str| match name.strip_prefix("indices") {
        _ if name == "values" => Some(Role::Values),
        // `indices01` is not the name of a dimension.
        Some(digits) => digits
            .parse()
            .ok()
            .filter(|dimension: &usize| dimension.to_string() == digits)
            .map(Role::Indices),
        None => None,
    };
    let mut roles = Vec::with_capacity(record.fields.len());
    for field in &record.fields {
        roles.push(role(&field.name).ok_or_else(|| PlanErrorKind::ExtraField {
            field: field.name.clone(),
        })?);
    }
    if !roles.contains(&Role::Values) {
        return Err(PlanErrorKind::NoValues);
    }
    // Names are unique in a record, so `rank` indices without a gap are all.
    match (0..rank.max(1)).find(|&d| !roles.contains(&Role::Indices(d))) {
        Some(dimension) => Err(PlanErrorKind::IndicesGap { dimension }),
        None => Ok(roles),
    }
}

/// Joins neighbouring skips, so that they are one step where their sizes are
/// known.
fn join_skips(operations: Vec<Operation>) -> Box<[Operation]> {
    let mut joined: Vec<Operation> = Vec::with_capacity(operations.len());
    for mut operation in operations {
        if let Some(last) = joined.last_mut()
            && let Action::Skip { all, each } = &mut last.action
            && let Action::Skip {
                all: next,
                each: names,
            } = &mut operation.action
        {
            all.join(next.clone());
            each.append(names);
        } else {
            joined.push(operation);
        }
    }
    joined.into()
}
