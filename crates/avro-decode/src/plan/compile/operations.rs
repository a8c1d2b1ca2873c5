//! Builds programs from operations.

use atds_features::path::Step;

use crate::DecodeErrorKind;
use crate::plan::output::Output;
use crate::plan::program::{Action, Missing, MissingAt, Operation, Program};
use crate::plan::row::Row;
use crate::plan::skip::Skip;

use super::Compiler;
use super::request::{Request, Target};

impl Operation {
    pub(super) fn new(field: &str, action: Action) -> Self {
        Operation {
            field: field.into(),
            optional: None,
            action,
        }
    }
}

/// Builds a program. It joins neighbouring skips, and reads values of dense rows by the fast path
/// for the usual layout.
pub(super) fn program(outputs: &[Output], operations: Vec<Operation>) -> Program {
    let mut joined: Vec<Operation> = Vec::with_capacity(operations.len());
    for mut operation in operations {
        if let Some(last) = joined.last_mut()
            && let Action::Skip { each, .. } = &mut last.action
            && let Action::Skip { each: next, .. } = &mut operation.action
        {
            each.append(next);
        } else {
            joined.push(operation);
        }
    }
    for operation in &mut joined {
        let row = match &mut operation.action {
            Action::Skip { all, each, .. } => {
                *all = Skip::all(each.iter().map(|(_, skip)| skip.clone()));
                None
            }
            Action::Value(read) => Row::new(read, None, outputs),
            Action::Array(items, read) => Row::new(read, Some(items), outputs),
            _ => None,
        };
        if let Some(row) = row {
            operation.action = Action::Row(Box::new(row));
        }
    }
    joined.into()
}

/// Makes operations read the same bytes in turn: all but the last return to their start.
pub(super) fn in_turn(
    outputs: &[Output],
    mut passes: Vec<Vec<Operation>>,
    at: &str,
) -> Vec<Operation> {
    let last = passes.pop().unwrap_or_default();
    let peeks = passes.into_iter().map(|pass| {
        let field = pass.first().map_or(at, |first| &first.field).to_owned();
        Operation::new(&field, Action::Peek(program(outputs, pass)))
    });
    peeks.chain(last).collect()
}

impl<'f> Compiler<'f> {
    /// The operation for a request whose value is missing. `None` for an operand: a missing operand
    /// equals nothing.
    pub(super) fn missing(&self, request: &Request<'f>, why: DecodeErrorKind) -> Option<Operation> {
        let depth = request.registers.len();
        let at = match request.target {
            Target::Operand(_) => return None,
            // A missing list of indices is empty, if that is not an error.
            Target::Index(number, _)
                if request.steps.iter().any(Step::is_list)
                    && self.outputs[number].fill.is_some() =>
            {
                return None;
            }
            Target::Index(..) => {
                let why = match why {
                    DecodeErrorKind::Null if !request.steps.iter().any(Step::is_list) => {
                        DecodeErrorKind::NullIndex
                    }
                    why => why,
                };
                return Some(Operation::new(request.text(), Action::Fail(why)));
            }
            Target::Values(_) if depth == request.shape.len() => MissingAt::Value,
            Target::Value(_) if !request.steps.iter().any(Step::is_list) => MissingAt::Value,
            _ => MissingAt::List(depth),
        };
        let missing = Missing {
            output: request.feature()?,
            at,
            is_row: !request.present && !matches!(request.target, Target::Value(_)),
            registers: request.registers.as_slice().into(),
            why,
        };
        Some(Operation::new(request.text(), Action::Missing(missing)))
    }

    /// Marks the row of a feature as present, once its first list or value is reached.
    pub(super) fn present(&self, request: &mut Request<'f>) -> Option<Operation> {
        if request.present {
            return None;
        }
        request.present = true;
        let is_row = matches!(
            request.target,
            Target::Values(_) | Target::Record(_) | Target::Entries(_)
        );
        let output = request
            .feature()
            .filter(|&output| is_row && self.outputs[output].row_mask.is_some())?;
        Some(Operation::new(request.text(), Action::Present(output)))
    }

    pub(super) fn register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    pub(super) fn operand(&mut self) -> usize {
        self.operands += 1;
        self.operands - 1
    }
}
