//! Making programs of operations.

use crate::DecodeErrorKind;
use crate::plan::program::{Action, Gap, Missing, Operation, Program};
use crate::plan::row::Row;
use crate::plan::skip::Skip;
use crate::plan::writer::Writer;

use super::Compiler;
use super::consumer::{Consumer, Goal};
use crate::path::Step;

impl Operation {
    pub(super) fn new(field: &str, action: Action) -> Self {
        Operation {
            field: field.into(),
            optional: None,
            action,
        }
    }
}

/// Makes a program, in which neighbouring skips are one step where their sizes
/// are known, and values of dense rows are read as most are laid out.
pub(super) fn program(writers: &[Writer], operations: Vec<Operation>) -> Program {
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
            Action::Value(read) => Row::new(read, None, writers),
            Action::Array(items, read) => Row::new(read, Some(items), writers),
            _ => None,
        };
        if let Some(row) = row {
            operation.action = Action::Row(Box::new(row));
        }
    }
    joined.into()
}

/// One after another on the same bytes: all but the last go back to where they
/// started.
pub(super) fn in_turn(
    writers: &[Writer],
    mut passes: Vec<Vec<Operation>>,
    at: &str,
) -> Vec<Operation> {
    let last = passes.pop().unwrap_or_default();
    let peeks = passes.into_iter().map(|pass| {
        let field = pass.first().map_or(at, |first| &first.field).to_owned();
        Operation::new(&field, Action::Peek(program(writers, pass)))
    });
    peeks.chain(last).collect()
}

impl<'f> Compiler<'f> {
    /// What happens where a consumer's value is not there. Nothing for an
    /// operand: it equals nothing.
    pub(super) fn missing(
        &self,
        consumer: &Consumer<'f>,
        why: DecodeErrorKind,
    ) -> Option<Operation> {
        let depth = consumer.registers.len();
        let gap = match consumer.goal {
            Goal::Operand(_) => return None,
            // A list of them that is missing is empty, where that is not an error.
            Goal::Index(number, _)
                if consumer.steps.iter().any(Step::is_list)
                    && self.writers[number].fill.is_some() =>
            {
                return None;
            }
            Goal::Index(..) => {
                let why = match why {
                    DecodeErrorKind::Null if !consumer.steps.iter().any(Step::is_list) => {
                        DecodeErrorKind::NullIndex
                    }
                    why => why,
                };
                return Some(Operation::new(consumer.text(), Action::Fail(why)));
            }
            Goal::Values(_) if depth == consumer.shape.len() => Gap::Value,
            Goal::Value(_) if !consumer.steps.iter().any(Step::is_list) => Gap::Value,
            _ => Gap::List(depth),
        };
        let missing = Missing {
            writer: consumer.feature()?,
            gap,
            is_row: !consumer.present && !matches!(consumer.goal, Goal::Value(_)),
            registers: consumer.registers.as_slice().into(),
            why,
        };
        Some(Operation::new(consumer.text(), Action::Missing(missing)))
    }

    /// Marks the row of a feature whose first list, or value, has been reached.
    pub(super) fn present(&self, consumer: &mut Consumer<'f>) -> Option<Operation> {
        if consumer.present {
            return None;
        }
        consumer.present = true;
        let is_row = matches!(
            consumer.goal,
            Goal::Values(_) | Goal::Record(_) | Goal::Entries(_)
        );
        let writer = consumer
            .feature()
            .filter(|&writer| is_row && self.writers[writer].row_mask.is_some())?;
        Some(Operation::new(consumer.text(), Action::Present(writer)))
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
