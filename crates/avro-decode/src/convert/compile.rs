//! From a pair of types and a choice to a conversion.

use std::sync::Arc;

use tensor_batch::DType;

use super::decimal::Decimal;
use super::duration::Duration;
use super::enums::{EnumIds, EnumPair, EnumSymbols, SymbolTable};
use super::ids::{Ids, NumberIds, TextIds};
use super::numbers::Numbers;
use super::text::{Bytes, Text};
use super::time::{Time, time_unit};
use super::{Conversion, Convert, ConvertError, Family, Source, TimeUnit};
use crate::plan::leaf::Leaf;
use crate::schema::{LogicalType, Node, NodeId, Schema};

/// How data of the type `writer` is read as one of the type `reader` and made
/// elements of `dtype`. `enum_symbols` has the reader's symbol for each of the
/// writer's, where the enums differ.
///
/// # Errors
/// The type has no such conversion, or none to this dtype.
pub(crate) fn source(
    writer: (&Schema, NodeId),
    reader: (&Schema, NodeId),
    enum_symbols: Option<&[Option<u32>]>,
    dtype: DType,
    convert: &Convert,
) -> Result<Source, ConvertError> {
    let types = Types::new(writer, reader, enum_symbols)?;
    types.check(dtype, convert)?;
    types
        .source(dtype, convert)
        .ok_or_else(|| types.wrong_dtype(dtype, convert))
}

/// How the data is read, and what it means.
struct Types<'a> {
    reader: (&'a Schema, NodeId),
    logical: Option<&'a LogicalType>,
    data: Data<'a>,
}

/// What two types have in common.
enum Data<'a> {
    Number { writer: Leaf, reader: Leaf },
    Bytes(Bytes),
    Enum(EnumPair<'a>),
}

impl<'a> Types<'a> {
    fn new(
        writer: (&'a Schema, NodeId),
        reader: (&'a Schema, NodeId),
        enum_symbols: Option<&'a [Option<u32>]>,
    ) -> Result<Self, ConvertError> {
        if !is_element(reader.0.node(reader.1)) {
            return Err(ConvertError::NotAnElement {
                schema_type: in_words(reader),
            });
        }
        let data = data(
            writer.0.node(writer.1),
            reader.0.node(reader.1),
            enum_symbols,
        );
        Ok(Types {
            reader,
            logical: reader.0.logical(reader.1),
            data: data.ok_or_else(|| ConvertError::Unresolved {
                writer: in_words(writer),
                reader: in_words(reader),
            })?,
        })
    }

    /// Whether the type has the conversion, be it to another dtype.
    fn check(&self, dtype: DType, convert: &Convert) -> Result<(), ConvertError> {
        let schema_type = || in_words(self.reader);
        match convert {
            &Convert::HashBuckets(buckets) if i64::try_from(buckets).is_err() || buckets == 0 => {
                Err(ConvertError::HashBuckets(buckets))
            }
            Convert::HashBuckets(_) | Convert::Vocabulary(_) if !self.has_ids() => {
                Err(ConvertError::NoIds {
                    schema_type: schema_type(),
                })
            }
            Convert::Vocabulary(vocabulary) if dtype == DType::Int32 => {
                let outside = vocabulary.id_outside_int32();
                outside.map_or(Ok(()), |id| Err(ConvertError::IdRange { id }))
            }
            Convert::Unit(_) if self.time_unit().is_none() => Err(ConvertError::NotATime {
                schema_type: schema_type(),
            }),
            _ => Ok(()),
        }
    }

    /// How the type is read to become `dtype`, if it can.
    fn source(&self, dtype: DType, convert: &Convert) -> Option<Source> {
        match convert {
            Convert::Exact => self.exact(dtype),
            Convert::Cast => self.exact(dtype).or_else(|| self.cast(dtype)),
            &Convert::HashBuckets(buckets) => match dtype {
                DType::Int64 => self.ids(Ids::Hash(buckets)),
                _ => None,
            },
            Convert::Vocabulary(vocabulary) => match dtype {
                DType::Int32 | DType::Int64 => self.ids(Ids::Vocabulary(Arc::clone(vocabulary))),
                _ => None,
            },
            &Convert::Unit(unit) => match dtype {
                DType::Int64 => self.time(unit),
                _ => None,
            },
        }
    }

    fn exact(&self, dtype: DType) -> Option<Source> {
        match (&self.data, self.logical, dtype) {
            (&Data::Number { writer, reader }, ..) if reader.dtype() == dtype => {
                if writer == reader {
                    return Some(Source::Plain(reader));
                }
                Numbers::new(writer, reader, dtype).map(Family::Numbers)
            }
            (
                &Data::Bytes(bytes),
                Some(&LogicalType::Decimal { scale, .. }),
                DType::Int64 | DType::Float64,
            ) => Some(Family::Decimal(Decimal { bytes, scale })),
            (Data::Bytes(_), Some(LogicalType::Duration), _) => {
                (dtype == DType::Int64).then_some(Family::Duration(Duration))
            }
            (Data::Bytes(Bytes::Delimited { utf8 }), _, DType::String) => {
                return Some(Source::Plain(if *utf8 {
                    Leaf::String
                } else {
                    Leaf::Bytes
                }));
            }
            (&Data::Bytes(bytes), _, DType::String) => Some(Family::Text(self.text(bytes))),
            (Data::Enum(_), _, DType::String) => {
                let symbols = self.symbols(|_, symbol| symbol.into());
                symbols.map(|table| Family::EnumSymbols(EnumSymbols(table)))
            }
            (Data::Enum(_), _, DType::Int32) => self.enum_ids(|index, _| index.into()),
            _ => None,
        }
        .map(other)
    }

    /// What is only done on request.
    fn cast(&self, dtype: DType) -> Option<Source> {
        match (&self.data, self.logical, dtype) {
            (&Data::Number { writer, reader }, ..) => {
                Numbers::new(writer, reader, dtype).map(Family::Numbers)
            }
            (
                &Data::Bytes(bytes),
                Some(&LogicalType::Decimal { scale, .. }),
                DType::Float16 | DType::BFloat16 | DType::Float32,
            ) => Some(Family::Decimal(Decimal { bytes, scale })),
            (Data::Enum(_), _, DType::Int64) => self.enum_ids(|index, _| index.into()),
            _ => None,
        }
        .map(other)
    }

    fn ids(&self, ids: Ids) -> Option<Source> {
        let family = match self.data {
            Data::Number { writer, .. } => Some(Family::NumberIds(NumberIds {
                long: writer == Leaf::Long,
                ids,
            })),
            Data::Bytes(bytes) => Some(Family::TextIds(TextIds {
                text: self.text(bytes),
                ids,
            })),
            Data::Enum(_) => self.enum_ids(|_, symbol| ids.of(symbol.as_bytes())),
        };
        family.map(other)
    }

    fn has_ids(&self) -> bool {
        match self.data {
            Data::Number { reader, .. } => matches!(reader, Leaf::Int | Leaf::Long),
            Data::Bytes(_) => self.logical != Some(&LogicalType::Duration),
            Data::Enum(_) => true,
        }
    }

    fn time(&self, to: TimeUnit) -> Option<Source> {
        let (&Data::Number { writer, .. }, Some(from)) = (&self.data, self.time_unit()) else {
            return None;
        };
        let long = writer == Leaf::Long;
        if long && from == to {
            return Some(Source::Plain(Leaf::Long));
        }
        Some(other(Family::Time(Time { long, from, to })))
    }

    fn time_unit(&self) -> Option<TimeUnit> {
        time_unit(self.logical?)
    }

    fn text(&self, bytes: Bytes) -> Text {
        let uuid = self.logical == Some(&LogicalType::Uuid);
        Text {
            bytes,
            // In a string it is the text already.
            uuid: uuid && matches!(bytes, Bytes::Fixed(_)),
        }
    }

    fn enum_ids(&self, id: impl Fn(u32, &str) -> i64) -> Option<Family> {
        self.symbols(id)
            .map(|table| Family::EnumIds(EnumIds(table)))
    }

    fn symbols<T>(&self, becomes: impl Fn(u32, &str) -> T) -> Option<SymbolTable<T>> {
        match self.data {
            Data::Enum(pair) => Some(pair.table(&in_words(self.reader), becomes)),
            _ => None,
        }
    }

    #[cold]
    fn wrong_dtype(&self, asked: DType, convert: &Convert) -> ConvertError {
        let has = |dtype: DType, convert| self.source(dtype, convert).is_some();
        let dtypes = DType::ALL.into_iter();
        ConvertError::DType {
            schema_type: in_words(self.reader),
            convert: convert.clone(),
            expected: dtypes.filter(|&dtype| has(dtype, convert)).collect(),
            asked,
            castable: *convert == Convert::Exact && has(asked, &Convert::Cast),
        }
    }
}

fn data<'a>(
    writer: &'a Node,
    reader: &'a Node,
    symbols: Option<&'a [Option<u32>]>,
) -> Option<Data<'a>> {
    Some(match (writer, reader) {
        (Node::Bytes, Node::Bytes) => Data::Bytes(Bytes::Delimited { utf8: false }),
        (Node::Bytes | Node::String, Node::Bytes | Node::String) => {
            Data::Bytes(Bytes::Delimited { utf8: true })
        }
        (Node::Fixed(writer), Node::Fixed(reader)) if writer.size == reader.size => {
            Data::Bytes(Bytes::Fixed(writer.size))
        }
        (Node::Enum(writer), Node::Enum(reader)) => Data::Enum(EnumPair {
            writer,
            reader,
            symbols,
        }),
        _ => {
            let (writer, reader) = (number(writer)?, number(reader)?);
            Numbers::new(writer, reader, reader.dtype())?;
            Data::Number { writer, reader }
        }
    })
}

fn number(node: &Node) -> Option<Leaf> {
    Some(match node {
        Node::Boolean => Leaf::Boolean,
        Node::Int => Leaf::Int,
        Node::Long => Leaf::Long,
        Node::Float => Leaf::Float,
        Node::Double => Leaf::Double,
        _ => return None,
    })
}

fn is_element(node: &Node) -> bool {
    !matches!(
        node,
        Node::Null | Node::Array(_) | Node::Map(_) | Node::Union(_) | Node::Record(_)
    )
}

fn other(family: Family) -> Source {
    Source::Other(Box::new(Conversion(family)))
}

/// Such as `int`, `fixed 'Price' (decimal)`.
fn in_words((schema, id): (&Schema, NodeId)) -> String {
    let name = schema.describe(id);
    match schema.logical(id) {
        Some(logical) => format!("{name} ({})", logical.name()),
        None => name,
    }
}
