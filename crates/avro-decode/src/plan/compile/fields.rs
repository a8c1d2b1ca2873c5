//! Records: passes each request on to its field.

use std::cell::RefCell;
use std::collections::HashMap;

use atds_features::path::{Path, Step, field_step};

use super::operations::{in_turn, program};
use super::outputs::entries;
use super::request::{Request, Target};
use super::values::not_an_element;
use super::{Compiler, TypePair};
use crate::plan::program::{Action, Default, EndEntry, Operation};
use crate::plan::{PlanError, PlanErrorKind};
use crate::resolve::{DefaultField, ResolvedId};
use crate::schema::Name;
use crate::schema::{Node, NodeId, Record, Schema};

impl<'f> Compiler<'f> {
    /// Compiles a record: its fields one after another.
    pub(super) fn record(
        &mut self,
        pair: TypePair<'_>,
        reader: NodeId,
        fields: &[Option<(usize, ResolvedId)>],
        defaults: &[DefaultField],
        requests: Vec<Request<'f>>,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        let schema = pair.reader_schema();
        let record = record_of(schema, reader);
        let mut passes = Vec::new();
        let mut operations = Vec::new();
        let mut ends = Vec::new();
        let mut by_field: Vec<Vec<Request<'f>>> = vec![Vec::new(); record.fields.len()];
        for mut request in requests {
            if !request.steps.is_empty() {
                match self.find_field(schema, reader, &request, at)? {
                    Ok((field, steps)) => {
                        request.steps = steps;
                        by_field[field].push(request);
                    }
                    Err(absent) => operations.extend(absent),
                }
                continue;
            }
            if let Target::Record(number) = request.target {
                if let Some(pass) = self.sparse_record(pair, reader, &mut request)? {
                    passes.push(pass);
                    continue;
                }
                self.outputs[number].layout = entries(request.checked, self.options);
                request.target = Target::Entries(number);
            }
            match request.target {
                Target::Entries(number) => {
                    operations.extend(self.present(&mut request));
                    let registers = request.registers.as_slice().into();
                    let end = EndEntry {
                        output: number,
                        registers,
                    };
                    ends.push(Operation::new(request.text(), Action::EndEntry(end)));
                    for key in Request::keys(number, request.checked, false) {
                        match self.find_field(schema, reader, &key, at)? {
                            Ok((field, steps)) => by_field[field].push(Request { steps, ..key }),
                            Err(absent) => operations.extend(absent),
                        }
                    }
                }
                target => {
                    let kind = not_an_element(target, pair);
                    return Err(PlanError::new(request.name(), kind));
                }
            }
        }
        let reads_fields = by_field.iter().any(|requests| !requests.is_empty());
        if !reads_fields && operations.is_empty() && ends.is_empty() && !passes.is_empty() {
            return Ok(in_turn(&self.outputs, passes, at));
        }
        let way = |field: usize| child(at, &record.fields[field].name);
        for default in defaults {
            let requests = std::mem::take(&mut by_field[default.field]);
            if !requests.is_empty() {
                let identity = pair.resolution.reader_identity();
                let id = identity.at(record.fields[default.field].ty);
                let inside = TypePair {
                    resolution: identity,
                    id,
                };
                let way = way(default.field);
                let value = self.value(inside, requests, &way)?;
                let value = Default {
                    encoded: default.encoded.clone(),
                    parts: default.parts,
                    value: program(&self.outputs, value),
                };
                operations.push(Operation::new(&way, Action::Default(Box::new(value))));
            }
        }
        let writer = record_of(pair.writer_schema(), pair.writer());
        for (number, field) in fields.iter().enumerate() {
            if let Some((field, id)) = *field {
                let requests = std::mem::take(&mut by_field[field]);
                operations.extend(self.value(pair.at(id), requests, &way(field))?);
            } else {
                let ty = writer.fields[number].ty;
                let way = child(at, &writer.fields[number].name);
                operations.extend(self.skip(pair.writer_schema(), ty, &way)?);
            }
        }
        operations.extend(ends);
        passes.push(operations);
        Ok(in_turn(&self.outputs, passes, at))
    }

    /// The field that a request's steps lead to, and the steps after it. If the record lacks the
    /// field, the operations for a missing value.
    #[expect(
        clippy::type_complexity,
        reason = "a field, or an operation, or neither"
    )]
    fn find_field(
        &mut self,
        schema: &Schema,
        node: NodeId,
        request: &Request<'f>,
        at: &str,
    ) -> Result<Result<(usize, &'f [Step]), Option<Operation>>, PlanError> {
        let record = record_of(schema, node);
        let index = |name: &str| self.indices.index(schema, node, name);
        if let Some(found) = leads_to(&record.name, index, request.steps) {
            return Ok(Ok(found));
        }
        match &request.steps[0] {
            Step::Field(name) => {
                let names = record.fields.iter().map(|field| field.name.as_str());
                let checked = request.checked;
                let kind = match &checked.not_a_path {
                    Some(error) if request.steps == checked.path.steps => {
                        PlanErrorKind::no_such_name(error, name, names)
                    }
                    _ => PlanErrorKind::no_such_field(child(at, name), name, &record.name, names),
                };
                self.absent(request, kind).map(Err)
            }
            step => {
                let kind = wrong_step(step, at, &format!("record '{}'", record.name));
                Err(PlanError::new(request.name(), kind))
            }
        }
    }

    /// The index of a request's first field among the writer's fields of the root; `None` if only
    /// the reader has it.
    pub(super) fn writer_field(&self, root: TypePair<'_>, steps: &[Step]) -> Option<usize> {
        let crate::resolve::Resolved::Record { reader, fields, .. } = root.node() else {
            return None;
        };
        let record = record_of(root.reader_schema(), *reader);
        let index = |name: &str| self.indices.index(root.reader_schema(), *reader, name);
        let (field, _) = leads_to(&record.name, index, steps)?;
        let is_it =
            |one: &Option<(usize, ResolvedId)>| one.is_some_and(|(index, _)| index == field);
        fields.iter().position(is_it)
    }
}

/// The path of the field `name` in the record at the path `at`.
fn child(at: &str, name: &str) -> String {
    match at {
        "" => field_step(name).into_owned(),
        at => format!("{at}.{}", field_step(name)),
    }
}

pub(super) fn record_of(schema: &Schema, node: NodeId) -> &Record {
    match schema.node(node) {
        Node::Record(record) => record,
        _ => unreachable!("resolved as a record"),
    }
}

/// The field of the record `record` that steps lead to, and the steps after it. `index` finds a
/// field's index by its name. The first step is the field's name. If no field has that name, the
/// first steps may be the record's namespace, with or without the record's name, and the field
/// follows them.
pub(super) fn leads_to<'f>(
    record: &Name,
    index: impl Fn(&str) -> Option<usize>,
    steps: &'f [Step],
) -> Option<(usize, &'f [Step])> {
    let field = |steps: &'f [Step]| match steps {
        [Step::Field(name), rest @ ..] => Some((index(name)?, rest)),
        _ => None,
    };
    field(steps).or_else(|| {
        let mut steps = steps;
        let namespace = record.namespace().into_iter();
        for part in namespace.flat_map(|namespace| namespace.split('.')) {
            match steps {
                [Step::Field(name), rest @ ..] if name == part => steps = rest,
                _ => return None,
            }
        }
        field(steps).or_else(|| match steps {
            [Step::Field(name), rest @ ..] if name == record.simple() => field(rest),
            _ => None,
        })
    })
}

/// Indices of the fields of the reader's records, by name. A record's fields are indexed on the
/// first lookup, so that looking up all of them takes linear time.
#[derive(Default)]
pub(super) struct FieldIndices(RefCell<HashMap<NodeId, HashMap<Box<str>, usize>>>);

impl FieldIndices {
    /// The index of the field `name` in the record at `record`.
    pub(super) fn index(&self, schema: &Schema, record: NodeId, name: &str) -> Option<usize> {
        let mut indices = self.0.borrow_mut();
        let indices = indices.entry(record).or_insert_with(|| {
            let fields = record_of(schema, record).fields.iter();
            fields
                .map(|field| field.name.as_str().into())
                .zip(0..)
                .collect()
        });
        indices.get(name).copied()
    }
}

/// The error for a step that a type does not have.
#[cold]
pub(super) fn wrong_step(step: &Step, at: &str, schema_type: &str) -> PlanErrorKind {
    let (through, schema_type) = (at.to_owned(), schema_type.to_owned());
    if let Step::Field(_) = step {
        if through.is_empty() {
            return PlanErrorKind::SchemaNotRecord { schema_type };
        }
        return PlanErrorKind::NotNested {
            through,
            schema_type,
        };
    }
    let steps = vec![step.clone()];
    let text = Path { steps }.to_string();
    match step {
        Step::Slice(_) => PlanErrorKind::NotAnArray {
            through,
            step: text,
            schema_type,
        },
        _ => PlanErrorKind::WrongStep {
            through,
            step: text,
            schema_type,
        },
    }
}
