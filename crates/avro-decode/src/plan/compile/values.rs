//! The ends of expressions: values, and ATDS's sparse records.

use atds_features::feature::{Feature, FeatureKind};
use tensor_batch::DType;

use super::fields::wrong_step;
use super::operations::in_turn;
use super::outputs::out_of_bounds;
use super::request::{Request, Target};
use super::unions::is_several;
use super::{Compiler, TypePair};
use crate::convert::{DURATION_WIDTH, Source, Within, are_octets};
use crate::plan::leaf::{Leaf, Nullable};
use crate::plan::program::{Action, IndexRead, Operation, Read};
use crate::plan::sparse::{Role, SparseField, SparseRecord};
use crate::plan::sparse_row::SparseRow;
use crate::plan::{MeaningOf, PlanError, PlanErrorKind};
use crate::resolve::{Resolved, ResolvedId};
use crate::schema::{LogicalType, Node, NodeId, Record, Schema};

/// Checks the end of a dense or varlen feature's expression: its type has one array per remaining
/// dimension.
pub(super) fn resolve(pair: TypePair<'_>, request: &mut Request<'_>) -> Result<(), PlanErrorKind> {
    let is_end = request.steps.is_empty() && matches!(request.target, Target::Values(_));
    if !is_end || request.is_resolved {
        return Ok(());
    }
    let Some(reader) = pair.reader() else {
        return Ok(());
    };
    request.is_resolved = true;
    let schema = pair.reader_schema();
    let (arrays, innermost) = array_rank(schema, reader)?;
    if matches!(
        schema.node(innermost),
        Node::Record(_) | Node::Map(_) | Node::Null
    ) {
        let schema_type = schema.describe(innermost);
        return Err(PlanErrorKind::NotAnElement { schema_type });
    }
    // Bytes that are read as numbers add a dimension.
    let is_octets = request.checked.feature.takes_octets() && are_octets((schema, innermost));
    // The three numbers of a duration add a dimension.
    let is_duration = schema.logical(innermost) == Some(&LogicalType::Duration)
        && request.checked.feature.dtype != DType::String;
    let schema_rank = request.registers.len() + arrays + usize::from(is_duration || is_octets);
    if schema_rank != request.shape.len() {
        return Err(request.rank_mismatch(schema_rank));
    }
    // The values are in no array that would give the length, so check the shape here.
    if let (true, Some(&Some(length))) = (is_duration, request.shape.last())
        && length != DURATION_WIDTH
    {
        return Err(PlanErrorKind::DurationShape { length });
    }
    Ok(())
}

impl<'f> Compiler<'f> {
    /// Compiles a value: each request reads it.
    pub(super) fn leaf(
        &mut self,
        pair: TypePair<'_>,
        requests: Vec<Request<'f>>,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        let mut passes = Vec::with_capacity(requests.len());
        for mut request in requests {
            let error = |kind| PlanError::new(request.name(), kind);
            if let Some(step) = request.steps.first() {
                return Err(error(wrong_step(step, at, &pair.describe())));
            }
            let text = request.text();
            let mut pass = Vec::new();
            match request.target {
                Target::Values(output) | Target::Value(output) => {
                    let feature = &request.checked.feature;
                    let of = MeaningOf::Values(request.checked.column);
                    let source = self
                        .source(pair, of, feature, request.within)
                        .map_err(error)?;
                    let source = self.text_source(source, feature);
                    let is_key = matches!(request.target, Target::Value(_));
                    if is_key && !source.is_one() {
                        return Err(error(not_an_element(request.target, pair)));
                    }
                    if source.is_octets() {
                        pass.extend(self.present(&mut request));
                        let action = self.octets(pair, &request, output, source);
                        pass.push(Operation::new(text, action));
                        passes.push(pass);
                        continue;
                    }
                    let registers = request.registers.as_slice().into();
                    pass.extend(self.present(&mut request));
                    let read = Read {
                        output,
                        nullable: None,
                        source,
                        registers,
                    };
                    pass.push(Operation::new(text, Action::Value(read)));
                }
                Target::Index(output, key) => {
                    let is_int = is_int(pair);
                    if !is_int && !is_long(pair) {
                        let field = at.to_owned();
                        let schema_type = pair.describe();
                        return Err(error(PlanErrorKind::BadIndex { field, schema_type }));
                    }
                    let of = MeaningOf::Indices(request.checked.column, key);
                    let index = IndexRead {
                        output,
                        key,
                        is_int,
                        rescale: self.operand_unit(pair, &[of]).map_err(error)?,
                    };
                    pass.push(Operation::new(text, Action::Index(index)));
                }
                Target::Operand(slot) => pass.push(self.capture(pair, &request, slot)?),
                Target::Record(_) => {
                    let schema_type = pair.describe();
                    return Err(error(PlanErrorKind::NotSparse { schema_type }));
                }
                Target::Entries(_) => return Err(error(not_an_element(request.target, pair))),
            }
            passes.push(pass);
        }
        Ok(in_turn(&self.outputs, passes, at))
    }

    /// How to read the values of a feature, with its treatment of invalid UTF-8.
    fn text_source(&self, source: Source, feature: &Feature) -> Source {
        match source {
            Source::Plain(Leaf::String) if feature.any_bytes => Source::Plain(Leaf::Bytes),
            Source::Plain(Leaf::String) if self.options.decode.replace_invalid_utf8 => {
                Source::Plain(Leaf::ReplacedString)
            }
            source => source,
        }
    }

    /// Compiles ATDS's sparse record, if it is read as it was written. If the reader's record has
    /// other fields or other nulls, its arrays are read as keys.
    pub(super) fn sparse_record(
        &mut self,
        pair: TypePair<'_>,
        reader: NodeId,
        request: &mut Request<'f>,
    ) -> Result<Option<Vec<Operation>>, PlanError> {
        let error = |kind| PlanError::new(request.name(), kind);
        let Some(sparse) = self.sparse_fields(pair, request).map_err(error)? else {
            return Ok(None);
        };
        // The branches of a union may resolve to the reader's record in several ways.
        for (id, node) in pair.resolution.nodes.iter().enumerate() {
            if matches!(node, Resolved::Record { reader: other, .. } if *other == reader) {
                let other = pair.at(ResolvedId(id as u32));
                if self.sparse_fields(other, request).map_err(error)?.is_none() {
                    return Ok(None);
                }
            }
        }
        let mut operations = Vec::from_iter(self.present(request));
        let action = Action::SparseRecord(sparse);
        operations.push(Operation::new(request.text(), action));
        Ok(Some(operations))
    }

    fn sparse_fields(
        &mut self,
        pair: TypePair<'_>,
        request: &Request<'f>,
    ) -> Result<Option<SparseRecord>, PlanErrorKind> {
        let Resolved::Record {
            reader,
            fields,
            defaults,
            ..
        } = pair.node()
        else {
            let schema_type = pair.describe();
            return Err(PlanErrorKind::NotSparse { schema_type });
        };
        let record = super::fields::record_of(pair.reader_schema(), *reader);
        let roles = sparse_roles(record)?;
        let feature = &request.checked.feature;
        let FeatureKind::Sparse { shape, layout, .. } = &feature.kind else {
            unreachable!("a sparse feature");
        };
        let (rank, schema_rank) = (shape.len(), roles.len() - 1);
        if schema_rank != rank {
            return Err(PlanErrorKind::RankMismatch {
                rank,
                has_batch: false,
                schema_rank,
            });
        }
        if !defaults.is_empty() {
            return Ok(None);
        }
        let mut sparse_fields = Vec::with_capacity(roles.len());
        for field in fields {
            let Some((field, id)) = *field else {
                return Ok(None);
            };
            let (role, name) = (roles[field], &record.fields[field].name);
            let bad = |of: TypePair<'_>| {
                let schema_type = of.describe();
                match role {
                    Role::Values => PlanErrorKind::BadValues { schema_type },
                    Role::Indices(_) => PlanErrorKind::BadIndices {
                        field: name.clone(),
                        schema_type,
                    },
                }
            };
            let Ok((list_nullable, array)) = nullable_of(pair.at(id)) else {
                return Ok(None);
            };
            let Resolved::Array { item, .. } = *array.node() else {
                return Err(bad(array));
            };
            let Ok((nullable, value)) = nullable_of(array.at(item)) else {
                return Ok(None);
            };
            if !matches!(value.node(), Resolved::Leaf { .. } | Resolved::Enum { .. }) {
                return Err(bad(array));
            }
            let column = request.checked.column;
            let source = match role {
                Role::Values => {
                    let of = MeaningOf::Values(column);
                    let source = self.source(value, of, feature, Within::Itself)?;
                    self.text_source(source, feature)
                }
                Role::Indices(dimension) if is_int(value) || is_long(value) => {
                    let of = MeaningOf::Indices(column, dimension);
                    if self.operand_unit(value, &[of])?.is_some() {
                        return Ok(None);
                    }
                    Source::Plain(if is_int(value) { Leaf::Int } else { Leaf::Long })
                }
                Role::Indices(_) => return Err(bad(array)),
            };
            let min_item = usize::try_from(array.at(item).min_len()).unwrap_or(usize::MAX);
            if !source.is_one() || min_item == 0 {
                return Err(bad(array));
            }
            let field = SparseField {
                role,
                list_nullable,
                min_item,
                nullable,
                source,
            };
            sparse_fields.push(field);
        }
        let output = request.feature().unwrap_or(0);
        let mut sparse = SparseRecord {
            output,
            fields: sparse_fields.into(),
            shape: shape.as_slice().into(),
            layout: *layout,
            out_of_bounds: out_of_bounds(feature, self.options),
            row: None,
        };
        sparse.row = SparseRow::new(&sparse, self.outputs[output].mask.is_some());
        Ok(Some(sparse))
    }
}

/// Whether the data has an `int` that is read as an integer.
fn is_int(pair: TypePair<'_>) -> bool {
    let writer = pair.writer_schema().node(pair.writer());
    *writer == Node::Int && is_integer(pair)
}

/// Whether the data has a `long` that is read as a `long`.
fn is_long(pair: TypePair<'_>) -> bool {
    let writer = pair.writer_schema().node(pair.writer());
    *writer == Node::Long && is_integer(pair)
}

fn is_integer(pair: TypePair<'_>) -> bool {
    let reader = pair
        .reader()
        .map(|reader| pair.reader_schema().node(reader));
    matches!(reader, Some(Node::Int | Node::Long))
}

/// The union around a value, if it has one branch besides null.
fn nullable_of(pair: TypePair<'_>) -> Result<(Option<Nullable>, TypePair<'_>), PlanErrorKind> {
    let union = || {
        let union = pair.writer_schema().describe(pair.writer());
        PlanErrorKind::Union { union }
    };
    match pair.node() {
        Resolved::Union { branches, .. } => {
            let is_value = |&(_, &id): &(usize, &ResolvedId)| !pair.at(id).is_null();
            let mut values = branches.iter().enumerate().filter(is_value);
            let (Some((value, &id)), None) = (values.next(), values.next()) else {
                return Err(union());
            };
            let (None, inner) = nullable_of(pair.at(id))? else {
                return Err(union());
            };
            let nullable = Nullable {
                value: value as i64,
                branches: branches.len() as i64,
            };
            Ok((Some(nullable), inner))
        }
        &Resolved::Branch { value, .. } => Ok((None, pair.at(value))),
        Resolved::Never { .. } => Err(union()),
        _ => Ok((None, pair)),
    }
}

/// The error for a value that is not a single element.
pub(super) fn not_an_element(target: Target, pair: TypePair<'_>) -> PlanErrorKind {
    let schema_type = pair.describe();
    match target {
        Target::Operand(_) => PlanErrorKind::BadOperand { schema_type },
        Target::Entries(_) => PlanErrorKind::NotEntries { schema_type },
        _ => PlanErrorKind::NotAnElement { schema_type },
    }
}

pub(super) fn unwrap_nullable(schema: &Schema, node: NodeId) -> Result<NodeId, PlanErrorKind> {
    let Node::Union(branches) = schema.node(node) else {
        return Ok(node);
    };
    let is_value = |node: &&NodeId| *schema.node(**node) != Node::Null;
    let mut values = branches.iter().filter(is_value);
    match (values.next(), values.next()) {
        (Some(&value), None) => Ok(value),
        (None, _) => {
            let schema_type = schema.describe(node);
            Err(PlanErrorKind::NotAnElement { schema_type })
        }
        _ => {
            let union = schema.describe(node);
            Err(PlanErrorKind::Union { union })
        }
    }
}

/// The number of nested arrays in a type, and the innermost item type. A union of several types
/// counts as an item.
pub(in crate::plan) fn array_rank(
    schema: &Schema,
    mut node: NodeId,
) -> Result<(usize, NodeId), PlanErrorKind> {
    let mut rank = 0;
    loop {
        let inner = match schema.node(node) {
            Node::Union(branches) if is_several(schema, branches) => node,
            _ => unwrap_nullable(schema, node)?,
        };
        match schema.node(inner) {
            Node::Array(item) => node = *item,
            _ => return Ok((rank, inner)),
        }
        rank += 1;
    }
}

/// The role of each field of a sparse record, in the order of the fields.
pub(in crate::plan) fn sparse_roles(record: &Record) -> Result<Vec<Role>, PlanErrorKind> {
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
    let mut is_there = vec![false; rank.max(1)];
    for role in &roles {
        if let Role::Indices(dimension) = *role
            && let Some(is_there) = is_there.get_mut(dimension)
        {
            *is_there = true;
        }
    }
    // Field names are unique, so `rank` indices without a gap are all indices.
    match is_there.iter().position(|there| !there) {
        Some(dimension) => Err(PlanErrorKind::IndicesGap { dimension }),
        None => Ok(roles),
    }
}
