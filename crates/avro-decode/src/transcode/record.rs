//! Records: writes fields in the reader's order, with some skipped or added.

use std::borrow::Cow;

use atds_features::path::field_step;

use super::run::{Depth, Run, Transcoded, error_at};
use crate::DecodeErrorKind;
use crate::limits::MAX_FILLED_PARTS;
use crate::plan::cursor::Cursor;
use crate::resolve::{DefaultField, ResolvedId};
use crate::schema::{Node, NodeId, Schema};

/// The step for a record.
#[derive(Clone, Debug)]
pub(super) struct RecordStep {
    pub(super) writer: NodeId,
    pub(super) reader: NodeId,
    /// Set if the reader has the fields in another order: the index of the skip of each of the
    /// writer's fields. The record is skipped once to find its fields, which are then read in the
    /// reader's order.
    pub(super) scan: Option<Box<[usize]>>,
    /// The reader's fields in their order. Without a scan, the skipped fields are between them.
    pub(super) parts: Box<[FieldStep]>,
    /// Number of the writer's fields that take no bytes.
    pub(super) empty_fields: usize,
}

/// A part of a record's step.
#[derive(Clone, Debug)]
pub(super) enum FieldStep {
    /// A field of the writer's, with the pair of types that it is read as.
    Field { field: usize, pair: ResolvedId },
    /// A field of the writer's to skip, and the index of its skip.
    Skip { field: usize, skip: usize },
    /// A field that only the reader has.
    Default(DefaultField),
}

impl Run<'_, '_> {
    pub(super) fn record(&mut self, record: &RecordStep, depth: Depth) -> Transcoded {
        self.count_empty(record.empty_fields)?;
        let Some(skips) = &record.scan else {
            return record.parts.iter().try_for_each(|part| match *part {
                FieldStep::Skip { field, skip } => self.skip(record, field, skip),
                _ => self.part(record, part, depth),
            });
        };
        let first = self.starts.len();
        for (field, &skip) in skips.iter().enumerate() {
            self.starts.push(self.cursor.position());
            self.skip(record, field, skip)?;
        }
        let end = self.cursor;
        for part in &record.parts {
            if let FieldStep::Field { field, .. } = *part {
                self.cursor = Cursor::new(self.input, self.starts[first + field]);
            }
            self.part(record, part, depth)?;
        }
        self.cursor = end;
        self.starts.truncate(first);
        Ok(())
    }

    /// Writes a field of the reader's record.
    fn part(&mut self, record: &RecordStep, part: &FieldStep, depth: Depth) -> Transcoded {
        match part {
            &FieldStep::Field { field, pair } => {
                let result = self.value(pair, depth);
                result.map_err(|error| {
                    let schema = &self.transcoder.writer;
                    Box::new(error.in_field(&field_name(schema, record.writer, field)))
                })
            }
            FieldStep::Default(default) => {
                let result = self.default(default, depth);
                result.map_err(|error| {
                    let schema = &self.transcoder.reader;
                    Box::new(error.in_field(&field_name(schema, record.reader, default.field)))
                })
            }
            FieldStep::Skip { .. } => Ok(()),
        }
    }

    fn skip(&mut self, record: &RecordStep, field: usize, skip: usize) -> Transcoded {
        let skips = &self.transcoder.skips;
        let result = skips.table.run(&skips.skips[skip], &mut self.cursor);
        result.map_err(|kind| {
            let error = error_at(*kind, self.cursor.position());
            let schema = &self.transcoder.writer;
            Box::new(error.in_field(&field_name(schema, record.writer, field)))
        })
    }

    fn default(&mut self, default: &DefaultField, depth: Depth) -> Transcoded {
        self.deeper(depth, 0, default.depth)?;
        self.filled_parts += default.parts;
        if self.filled_parts > MAX_FILLED_PARTS {
            return Err(self.error(DecodeErrorKind::DefaultsTooLarge));
        }
        self.out.extend_from_slice(&default.encoded);
        Ok(())
    }
}

fn field_name(schema: &Schema, record: NodeId, field: usize) -> Cow<'_, str> {
    match schema.node(record) {
        Node::Record(record) => field_step(&record.fields[field].name),
        _ => "".into(),
    }
}
