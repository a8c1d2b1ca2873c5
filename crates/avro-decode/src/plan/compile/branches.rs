//! Unions: the operations of each branch.

use atds_features::path::Step;

use super::operations::program;
use super::request::Request;
use super::unions::{check_joined, field_branches, is_several};
use super::{Compiler, TypePair};
use crate::DecodeErrorKind;
use crate::convert::Within;
use crate::plan::leaf::Nullable;
use crate::plan::program::{Action, Missing, MissingAt, Operation, Optional};
use crate::plan::{PlanError, PlanErrorKind};
use crate::resolve::ResolvedId;
use crate::schema::numbered::numbered;
use crate::schema::{Node, NodeId, Schema};

impl<'f> Compiler<'f> {
    /// Compiles a union of the writer's: a program for each branch.
    pub(super) fn union(
        &mut self,
        pair: TypePair<'_>,
        branches: &[ResolvedId],
        requests: Vec<Request<'f>>,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        let field = match &*requests {
            [only] if only.steps.is_empty() => only.text(),
            _ => at,
        };
        let mut programs = Vec::with_capacity(branches.len());
        for &branch in branches {
            programs.push(self.value(pair.at(branch), requests.clone(), at)?);
        }
        if let Some(operations) = self.of_one_branch(&mut programs, field) {
            return Ok(operations);
        }
        let programs = programs
            .into_iter()
            .map(|one| program(&self.outputs, one))
            .collect();
        Ok(vec![Operation::new(field, Action::Union(programs))])
    }

    /// The operations of a union whose branches are all null but one; `None` for other unions. If
    /// null is an error, it needs no program. Otherwise the value's operation also reads the null.
    fn of_one_branch(
        &self,
        programs: &mut [Vec<Operation>],
        field: &str,
    ) -> Option<Vec<Operation>> {
        let is_null = |operations: &Vec<Operation>| {
            let mut all = operations.iter();
            all.all(|operation| {
                matches!(
                    &operation.action,
                    Action::Missing(Missing {
                        why: DecodeErrorKind::Null,
                        ..
                    })
                )
            })
        };
        let mut values = (0..programs.len()).filter(|&i| !is_null(&programs[i]));
        let (value, None) = (values.next()?, values.next()) else {
            return None;
        };
        let nullable = Nullable {
            value: value as i64,
            branches: programs.len() as i64,
        };
        let mut nulls = programs.iter().enumerate().filter(|(i, _)| *i != value);
        let is_gap = |null: &[Operation], output: usize| {
            matches!(null, [Operation { action: Action::Missing(missing), .. }]
                if missing.at == MissingAt::Value && missing.output == output)
        };
        // The value serves one feature alone, with a replacement for null.
        if let [
            Operation {
                action: Action::Value(read),
                optional: None,
                ..
            },
        ] = &*programs[value]
            && read.nullable.is_none()
            && read.source.width() == 1
            && nulls.clone().all(|(_, null)| is_gap(null, read.output))
        {
            let mut operations = std::mem::take(&mut programs[value]);
            if let Action::Value(read) = &mut operations[0].action {
                read.nullable = Some(nullable);
            }
            return Some(operations);
        }
        // The null is an error for every request.
        let is_error = |null: &[Operation]| {
            let fails = |operation: &Operation| match &operation.action {
                Action::Missing(missing) => self.outputs[missing.output].fill.is_none(),
                _ => false,
            };
            !null.is_empty() && null.iter().all(fails)
        };
        if nulls.all(|(_, null)| is_error(null)) {
            let expect = Operation::new(field, Action::ExpectValue(nullable));
            let value = std::mem::take(&mut programs[value]);
            return Some([expect].into_iter().chain(value).collect());
        }
        // The value is read by one operation, which can also read the union.
        let is_skip = |operation: &Operation| matches!(operation.action, Action::Skip { .. });
        let is_alone = |operation: &Operation| operation.optional.is_none() && !is_skip(operation);
        if let (..=2, [only]) = (programs.len(), &*programs[value])
            && is_alone(only)
        {
            let mut operations = std::mem::take(&mut programs[value]);
            let null = programs.iter_mut().find(|null| !null.is_empty());
            let null = null.map(std::mem::take).unwrap_or_default();
            let null = program(&self.outputs, null);
            operations[0].optional = Some(Optional { nullable, null });
            return Some(operations);
        }
        None
    }

    /// Compiles a value that becomes a branch of the reader's union.
    pub(super) fn branch(
        &mut self,
        pair: TypePair<'_>,
        (union, branch): (NodeId, usize),
        value: TypePair<'_>,
        requests: Vec<Request<'f>>,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        let schema = pair.reader_schema();
        let Node::Union(branches) = schema.node(union) else {
            unreachable!("the reader has a union");
        };
        // Each request searches all reader's branches, for each of the writer's branches.
        self.count(requests.len() * branches.len() / BRANCHES)?;
        let is_several = is_several(schema, branches);
        let mut operations = Vec::new();
        let mut here = Vec::new();
        for mut request in requests {
            let name = request.name();
            let error = |kind| PlanError::new(name, kind);
            if let Some(Step::Branch(name)) = request.steps.first() {
                let chosen = match find_branch(schema, branches, name) {
                    Ok(chosen) => chosen,
                    Err(kind) => {
                        operations.extend(self.absent(&request, kind)?);
                        continue;
                    }
                };
                if chosen == branch {
                    here.push(request.advance());
                } else {
                    let why = other_branch(schema, branches[branch], name);
                    operations.extend(self.missing(&request, why));
                }
                continue;
            }
            if is_several {
                if let Some(Step::Field(name)) = request.steps.first() {
                    let union = (union, branches.as_slice());
                    let found = field_branches(&self.indices, schema, union, request.steps, at);
                    match found {
                        Ok(found) if found.contains(&branch) => here.push(request),
                        Ok(_) => {
                            let why = other_branch(schema, branches[branch], name);
                            operations.extend(self.missing(&request, why));
                        }
                        Err(kind @ PlanErrorKind::NoBranchHasField { .. }) => {
                            operations.extend(self.absent(&request, kind)?);
                        }
                        Err(kind) => return Err(error(kind)),
                    }
                    continue;
                }
                if !request.steps.is_empty() {
                    let union = schema.describe(union);
                    return Err(error(PlanErrorKind::Union { union }));
                }
                check_joined(schema, union, branches, &request).map_err(error)?;
                request.within = Within::Union;
            }
            if value.is_null() {
                operations.extend(self.missing(&request, DecodeErrorKind::Null));
            } else {
                here.push(request);
            }
        }
        operations.extend(self.value(value, here, at)?);
        Ok(operations)
    }

    /// Handles requests whose next step names the type of a value that is not in a union of the
    /// reader's. If the type has that name, the step is dropped. For requests that name another
    /// type, `operations` gets their missing value.
    pub(super) fn pass_named_type(
        &mut self,
        pair: TypePair<'_>,
        requests: Vec<Request<'f>>,
        operations: &mut Vec<Operation>,
    ) -> Result<Vec<Request<'f>>, PlanError> {
        let Some(reader) = pair.reader() else {
            return Ok(requests);
        };
        let schema = pair.reader_schema();
        let mut here = Vec::with_capacity(requests.len());
        for request in requests {
            let Some(Step::Branch(name)) = request.steps.first() else {
                here.push(request);
                continue;
            };
            match find_branch(schema, &[reader], name) {
                Ok(_) => here.push(request.advance()),
                Err(kind) => operations.extend(self.absent(&request, kind)?),
            }
        }
        Ok(here)
    }
}

/// Number of searched branches that count as one visited value.
const BRANCHES: usize = 16;

/// The index of the branch called `name`. That is a full name, or a simple name that only one
/// branch has. If several branches have one full name, it is the full name with `#2` and so on.
pub(super) fn find_branch(
    schema: &Schema,
    branches: &[NodeId],
    name: &str,
) -> Result<usize, PlanErrorKind> {
    let full = |node: NodeId| match schema.node(node).name() {
        Some(full) => full.to_string(),
        None => schema.node(node).type_name().to_owned(),
    };
    if let Some(branch) = branches.iter().position(|&branch| full(branch) == name) {
        return Ok(branch);
    }
    let is_simple = |node: NodeId| schema.node(node).name().is_some_and(|n| n.simple() == name);
    let mut simple = (0..branches.len()).filter(|&branch| is_simple(branches[branch]));
    if let (Some(branch), None) = (simple.next(), simple.next()) {
        return Ok(branch);
    }
    let all: Vec<String> = branches.iter().map(|&branch| full(branch)).collect();
    let all = numbered(&all);
    match all.iter().position(|numbered| numbered == name) {
        Some(branch) => Ok(branch),
        None => Err(PlanErrorKind::NoSuchBranch {
            branch: name.to_owned(),
            branches: all,
        }),
    }
}

/// The error for a value that is not in the branch or field `asked` but in the branch at `branch`.
fn other_branch(schema: &Schema, branch: NodeId, asked: &str) -> DecodeErrorKind {
    match schema.node(branch) {
        Node::Null => DecodeErrorKind::Null,
        _ => DecodeErrorKind::OtherBranch {
            asked: asked.to_owned(),
            found: short_name(schema, branch),
        },
    }
}

/// The name of a type as a branch step gives it.
fn short_name(schema: &Schema, node: NodeId) -> String {
    match schema.node(node).name() {
        Some(name) => name.to_string(),
        None => schema.node(node).type_name().to_owned(),
    }
}
