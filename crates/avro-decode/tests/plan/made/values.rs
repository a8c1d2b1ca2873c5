//! Random values that features can read, and values with one fault.

use avro_decode::schema::{LogicalType, Node, NodeId, Record};
use avro_decode::{Schema, Value};

use super::Source;
use super::constants::TEXTS;
use super::schemas::is_sparse_name;

/// Below this depth, all values are as small as possible.
const DEEP: usize = 9;

/// Common properties of a type's values: the number of items, or never null.
pub(super) struct TypeTraits(u32);

impl TypeTraits {
    pub(super) fn any(source: &mut Source) -> Self {
        TypeTraits(source.byte().into())
    }

    /// A number below `n` that is fixed for the type.
    fn of(&self, ty: NodeId, n: u32) -> u32 {
        let mixed = (self.0 ^ (ty.index() as u32) << 3).wrapping_mul(0x9e37_79b9);
        (mixed >> 16) % n
    }
}

/// Where a value breaks a common property.
pub(super) struct Faults {
    /// Number of possible faults before the chosen one.
    before: Option<usize>,
}

impl Faults {
    pub(super) fn new(before: Option<usize>) -> Self {
        Faults { before }
    }

    fn now(&mut self) -> bool {
        let now = self.before == Some(0);
        self.before = self.before.and_then(|before| before.checked_sub(1));
        now
    }

    /// The length, or another length at the fault.
    fn length(&mut self, length: usize, source: &mut Source) -> usize {
        if !self.now() {
            length
        } else if source.flag() && length > 0 {
            length - 1
        } else {
            length + 1
        }
    }
}

pub(super) fn record(
    schema: &Schema,
    traits: &TypeTraits,
    source: &mut Source,
    faults: &mut Faults,
) -> Value {
    let mut maker = Maker {
        schema,
        traits,
        source,
        faults,
    };
    maker.value(schema.root(), 0)
}

struct Maker<'a> {
    schema: &'a Schema,
    traits: &'a TypeTraits,
    source: &'a mut Source,
    faults: &'a mut Faults,
}

impl<'a> Maker<'a> {
    fn value(&mut self, ty: NodeId, depth: usize) -> Value {
        match self.schema.node(ty) {
            Node::Null => Value::Null,
            Node::Boolean => Value::Boolean(self.source.flag()),
            Node::Int => Value::Int(self.integer(ty, i32::MIN.into(), i32::MAX.into()) as i32),
            Node::Long => Value::Long(self.integer(ty, i64::MIN, i64::MAX)),
            Node::Float => Value::Float(self.float()),
            Node::Double => Value::Double(self.double()),
            Node::Bytes if self.is_decimal(ty) => {
                let length = self.source.below(6);
                Value::Bytes((0..length).map(|_| self.source.byte()).collect())
            }
            Node::Bytes => Value::Bytes(self.text().into()),
            Node::String => Value::String(self.text()),
            Node::Fixed(fixed) => {
                let byte = |_| match self.source.below(4) {
                    0 => b'a',
                    1 => b'b',
                    _ => self.source.byte(),
                };
                Value::Fixed((0..fixed.size).map(byte).collect())
            }
            Node::Enum(symbols) => Value::Enum(self.source.below(symbols.symbols.len()) as u32),
            Node::Array(item) => {
                let length = match self.traits.of(ty, 5) {
                    _ if depth >= DEEP => 0,
                    length @ 1..4 => self.faults.length(length as usize, self.source),
                    _ => self.source.below(4),
                };
                Value::Array((0..length).map(|_| self.value(*item, depth + 1)).collect())
            }
            Node::Map(value) => self.map(ty, *value, depth),
            Node::Union(branches) => self.union(ty, branches, depth),
            Node::Record(record) if record.fields.iter().all(|f| is_sparse_name(&f.name)) => {
                self.sparse_record(record, depth)
            }
            Node::Record(record) => {
                let fields = record.fields.iter();
                Value::Record(fields.map(|f| self.value(f.ty, depth + 1)).collect())
            }
        }
    }

    fn is_decimal(&self, ty: NodeId) -> bool {
        matches!(self.schema.logical(ty), Some(LogicalType::Decimal { .. }))
    }

    /// A random integer, usually a valid index.
    fn integer(&mut self, ty: NodeId, min: i64, max: i64) -> i64 {
        if self.traits.of(ty, 3) > 0 {
            return if self.faults.now() {
                self.source.one_of(&[-1, max, 100, min])
            } else {
                self.source.below(9) as i64
            };
        }
        match self.source.below(6) {
            0..4 => self.source.below(4) as i64,
            4 => self.source.one_of(&[min, max, 16_777_217, -1]),
            _ => i64::from_le_bytes(self.source.array()).clamp(min, max),
        }
    }

    fn float(&mut self) -> f32 {
        match self.source.below(8) {
            0..4 => self.source.one_of(&[0.0, 1.0, 0.1, -0.0]),
            4 => f32::NAN,
            5 => f32::INFINITY,
            6 => 16_777_216.0,
            _ => f32::from_le_bytes(self.source.array()),
        }
    }

    fn double(&mut self) -> f64 {
        match self.source.below(8) {
            0..4 => self.source.one_of(&[0.0, 1.0, 0.1, -0.0]),
            4 => f64::NAN,
            5 => f64::NEG_INFINITY,
            6 => 0.1f32.into(),
            _ => f64::from_le_bytes(self.source.array()),
        }
    }

    fn text(&mut self) -> String {
        self.source.one_of(&TEXTS).to_owned()
    }

    fn map(&mut self, ty: NodeId, value: NodeId, depth: usize) -> Value {
        let keys = match self.traits.of(ty, 2) {
            _ if depth >= DEEP => Vec::new(),
            1 if self.faults.now() => vec!["l"],
            1 => vec!["k", "l", "m"],
            _ => {
                let keys = 0..self.source.below(4);
                keys.map(|_| self.source.one_of(&["k", "l", "m", "'"]))
                    .collect()
            }
        };
        let entries = keys.into_iter();
        let entries = entries.map(|key| (key.to_owned(), self.value(value, depth + 1)));
        Value::Map(entries.collect())
    }

    /// A random branch. Some types are never null, or always of one branch.
    fn union(&mut self, ty: NodeId, branches: &[NodeId], depth: usize) -> Value {
        let is_null = |branch: &usize| *self.schema.node(branches[*branch]) == Node::Null;
        let all = 0..branches.len();
        let null = all.clone().find(is_null);
        let values: Vec<usize> = all.filter(|branch| !is_null(branch)).collect();
        let branch = match (null, &*values) {
            (Some(null), _) if depth >= DEEP => null,
            (Some(null), []) => null,
            (None, &[only]) => only,
            _ if self.traits.of(ty, 3) > 0 => {
                if self.faults.now() {
                    self.source.below(branches.len())
                } else {
                    values[self.traits.of(ty, values.len() as u32) as usize]
                }
            }
            (Some(null), _) if self.source.below(4) == 3 => null,
            _ => self.source.one_of(&values),
        };
        let value = self.value(branches[branch], depth + 1);
        Value::Union(branch, Box::new(value))
    }

    fn sparse_record(&mut self, record: &'a Record, depth: usize) -> Value {
        let entries = self.source.below(4);
        let mut fields = Vec::new();
        for field in &record.fields {
            fields.push(self.sparse_array(field.ty, entries, depth + 1));
        }
        Value::Record(fields)
    }

    fn sparse_array(&mut self, ty: NodeId, entries: usize, depth: usize) -> Value {
        let schema = self.schema;
        match schema.node(ty) {
            Node::Array(item) => {
                let length = self.faults.length(entries, self.source);
                let items = (0..length).map(|_| self.value(*item, depth + 1));
                Value::Array(items.collect())
            }
            Node::Union(branches) => {
                let is_null = |branch: usize| *schema.node(branches[branch]) == Node::Null;
                let wants_null = entries == 0 && self.source.flag() || self.faults.now();
                let all = 0..branches.len();
                let found = all.clone().find(|&branch| is_null(branch) == wants_null);
                let branch = found.unwrap_or(0);
                let value = self.sparse_array(branches[branch], entries, depth + 1);
                Value::Union(branch, Box::new(value))
            }
            _ => self.value(ty, depth),
        }
    }
}
