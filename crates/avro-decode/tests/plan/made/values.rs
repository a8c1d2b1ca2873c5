//! Values of a shape, one of them at fault if asked.

use avro_decode::schema::{Node, NodeId};
use avro_decode::{Schema, Value};
use tensor_batch::UNKNOWN;

use super::Source;
use super::common;
use super::shape::{Kind, Shape, SparseField, Wrap};

/// Where a value is made not to fit.
pub(super) struct Faults {
    /// Places that could be at fault before the one that is.
    pub(super) before: Option<usize>,
}

impl Faults {
    fn now(&mut self) -> bool {
        let now = self.before == Some(0);
        self.before = self.before.and_then(|before| before.checked_sub(1));
        now
    }

    /// A length, or where the fault is another.
    fn length(&mut self, length: usize, source: &mut Source) -> usize {
        match self.now() {
            true if source.flag() && length > 0 => length - 1,
            true => length + 1,
            false => length,
        }
    }
}

impl Shape {
    pub(super) fn value(
        &self,
        schema: &Schema,
        id: NodeId,
        source: &mut Source,
        faults: &mut Faults,
    ) -> Value {
        match &self.kind {
            Kind::Odd => common::value_of(schema, id, &mut source.entropy(30)),
            Kind::Nested { leaf, arrays } => nested(arrays, self.wrap, leaf, source, faults),
            Kind::Sparse { fields } => self.wrap.value(faults, |faults| {
                let entries = source.below(4);
                let array = |field: &SparseField| {
                    field.array.value(faults, |faults| {
                        let length = faults.length(entries, source);
                        let item = |_| {
                            field
                                .item
                                .value(faults, |faults| field.value(source, faults))
                        };
                        Value::Array((0..length).map(item).collect())
                    })
                };
                Value::Record(fields.iter().map(array).collect())
            }),
            Kind::Record { fields } => self.wrap.value(faults, |faults| {
                let Node::Record(record) = schema.node(self.wrap.inside(schema, id)) else {
                    panic!("a record was made")
                };
                let values = fields
                    .iter()
                    .zip(&record.fields)
                    .map(|((_, shape), field)| shape.value(schema, field.ty, source, faults));
                Value::Record(values.collect())
            }),
        }
    }
}

impl Wrap {
    /// What is inside, or null at a fault.
    fn value(self, faults: &mut Faults, inner: impl FnOnce(&mut Faults) -> Value) -> Value {
        let nullable = matches!(self, Wrap::NullFirst | Wrap::NullLast);
        if nullable && faults.now() {
            return Value::Union(1 - self.branch(), Box::new(Value::Null));
        }
        match self {
            Wrap::None => inner(faults),
            _ => Value::Union(self.branch(), Box::new(inner(faults))),
        }
    }
}

fn nested(
    arrays: &[(Wrap, Option<usize>)],
    wrap: Wrap,
    leaf: &str,
    source: &mut Source,
    faults: &mut Faults,
) -> Value {
    let Some(((around, length), inner)) = arrays.split_first() else {
        return wrap.value(faults, |_| scalar(leaf, source));
    };
    around.value(faults, |faults| {
        let length = match length {
            Some(length) => faults.length(*length, source),
            None => source.below(4),
        };
        let items = (0..length).map(|_| nested(inner, wrap, leaf, source, faults));
        Value::Array(items.collect())
    })
}

impl SparseField {
    /// An item of the field's array.
    fn value(&self, source: &mut Source, faults: &mut Faults) -> Value {
        let index = match self.size {
            0 => return scalar(self.leaf, source),
            _ if faults.now() && source.flag() => -1,
            UNKNOWN if faults.now() && self.leaf == "long" => i64::MAX,
            UNKNOWN if source.below(9) == 8 && self.leaf == "long" => i64::MAX - 1,
            UNKNOWN => source.byte().into(),
            size if faults.now() => size,
            size => source.below(size as usize) as i64,
        };
        match self.leaf {
            "int" => Value::Int(i32::try_from(index).expect("a small index")),
            _ => Value::Long(index),
        }
    }
}

fn scalar(leaf: &str, source: &mut Source) -> Value {
    match (leaf, source.below(4)) {
        ("int", 0) => Value::Int(source.byte().into()),
        ("int", 1) => Value::Int(i32::MIN),
        ("int", _) => Value::Int(i32::from_le_bytes(source.array())),
        ("long", 0) => Value::Long(source.byte().into()),
        ("long", 1) => Value::Long(i64::MIN),
        ("long", _) => Value::Long(i64::from_le_bytes(source.array())),
        ("float", 0) => Value::Float(f32::NAN),
        ("float", _) => Value::Float(f32::from_le_bytes(source.array())),
        ("double", 0) => Value::Double(f64::NEG_INFINITY),
        ("double", _) => Value::Double(f64::from_le_bytes(source.array())),
        ("boolean", _) => Value::Boolean(source.flag()),
        ("string", n) => Value::String("é水a".chars().cycle().take(n).collect()),
        ("bytes", n) => Value::Bytes((0..n).map(|_| source.byte()).collect()),
        (leaf, _) => panic!("{leaf} is not a leaf"),
    }
}
