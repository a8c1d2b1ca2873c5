//! Checks the meanings of columns against the meanings fixed by earlier schemas.

use atds_features::feature::Feature;

use super::{Compiler, TypePair};
use crate::convert::{
    Asked, Compiled, Meaning, Refusal, Rescale, Source, Within, in_words, operand, source,
};
use crate::plan::meanings::Fixed;
use crate::plan::{MeaningError, MeaningOf, PlanErrorKind};
use crate::resolve::Resolved;
use crate::schema::{NodeId, Schema};

impl Compiler<'_> {
    /// How to read the values of a leaf. Fixes their meaning, or converts them to the meaning
    /// already fixed.
    pub(super) fn source(
        &mut self,
        pair: TypePair<'_>,
        of: MeaningOf,
        feature: &Feature,
        within: Within,
    ) -> Result<Source, PlanErrorKind> {
        let reader = reader_type(pair);
        let symbols = match pair.node() {
            Resolved::Enum { symbols, .. } => Some(&**symbols),
            _ => None,
        };
        let writer = (pair.writer_schema(), pair.writer());
        let column = self.meanings.of(&of);
        let asked = Asked {
            dtype: feature.dtype,
            convert: &feature.convert,
            any_bytes: feature.any_bytes,
        };
        let compiled = source(writer, reader, symbols, asked, column, within);
        let Compiled { source, meaning } = match compiled {
            Ok(compiled) => compiled,
            Err(Refusal::Convert(error)) => return Err(PlanErrorKind::Convert(error)),
            Err(Refusal::Meaning(found)) => return Err(self.other_meaning(pair, &of, found)),
        };
        self.fix(pair, of, meaning);
        Ok(source)
    }

    /// The conversion of times that are compared or used as indices. It converts them to the unit
    /// that is fixed for any of `of`, and fixes their meaning for all of `of`.
    pub(super) fn operand_unit(
        &mut self,
        pair: TypePair<'_>,
        of: &[MeaningOf],
    ) -> Result<Option<Rescale>, PlanErrorKind> {
        let writer = (pair.writer_schema(), pair.writer());
        let fixed = of.iter().find(|of| self.meanings.of(of).is_some());
        let column = fixed.and_then(|of| self.meanings.of(of));
        let (meaning, rescale) = match operand(writer, reader_type(pair), column) {
            Ok(operand) => operand,
            Err(Refusal::Convert(error)) => return Err(PlanErrorKind::Convert(error)),
            Err(Refusal::Meaning(found)) => {
                return Err(self.other_meaning(pair, fixed.unwrap_or(&of[0]), found));
            }
        };
        for of in of {
            self.fix(pair, of.clone(), meaning.clone());
        }
        Ok(rescale)
    }

    /// Fixes the meaning of a leaf's values, unless it is already fixed.
    pub(super) fn fix(&mut self, pair: TypePair<'_>, of: MeaningOf, meaning: Meaning) {
        let origin = &self.options.origin;
        self.meanings.fix(of, || Fixed {
            meaning,
            schema_type: in_words(reader_type(pair)),
            origin: origin.clone(),
        });
    }

    #[cold]
    pub(super) fn other_meaning(
        &self,
        pair: TypePair<'_>,
        of: &MeaningOf,
        found: Meaning,
    ) -> PlanErrorKind {
        let schema_type = in_words(reader_type(pair));
        let Some(fixed) = self.meanings.get(of) else {
            unreachable!("the meaning is another than the one that is fixed");
        };
        PlanErrorKind::Meaning(Box::new(MeaningError {
            found,
            schema_type,
            column: fixed.meaning.clone(),
            column_type: fixed.schema_type.clone(),
            origin: fixed.origin.clone(),
            of: of.clone(),
        }))
    }
}

/// The type that a value is read as.
fn reader_type(pair: TypePair<'_>) -> (&Schema, NodeId) {
    let schema = pair.reader_schema();
    (schema, pair.reader().unwrap_or_else(|| schema.root()))
}
