//! Explains in an error why a pair of types cannot be resolved.

use atds_features::path::field_step;

use super::never::Why;
use super::{Resolution, ResolveError, ResolveErrorKind, Resolved, ResolvedId};
use crate::nearest::nearest;
use crate::schema::describe::describe;
use crate::schema::{LogicalType, Node, NodeId};

impl Resolution {
    /// The reason that the pair at `id` is [`Resolved::Never`], with the path of the field from
    /// that pair. `None` if the pair is resolved.
    pub fn why_never(&self, id: ResolvedId) -> Option<ResolveError> {
        let mut at = id;
        let mut path = Vec::new();
        loop {
            let &Resolved::Never { writer, reader } = self.node(at) else {
                return None;
            };
            let why = self.never.get(at)?;
            path.extend(self.field_of(reader, why).map(field_step));
            if let Why::Within { part, .. } = why {
                at = part;
                continue;
            }
            let (kind, reader) = self.kind(why, writer, reader);
            return Some(ResolveError {
                kind,
                field: path.join("."),
                writer: describe(&self.writer, writer),
                reader: describe(&self.reader, reader),
            });
        }
    }

    /// The name of the field of the reader's type that a reason is about.
    fn field_of(&self, reader: NodeId, why: Why) -> Option<&str> {
        let field = match why {
            Why::Within { field, .. } => field?,
            Why::Missing { field } | Why::BadDefault { field } | Why::DefaultTooLarge { field } => {
                field
            }
            _ => return None,
        };
        match self.reader.node(reader) {
            Node::Record(record) => Some(&record.fields[field].name),
            _ => None,
        }
    }

    /// The error's kind, and the reader's type that it is about.
    fn kind(&self, why: Why, writer: NodeId, reader: NodeId) -> (ResolveErrorKind, NodeId) {
        let (w, r) = (self.writer.node(writer), self.reader.node(reader));
        match (why, w, r) {
            (Why::Names, ..) => (ResolveErrorKind::Names, reader),
            (Why::Sizes, Node::Fixed(w), Node::Fixed(r)) => {
                let (writer, size) = (w.size, r.size);
                let kind = ResolveErrorKind::Sizes {
                    writer,
                    reader: size,
                };
                (kind, reader)
            }
            (Why::LogicalTypes, ..) => {
                let (w, r) = (self.writer.logical(writer), self.reader.logical(reader));
                let kind = match (w, r) {
                    (
                        Some(&LogicalType::Decimal { precision, scale }),
                        Some(&LogicalType::Decimal {
                            precision: as_precision,
                            scale: as_scale,
                        }),
                    ) => ResolveErrorKind::Decimals {
                        writer: (precision, scale),
                        reader: (as_precision, as_scale),
                    },
                    _ => ResolveErrorKind::LogicalTypes {
                        writer: name(w),
                        reader: name(r),
                        is_coarser: is_coarser(w, r),
                    },
                };
                (kind, reader)
            }
            (Why::Missing { field }, Node::Record(w), Node::Record(r)) => {
                let field = &r.fields[field];
                let names = w.fields.iter().map(|field| field.name.as_str());
                let nearest = nearest(&field.name, names).map(str::to_owned);
                (ResolveErrorKind::MissingField { nearest }, field.ty)
            }
            (Why::BadDefault { field }, _, Node::Record(r)) => {
                (ResolveErrorKind::BadDefault, r.fields[field].ty)
            }
            (Why::DefaultTooLarge { field }, _, Node::Record(r)) => {
                (ResolveErrorKind::DefaultTooLarge, r.fields[field].ty)
            }
            _ => (ResolveErrorKind::Types, reader),
        }
    }
}

fn name(logical: Option<&LogicalType>) -> Box<str> {
    logical.map_or("", LogicalType::name).into()
}

/// Whether the only obstacle is that the reader's unit of time is coarser.
fn is_coarser(writer: Option<&LogicalType>, reader: Option<&LogicalType>) -> bool {
    let (writer, reader) = (
        writer.and_then(LogicalType::time),
        reader.and_then(LogicalType::time),
    );
    matches!((writer, reader), (Some((from, _)), Some((to, _))) if from.becomes(to))
}
