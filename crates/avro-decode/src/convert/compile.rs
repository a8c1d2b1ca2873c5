//! Compiles a pair of types and a [`Convert`] into a conversion.

use std::collections::HashMap;
use std::sync::Arc;

use atds_features::words::Shown;
use atds_features::{Convert, Ids, TimeUnit};
use tensor_batch::DType;

use super::decimal::Decimal;
use super::duration::Duration;
use super::enums::{EnumIds, EnumPair, EnumSymbols, SymbolTable};
use super::ids::{NumberIds, TextIds};
use super::meaning::{Form, Meaning, Reach};
use super::number_text::{NumberText, NumberTextIds};
use super::numbers::Numbers;
use super::octets::Octets;
use super::text::{Bytes, Text};
use super::time::{Rescale, Time};
use super::{Conversion, ConvertError, Family, Source};
use crate::plan::leaf::Leaf;
use crate::schema::{LogicalType, Node, NodeId, Schema};

/// How to read the values of a type, and their meaning.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub(crate) source: Source,
    /// The meaning of the elements: the column's, if that is already fixed.
    pub(crate) meaning: Meaning,
}

/// Why the values of a type cannot be read as requested.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    /// The type has no such conversion.
    Convert(ConvertError),
    /// The values have this meaning, and do not convert to the column's meaning.
    Meaning(Meaning),
}

/// The context of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// Not in a union, or in a union with null alone.
    Itself,
    /// In a union of several types that are read as one. Numbers are cast to the union's dtype, or
    /// become text if the union holds text.
    Union,
}

/// A feature's request to the conversion of its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) dtype: DType,
    pub(crate) convert: &'a Convert,
    /// Whether strings are returned as the stored bytes, which need not be UTF-8.
    pub(crate) any_bytes: bool,
}

/// The conversion that reads data of type `writer` as type `reader` and returns the elements that
/// are `asked` for. If the enums differ, `enum_symbols` gives the reader's symbol for each symbol
/// of the writer. `column` is the meaning of the column's elements, if it is already fixed.
///
/// # Errors
/// If the type has no such conversion, or none to this dtype, or its values do not convert to the
/// column's meaning.
pub(crate) fn source(
    writer: (&Schema, NodeId),
    reader: (&Schema, NodeId),
    enum_symbols: Option<&[Option<u32>]>,
    asked: Asked<'_>,
    column: Option<&Meaning>,
    within: Within,
) -> Result<Compiled, Refusal> {
    let Asked { dtype, convert, .. } = asked;
    let mut types = Types::new(writer, reader, enum_symbols, within).map_err(Refusal::Convert)?;
    types.any_bytes = asked.any_bytes && form(convert) == Form::Elements;
    let meaning = types.meaning(dtype, convert);
    if let Some(column) = column {
        match meaning.reach(column, form(convert)) {
            Some(reach) => types.reach(reach, column),
            // For plain values, the dtype alone tells whether they fit together.
            None if meaning.is_plain() && column.is_plain() => {}
            None => return Err(Refusal::Meaning(meaning)),
        }
    }
    types.check(dtype, convert).map_err(Refusal::Convert)?;
    match types.source(dtype, convert) {
        Some(source) => Ok(Compiled {
            source,
            meaning: column.cloned().unwrap_or(meaning),
        }),
        None => Err(Refusal::Convert(types.wrong_dtype(dtype, convert))),
    }
}

/// The meaning of unconverted values that are compared or used as indices: text or a number. For
/// times also the change from their unit to that of `column`, the meaning fixed by earlier schemas.
///
/// # Errors
/// If the values do not convert to the meaning of `column`, or cannot be compared or used as
/// indices.
pub(crate) fn operand(
    writer: (&Schema, NodeId),
    reader: (&Schema, NodeId),
    column: Option<&Meaning>,
) -> Result<(Meaning, Option<Rescale>), Refusal> {
    let mut types = Types::new(writer, reader, None, Within::Itself).map_err(Refusal::Convert)?;
    let meaning = types.meaning(DType::String, &Convert::Exact);
    if let Some(column) = column {
        match meaning.reach(column, Form::Elements) {
            Some(reach) => types.reach(reach, column),
            // The filter's own error says more.
            None if meaning.is_plain() && column.is_plain() => {}
            None => return Err(Refusal::Meaning(meaning)),
        }
    }
    Ok((column.cloned().unwrap_or(meaning), types.rescale()))
}

/// The types of the data and of the column, and how values differ between them.
struct Types<'a> {
    reader: (&'a Schema, NodeId),
    logical: Option<&'a LogicalType>,
    data: Data<'a>,
    /// The units of times: of the data, of the reader's type, and of the column.
    units: Option<[TimeUnit; 3]>,
    /// The column's number of digits after the point, if the type has another number.
    column_scale: Option<u32>,
    /// The column's number for each symbol, if the type has other numbers.
    column_symbols: Option<HashMap<&'a str, u32>>,
    within: Within,
    /// Whether strings are returned as the stored bytes, which need not be UTF-8.
    any_bytes: bool,
}

/// The part that the writer's and the reader's types share.
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
        within: Within,
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
            units: units(writer.0.logical(writer.1), reader.0.logical(reader.1)),
            column_scale: None,
            column_symbols: None,
            within,
            any_bytes: false,
        })
    }

    /// The meaning of the elements.
    fn meaning(&self, dtype: DType, convert: &Convert) -> Meaning {
        let form = form(convert);
        let is_text = dtype == DType::String || form == Form::Ids;
        match (&self.data, self.logical) {
            (Data::Number { .. }, _) if self.within == Within::Union && is_text => Meaning::Text,
            (Data::Number { .. }, Some(logical)) => match (logical.time(), convert) {
                (Some((clock, _)), &Convert::Unit(unit)) => Meaning::Time { clock, unit },
                (Some((clock, unit)), _) => Meaning::Time { clock, unit },
                (None, _) => Meaning::Number,
            },
            (Data::Number { .. }, None) => Meaning::Number,
            (Data::Enum(_), _) if is_text => Meaning::Text,
            (Data::Enum(pair), _) => Meaning::Symbols(pair.reader.symbols.as_slice().into()),
            (&Data::Bytes(bytes), Some(&LogicalType::Decimal { scale, .. })) if is_text => {
                let size = match bytes {
                    Bytes::Fixed(size) => Some(size),
                    Bytes::Delimited { .. } => None,
                };
                Meaning::DecimalBytes { scale, size }
            }
            (Data::Bytes(_), Some(&LogicalType::Decimal { scale, .. })) => match dtype {
                DType::Int64 => Meaning::Decimal { scale },
                _ => Meaning::Number,
            },
            (Data::Bytes(_), Some(LogicalType::Duration)) => Meaning::Duration,
            // In a union with text, such values are returned as bytes.
            (Data::Bytes(Bytes::Fixed(_)), Some(LogicalType::Uuid)) if self.any_bytes => {
                match self.within {
                    Within::Itself => Meaning::UuidBytes,
                    Within::Union => Meaning::Bytes,
                }
            }
            (Data::Bytes(_), Some(LogicalType::Uuid)) => Meaning::Uuid,
            (Data::Bytes(_), Some(LogicalType::BigDecimal)) => Meaning::BigDecimal,
            (Data::Bytes(_), _) if dtype == DType::UInt8 && form == Form::Elements => {
                Meaning::Number
            }
            (Data::Bytes(_), _) => match self.reader.0.node(self.reader.1) {
                Node::String => Meaning::Text,
                _ => Meaning::Bytes,
            },
        }
    }

    /// Sets the fields that convert the values to the meaning of `column`.
    fn reach(&mut self, reach: Reach, column: &'a Meaning) {
        match (reach, column) {
            (Reach::Same, _) => {}
            (Reach::Times(to), _) => {
                if let Some([.., unit]) = &mut self.units {
                    *unit = to;
                }
            }
            (Reach::Digits(to), _) => self.column_scale = Some(to),
            (Reach::Symbols, Meaning::Symbols(symbols)) => {
                let mut numbers = HashMap::with_capacity(symbols.len());
                for (symbol, number) in symbols.iter().zip(0..) {
                    // The first of equal symbols counts.
                    numbers.entry(symbol.as_str()).or_insert(number);
                }
                self.column_symbols = Some(numbers);
            }
            (Reach::Symbols, _) => unreachable!("the column is of symbols"),
        }
    }

    /// Checks that the type has the conversion, to this or another dtype.
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
            Convert::Vocabulary(vocabulary) => {
                let range = dtype.integer_range();
                match range.and_then(|range| vocabulary.id_outside(&range)) {
                    Some(id) => Err(ConvertError::IdRange { id, dtype }),
                    None => Ok(()),
                }
            }
            Convert::Unit(_) if self.units.is_none() => Err(ConvertError::NotATime {
                schema_type: schema_type(),
            }),
            _ => Ok(()),
        }
    }

    /// How to read the type as `dtype`; `None` if it cannot become `dtype`.
    fn source(&self, dtype: DType, convert: &Convert) -> Option<Source> {
        match convert {
            Convert::Exact if self.within == Within::Union => self.in_union(dtype),
            Convert::Exact => self.exact(dtype),
            Convert::Cast if dtype == DType::String => self.source(dtype, &Convert::Exact),
            Convert::Cast => self.exact(dtype).or_else(|| self.cast(dtype)),
            &Convert::HashBuckets(buckets) => match dtype {
                DType::Int64 => self.ids(Ids::Hash(buckets)),
                _ => None,
            },
            Convert::Vocabulary(vocabulary) if dtype.is_integer() => {
                self.ids(Ids::Vocabulary(Arc::clone(vocabulary)))
            }
            Convert::Vocabulary(_) => None,
            &Convert::Unit(unit) => match dtype {
                DType::Int64 => self.in_unit(unit),
                _ => None,
            },
        }
    }

    fn exact(&self, dtype: DType) -> Option<Source> {
        match (&self.data, self.logical, dtype) {
            (&Data::Number { writer, reader }, ..) => {
                if let Some(rescale) = self.rescale() {
                    // An int that becomes a finer unit is a long of that unit.
                    let is_widened = reader == Leaf::Int && self.is_converted();
                    let exact = if is_widened { Leaf::Long } else { reader };
                    return (exact.dtype() == dtype).then(|| time(writer, rescale));
                }
                if reader.dtype() != dtype {
                    return None;
                }
                if writer == reader {
                    return Some(Source::Plain(reader));
                }
                Numbers::new(writer, reader, dtype).map(Family::Numbers)
            }
            (
                &Data::Bytes(bytes),
                Some(&LogicalType::Decimal { scale, .. }),
                DType::Int64 | DType::Float64,
            ) => Some(Family::Decimal(self.decimal(bytes, scale))),
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
            (Data::Bytes(_), _, DType::UInt8)
                if self.within == Within::Itself && are_octets(self.reader) =>
            {
                Some(Family::Octets(Octets))
            }
            (Data::Enum(_), _, DType::String) => {
                let symbols = self.symbols(|_, symbol| symbol.into());
                symbols.map(|table| Family::EnumSymbols(EnumSymbols(table)))
            }
            (Data::Enum(_), _, DType::Int32) => self.enum_numbers(),
            _ => None,
        }
        .map(other)
    }

    /// The source of a value in a union that is read as one dtype. The caller has found `dtype` to
    /// be the union's dtype.
    fn in_union(&self, dtype: DType) -> Option<Source> {
        match (&self.data, dtype) {
            (&Data::Number { writer, reader }, DType::String) => {
                Some(other(Family::NumberText(NumberText { writer, reader })))
            }
            _ => self.exact(dtype).or_else(|| self.cast(dtype)),
        }
    }

    /// A conversion that is done only on request.
    fn cast(&self, dtype: DType) -> Option<Source> {
        match (&self.data, self.logical, dtype) {
            (&Data::Number { writer, reader }, ..) => match self.rescale() {
                Some(_) if dtype == DType::String => None,
                Some(rescale) => return Some(time(writer, rescale)),
                None => Numbers::new(writer, reader, dtype).map(Family::Numbers),
            },
            (
                &Data::Bytes(bytes),
                Some(&LogicalType::Decimal { scale, .. }),
                DType::Float16 | DType::BFloat16 | DType::Float32,
            ) => Some(Family::Decimal(self.decimal(bytes, scale))),
            (Data::Enum(_), ..) if dtype.is_integer() => self.enum_numbers(),
            _ => None,
        }
        .map(other)
    }

    fn ids(&self, ids: Ids) -> Option<Source> {
        let family = match self.data {
            Data::Number {
                writer,
                reader: Leaf::Int | Leaf::Long,
            } => Some(Family::NumberIds(NumberIds {
                long: writer == Leaf::Long,
                rescale: self.rescale(),
                ids,
            })),
            // This also holds for bytes that are not UTF-8.
            Data::Bytes(Bytes::Delimited { .. }) => Some(Family::TextIds(TextIds {
                text: self.text(Bytes::Delimited { utf8: false }),
                ids,
            })),
            Data::Number { writer, reader } => {
                let text = NumberText { writer, reader };
                Some(Family::NumberTextIds(NumberTextIds { text, ids }))
            }
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
            Data::Number { reader, .. } => {
                matches!(reader, Leaf::Int | Leaf::Long) || self.within == Within::Union
            }
            Data::Bytes(_) => self.logical != Some(&LogicalType::Duration),
            Data::Enum(_) => true,
        }
    }

    fn in_unit(&self, unit: TimeUnit) -> Option<Source> {
        let (&Data::Number { writer, .. }, Some([data, reader, _])) = (&self.data, self.units)
        else {
            return None;
        };
        let rescale = Rescale::new(data, reader, unit);
        if writer == Leaf::Long && rescale.is_nothing() {
            return Some(Source::Plain(Leaf::Long));
        }
        Some(time(writer, rescale))
    }

    /// The change of the times' unit, if there is one.
    fn rescale(&self) -> Option<Rescale> {
        let [data, reader, column] = self.units?;
        let rescale = Rescale::new(data, reader, column);
        (!rescale.is_nothing()).then_some(rescale)
    }

    /// Whether the column's unit differs from that of the reader's type.
    fn is_converted(&self) -> bool {
        self.units
            .is_some_and(|[_, reader, column]| reader != column)
    }

    fn decimal(&self, bytes: Bytes, scale: u32) -> Decimal {
        Decimal {
            bytes,
            scale,
            column_scale: self.column_scale.unwrap_or(scale),
        }
    }

    fn text(&self, bytes: Bytes) -> Text {
        let uuid = self.logical == Some(&LogicalType::Uuid);
        Text {
            bytes,
            // In a string, the value is text already.
            uuid: uuid && matches!(bytes, Bytes::Fixed(_)) && !self.any_bytes,
        }
    }

    /// The numbers of symbols, by the column's list or the reader's list.
    fn enum_numbers(&self) -> Option<Family> {
        match &self.column_symbols {
            None => self.enum_ids(|index, _| index.into()),
            Some(numbers) => self.enum_ids(|_, symbol| {
                let number = numbers.get(symbol);
                number.copied().expect("the column has all symbols").into()
            }),
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
        let dtypes = DType::ALL.iter().copied();
        ConvertError::DType {
            schema_type: in_words(self.reader),
            convert: convert.clone(),
            expected: dtypes.filter(|&dtype| has(dtype, convert)).collect(),
            asked,
            castable: *convert == Convert::Exact && has(asked, &Convert::Cast),
        }
    }
}

/// Whether values of a type can be read as lists of their bytes: `bytes` and `fixed` without a
/// logical type.
pub(crate) fn are_octets((schema, ty): (&Schema, NodeId)) -> bool {
    matches!(schema.node(ty), Node::Bytes | Node::Fixed(_))
        && matches!(schema.logical(ty), None | Some(LogicalType::Unknown(_)))
}

fn form(convert: &Convert) -> Form {
    match convert {
        Convert::Exact | Convert::Cast => Form::Elements,
        Convert::HashBuckets(_) | Convert::Vocabulary(_) => Form::Ids,
        Convert::Unit(_) => Form::Unit,
    }
}

/// The units of times: of the data, of the type that it is read as, and of the column. The column's
/// unit is that of the type until it is known to differ. A type that is a time only to the reader,
/// or only to the writer, is bare numbers to the other side.
pub(crate) fn units(
    writer: Option<&LogicalType>,
    reader: Option<&LogicalType>,
) -> Option<[TimeUnit; 3]> {
    let (_, unit) = reader?.time()?;
    let written = writer
        .and_then(LogicalType::time)
        .map_or(unit, |(_, unit)| unit);
    Some([written, unit, unit])
}

fn time(writer: Leaf, rescale: Rescale) -> Source {
    let long = writer == Leaf::Long;
    other(Family::Time(Time { long, rescale }))
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

/// The type in words, such as `int` or `fixed 'Price' (decimal)`.
pub(crate) fn in_words((schema, id): (&Schema, NodeId)) -> String {
    let name = schema.describe(id);
    match (schema.logical(id), schema.logical_not_taken(id)) {
        (Some(logical), _) => format!("{name} ({})", logical.name()),
        (None, Some((logical, why))) => {
            let (logical, why) = (Shown(logical), Shown(why));
            format!("{name} (logicalType '{logical}' is ignored: {why})")
        }
        (None, None) => name,
    }
}
