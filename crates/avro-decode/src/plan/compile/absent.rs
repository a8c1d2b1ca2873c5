//! Expressions that lead to a field or a branch that the schema lacks.

use super::Compiler;
use super::request::{Request, Target};
use crate::DecodeErrorKind;
use crate::feature::Checked;
use crate::plan::program::Operation;
use crate::plan::{Absent, PlanError, PlanErrorKind};

impl<'f> Compiler<'f> {
    /// What happens for a request whose next step leads to nothing in the
    /// schema: its value is missing in every record, like a null. An error if the
    /// feature has nothing for missing values, and if a reader's schema says what
    /// there is.
    pub(super) fn absent(
        &mut self,
        request: &Request<'f>,
        kind: PlanErrorKind,
    ) -> Result<Option<Operation>, PlanError> {
        let error = PlanError::new(request.name(), kind);
        let lists = request.steps.iter().filter(|step| step.is_list()).count();
        // An index is never missing, but a list of them may be.
        let is_one_index = matches!(request.target, Target::Index(..)) && lists == 0;
        if is_one_index || !may_lack_fields(request.checked) || self.options.reader_schema.is_some()
        {
            return Err(error);
        }
        let schema_rank = request.registers.len() + lists;
        if matches!(request.target, Target::Values(_)) && schema_rank > request.shape.len() {
            let kind = request.rank_mismatch(schema_rank);
            return Err(PlanError::new(request.name(), kind));
        }
        self.note_absent(Absent {
            expression: request.path.to_string(),
            error,
        });
        Ok(self.missing(request, DecodeErrorKind::Null))
    }

    /// A value of the type null: as a field that the schema lacks.
    pub(super) fn always_null(
        &mut self,
        requests: &[Request<'f>],
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        let mut operations = Vec::new();
        for request in requests {
            let place = at.to_owned();
            operations.extend(self.absent(request, PlanErrorKind::AlwaysNull { place })?);
        }
        Ok(operations)
    }

    /// Filters of several features can share an operand from the root: if it is
    /// absent, it is absent for each of them. Called while `absent` has nothing
    /// but such operands.
    pub(super) fn share_absent_operands(&mut self) -> Result<(), PlanError> {
        if self.absent.is_empty() {
            return Ok(());
        }
        let operands = self.absent.clone();
        for (checked, _, path) in super::filters::uses(self.features) {
            let expression = path.to_string();
            let mut same = operands.iter().filter(|one| one.expression == expression);
            let Some(operand) = same.next() else { continue };
            let error = PlanError::new(&checked.feature.name, operand.error.kind.clone());
            if !may_lack_fields(checked) {
                return Err(error);
            }
            self.note_absent(Absent { expression, error });
        }
        Ok(())
    }

    fn note_absent(&mut self, absent: Absent) {
        if !self.absent.contains(&absent) {
            self.absent.push(absent);
        }
    }
}

/// Whether a feature has something for what is missing.
fn may_lack_fields(checked: &Checked) -> bool {
    checked.fill.is_some()
}
