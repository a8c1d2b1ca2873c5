//! Expressions that lead to a field or a branch that the schema lacks.

use atds_features::feature::CheckedFeature;

use super::Compiler;
use super::request::{Request, Target};
use crate::DecodeErrorKind;
use crate::plan::program::Operation;
use crate::plan::{Absent, PlanError, PlanErrorKind};

impl<'f> Compiler<'f> {
    /// Handles a request whose next step does not exist in the schema: its value is missing in
    /// every record, like a null. It is an error if the feature has no default and no mask, or if
    /// there is a reader's schema.
    pub(super) fn absent(
        &mut self,
        request: &Request<'f>,
        kind: PlanErrorKind,
    ) -> Result<Option<Operation>, PlanError> {
        let error = PlanError::new(request.name(), kind);
        let lists = request.steps.iter().filter(|step| step.is_list()).count();
        // A single index must not be missing, but a list of indices may be.
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

    /// The operations for a request whose field the schema lacks: they act as for a value of type
    /// null.
    pub(super) fn always_null(
        &mut self,
        requests: &[Request<'f>],
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        let mut operations = Vec::new();
        for request in requests {
            let path = at.to_owned();
            operations.extend(self.absent(request, PlanErrorKind::AlwaysNull { path })?);
        }
        Ok(operations)
    }

    /// Makes operands absent for all features that share them. Filters of several features can
    /// share an operand from the root, so if it is absent for one, it is absent for each. At the
    /// time of the call, `absent` contains only such operands.
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

/// Whether a feature has a default or a mask for missing values.
fn may_lack_fields(checked: &CheckedFeature) -> bool {
    checked.fill.is_some()
}
