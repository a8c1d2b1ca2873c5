//! Compiles a resolution into steps.

use std::collections::HashMap;
use std::sync::Arc;

use super::record::{FieldStep, RecordStep};
use super::{Leaf, Skips, Transcoder, TypeStep};
use crate::DecodeOptions;
use crate::convert::{Rescale, units};
use crate::plan::skip::SkipTable;
use crate::resolve::{DefaultField, Resolution, Resolved, ResolvedId};
use crate::schema::{Node, NodeId, Record, Schema};

pub(super) fn compile(resolution: &Resolution, options: DecodeOptions) -> Transcoder {
    let mut compiler = Compiler {
        resolution,
        skips: Skips {
            table: SkipTable::with_max_depth(options.max_depth),
            skips: Vec::new(),
        },
        positions: HashMap::new(),
    };
    let steps = resolution.nodes.iter().map(|node| compiler.step(node));
    Transcoder {
        steps: steps.collect(),
        root: resolution.root,
        writer: Arc::clone(&resolution.writer),
        reader: Arc::clone(&resolution.reader),
        skips: compiler.skips,
        options,
    }
}

struct Compiler<'r> {
    resolution: &'r Resolution,
    skips: Skips,
    /// The index of each type's skip. Records that are resolved in several ways share the skips of
    /// their fields.
    positions: HashMap<NodeId, usize>,
}

impl Compiler<'_> {
    fn step(&mut self, node: &Resolved) -> TypeStep {
        let (writer, reader) = (&*self.resolution.writer, &*self.resolution.reader);
        match node {
            Resolved::Leaf {
                writer: w,
                reader: r,
            } => TypeStep::Leaf(
                times((writer, *w), (reader, *r))
                    .unwrap_or_else(|| leaf(writer.node(*w), reader.node(*r))),
            ),
            Resolved::Enum {
                writer,
                reader,
                symbols,
            } => TypeStep::Enum {
                writer: *writer,
                reader: *reader,
                symbols: symbols.clone(),
            },
            &Resolved::Array {
                writer: w, item, ..
            } => TypeStep::Array {
                item,
                min_item: min_item(writer, w),
            },
            &Resolved::Map {
                writer: w, value, ..
            } => TypeStep::Map {
                value,
                // A key takes at least one byte, for its length.
                min_entry: min_item(writer, w).saturating_add(1),
            },
            Resolved::Record {
                writer: w,
                reader: r,
                fields,
                defaults,
            } => match writer.node(*w) {
                Node::Record(record) => {
                    TypeStep::Record(Box::new(self.record((*w, *r), record, fields, defaults)))
                }
                _ => unreachable!("records are resolved from records"),
            },
            Resolved::Union { branches, .. } => TypeStep::Union(branches.clone()),
            &Resolved::Branch { branch, value, .. } => TypeStep::Branch { branch, value },
            &Resolved::Never { writer, reader } => TypeStep::Never { writer, reader },
        }
    }

    fn record(
        &mut self,
        (writer, reader): (NodeId, NodeId),
        record: &Record,
        fields: &[Option<(usize, ResolvedId)>],
        defaults: &[DefaultField],
    ) -> RecordStep {
        let schema = &*self.resolution.writer;
        let positions = fields.iter().flatten().map(|&(position, _)| position);
        let in_order = positions.is_sorted();

        // Each part with its sort key, its index among the reader's fields. A skip has the key of
        // the field before it in the data.
        let mut parts = Vec::with_capacity(fields.len() + defaults.len());
        let mut last = 0;
        for (field, read) in fields.iter().enumerate() {
            match *read {
                Some((position, pair)) => {
                    parts.push((position, FieldStep::Field { field, pair }));
                    last = position;
                }
                None if in_order => {
                    let skip = self.skip(record.fields[field].ty);
                    parts.push((last, FieldStep::Skip { field, skip }));
                }
                None => {}
            }
        }
        for default in defaults {
            parts.push((default.field, FieldStep::Default(default.clone())));
        }
        parts.sort_by_key(|&(position, _)| position);
        let scan = (!in_order).then(|| {
            let fields = record.fields.iter();
            fields.map(|field| self.skip(field.ty)).collect()
        });
        let fields = record.fields.iter();
        RecordStep {
            writer,
            reader,
            scan,
            parts: parts.into_iter().map(|(_, part)| part).collect(),
            empty_fields: fields
                .filter(|field| schema.is_always_empty(field.ty))
                .count(),
        }
    }

    /// The index of the skip of a type.
    fn skip(&mut self, ty: NodeId) -> usize {
        let Skips { table, skips } = &mut self.skips;
        *self.positions.entry(ty).or_insert_with(|| {
            skips.push(table.skip_of(&self.resolution.writer, ty));
            skips.len() - 1
        })
    }
}

/// The conversion of times whose unit changes.
fn times(writer: (&Schema, NodeId), reader: (&Schema, NodeId)) -> Option<Leaf> {
    let [data, unit, _] = units(writer.0.logical(writer.1), reader.0.logical(reader.1))?;
    let rescale = Rescale::new(data, unit, unit);
    let long = *writer.0.node(writer.1) == Node::Long;
    (!rescale.is_nothing()).then_some(Leaf::Times { long, rescale })
}

fn leaf(writer: &Node, reader: &Node) -> Leaf {
    match (writer, reader) {
        (Node::Null, _) => Leaf::Nothing,
        (Node::Boolean, _) => Leaf::Boolean,
        (Node::Int, Node::Float) => Leaf::IntToFloat,
        (Node::Int, Node::Double) => Leaf::IntToDouble,
        (Node::Int, _) => Leaf::Int,
        (Node::Long, Node::Float) => Leaf::LongToFloat,
        (Node::Long, Node::Double) => Leaf::LongToDouble,
        (Node::Long, _) => Leaf::Long,
        (Node::Float, Node::Double) => Leaf::FloatToDouble,
        (Node::Float, _) => Leaf::Fixed(4),
        (Node::Double, _) => Leaf::Fixed(8),
        (Node::Fixed(fixed), _) => Leaf::Fixed(fixed.size),
        (Node::Bytes, Node::Bytes) => Leaf::Bytes,
        (Node::Bytes | Node::String, _) => Leaf::Text,
        (Node::Array(_) | Node::Map(_) | Node::Union(_) | Node::Record(_) | Node::Enum(_), _) => {
            unreachable!("a leaf is a primitive or a fixed")
        }
    }
}

/// Minimum number of bytes of an item of an array, or a value of a map.
fn min_item(schema: &Schema, id: NodeId) -> usize {
    let (Node::Array(inner) | Node::Map(inner)) = schema.node(id) else {
        unreachable!("arrays and maps are resolved from their likes");
    };
    usize::try_from(schema.min_encoded_len(*inner)).unwrap_or(usize::MAX)
}
