#![allow(clippy::unwrap_used)]

mod bytes;
mod data_errors;
mod golden;
mod ids;
mod numbers;
mod offers;
mod properties;
mod times;

use std::sync::Arc;

use super::text::Bytes;
use super::*;
use crate::plan::items::{Boolean, Double, Float, Int, Long, Primitive};
use crate::schema::Schema;
use atds_features::{Clock, Convert, TimeUnit, Vocabulary, fingerprint64};
use tensor_batch::half::{bf16, f16};
use tensor_batch::{DType, Scalar, Values};

/// A conversion, with the schemas of the writer and the reader.
struct Case {
    writer: Schema,
    reader: Schema,
    symbols: Option<Vec<Option<u32>>>,
    dtype: DType,
    convert: Convert,
    /// The meaning of the column, if another schema fixed it.
    column: Option<Meaning>,
    /// Whether strings are read as the stored bytes.
    any_bytes: bool,
}

impl Case {
    /// A case in which the writer's and the reader's schema are the same.
    fn of(schema: &str, dtype: DType, convert: Convert) -> Case {
        Case::resolved(schema, schema, dtype, convert)
    }

    fn resolved(writer: &str, reader: &str, dtype: DType, convert: Convert) -> Case {
        Case {
            writer: Schema::parse(writer).unwrap(),
            reader: Schema::parse(reader).unwrap(),
            symbols: None,
            dtype,
            convert,
            column: None,
            any_bytes: false,
        }
    }

    fn compile(&self) -> Result<Source, ConvertError> {
        source(
            (&self.writer, self.writer.root()),
            (&self.reader, self.reader.root()),
            self.symbols.as_deref(),
            Asked {
                dtype: self.dtype,
                convert: &self.convert,
                any_bytes: self.any_bytes,
            },
            self.column.as_ref(),
            Within::Itself,
        )
        .map(|compiled| compiled.source)
        .map_err(|refusal| match refusal {
            Refusal::Convert(error) => error,
            Refusal::Meaning(found) => panic!("{found} in a column of other values"),
        })
    }

    fn refusal(&self) -> String {
        self.compile().unwrap_err().to_string()
    }

    /// The elements of the values in `data`.
    fn read(&self, data: &[u8], values: usize) -> Vec<Scalar> {
        let mut cursor = Cursor::new(data, 0);
        let read = self
            .compile()
            .unwrap()
            .read(&mut cursor, self.dtype, values);
        assert_eq!(cursor.position(), data.len());
        read.unwrap()
    }

    /// The only element of the only value in `data`.
    fn read_one(&self, data: &[u8]) -> Scalar {
        let [scalar] = <[Scalar; 1]>::try_from(self.read(data, 1)).unwrap();
        scalar
    }

    /// The message of the error, and the offset of the cursor after it.
    fn fault(&self, data: &[u8], values: usize) -> (String, usize) {
        let mut cursor = Cursor::new(data, 0);
        let read = self
            .compile()
            .unwrap()
            .read(&mut cursor, self.dtype, values);
        (read.unwrap_err().to_string(), cursor.position())
    }
}

impl Source {
    fn read(
        &self,
        cursor: &mut Cursor<'_>,
        dtype: DType,
        values: usize,
    ) -> Result<Vec<Scalar>, Fault> {
        let conversion = match self {
            Source::Plain(leaf) => return read_plain(*leaf, cursor, values),
            Source::Other(conversion) => conversion,
        };
        if dtype == DType::String {
            let mut strings = Strings::new();
            conversion.read_strings(cursor, values, (&mut strings, usize::MAX))?;
            return Ok(strings.iter().map(string).collect());
        }
        let mut out = Values::new(dtype);
        conversion.read(cursor, Out::append(&mut out, values * conversion.width()))?;
        let scalar = |i| out.get(i).expect("a value of the dtype");
        Ok((0..out.len()).map(scalar).collect())
    }
}

fn read_plain(leaf: Leaf, cursor: &mut Cursor<'_>, n: usize) -> Result<Vec<Scalar>, Fault> {
    macro_rules! fill {
        ($primitive:ty, $zero:expr, $scalar:expr) => {{
            let mut out = vec![$zero; n];
            <$primitive>::read(cursor, &mut out)?;
            out.into_iter().map($scalar).collect()
        }};
    }
    Ok(match leaf {
        Leaf::Int => fill!(Int, 0, Scalar::Int32),
        Leaf::Long => fill!(Long, 0, Scalar::Int64),
        Leaf::Float => fill!(Float, 0.0, Scalar::Float32),
        Leaf::Double => fill!(Double, 0.0, Scalar::Float64),
        Leaf::Boolean => fill!(Boolean, 0, boolean),
        Leaf::Bytes | Leaf::String | Leaf::ReplacedString => {
            let bytes = Bytes::Delimited {
                utf8: leaf == Leaf::String,
            };
            let text = Text { bytes, uuid: false };
            let mut strings = Strings::new();
            text.read(cursor, n, |text| {
                strings.push(text);
                Ok(())
            })?;
            strings.iter().map(string).collect()
        }
    })
}

fn boolean(byte: u8) -> Scalar {
    assert!(byte <= 1);
    Scalar::Bool(byte == 1)
}

fn string(bytes: &[u8]) -> Scalar {
    Scalar::String(bytes.to_vec())
}

/// The Avro encoding of longs and ints.
fn varints(values: &[i64]) -> Vec<u8> {
    let mut data = Vec::new();
    for &value in values {
        crate::encode::write_long(&mut data, value);
    }
    data
}

/// The Avro encoding of bytes and strings.
fn delimited(bytes: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    crate::encode::write_bytes(&mut data, bytes);
    data
}

/// A schema of a decimal in `bytes`.
fn decimal_type(scale: u32) -> String {
    format!(
        r#"{{"type": "bytes", "logicalType": "decimal", "precision": {}, "scale": {scale}}}"#,
        scale.max(1)
    )
}

const ENUM: &str = r#"{"type": "enum", "name": "Suit", "symbols": ["club", "heart", "spade"]}"#;
const FIXED: &str = r#"{"type": "fixed", "name": "F", "size": 3}"#;
const UUID: &str = r#"{"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}"#;
const DURATION: &str = r#"{"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}"#;
const DATE: &str = r#"{"type": "int", "logicalType": "date"}"#;
const TIME_MICROS: &str = r#"{"type": "long", "logicalType": "time-micros"}"#;
const TIMESTAMP_MILLIS: &str = r#"{"type": "long", "logicalType": "timestamp-millis"}"#;
