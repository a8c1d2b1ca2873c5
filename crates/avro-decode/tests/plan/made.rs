//! Arbitrary schemas with features, and records of them, made from arbitrary
//! bytes: when the bytes run out, everything is as small as it can be, so that
//! cases shrink.

use std::num::NonZeroUsize;

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::schema::{Node, NodeId};
use avro_decode::{OutOfBounds, PlanOptions, Schema, Value};
use serde_json::{Value as Json, json};
use tensor_batch::{BatchSpec, ColumnSpec, DType, Layout, UNKNOWN};

use crate::common;

/// A schema, some of its features, and the bytes of some records.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) schema: Schema,
    pub(crate) spec: BatchSpec,
    pub(crate) options: PlanOptions,
    pub(crate) records: Vec<Value>,
    pub(crate) data: Vec<u8>,
    /// Rows of each run of the batch.
    pub(crate) run_rows: Vec<usize>,
    /// The most records read by one call.
    pub(crate) call_records: usize,
}

/// Makes a case. The values fit the features, except that the one that comes
/// as number `fault` of all that could be wrong in one way or another is.
pub(crate) fn case(bytes: Vec<u8>, fault: Option<usize>) -> Case {
    let mut source = Source(bytes.into_iter());
    let mut names = 0;
    let fields = fields(&mut source, 0, &mut names);
    let root = Shape::record(Wrap::None, fields, &mut names);
    let schema = Schema::parse(&root.json.to_string()).expect("the schema was made to be valid");

    let mut columns = Vec::new();
    root.features("", &mut source, &mut columns);
    let mut options = PlanOptions::default();
    if source.flag() {
        options.out_of_bounds = OutOfBounds::Drop;
    }
    let mut encoding = EncodeOptions::default();
    encoding.block_items = NonZeroUsize::new(source.below(4));
    encoding.byte_sizes = source.flag();
    let call_records = 1 + source.below(3);
    let mut run_rows = Vec::new();
    for _ in 0..source.below(4) {
        run_rows.push(source.below(4));
    }

    let mut faults = Faults { before: fault };
    let (mut records, mut data) = (Vec::new(), Vec::new());
    for _ in 0..run_rows.iter().sum() {
        let record = root.value(&schema, schema.root(), &mut source, &mut faults);
        encode(&schema, schema.root(), &record, &mut data, &encoding)
            .expect("the value was made to fit");
        records.push(record);
    }
    Case {
        schema,
        spec: BatchSpec::new(columns).expect("the columns were made to be good"),
        options,
        records,
        data,
        run_rows,
        call_records,
    }
}

/// Bytes that decide what is made.
pub(crate) struct Source(std::vec::IntoIter<u8>);

impl Source {
    fn byte(&mut self) -> u8 {
        self.0.next().unwrap_or(0)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn entropy(&mut self, n: usize) -> common::Entropy {
        common::Entropy::new(self.0.by_ref().take(n).collect())
    }
}

/// Where a value is made not to fit.
struct Faults {
    /// Places that could be at fault before the one that is.
    before: Option<usize>,
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

/// The union around a type.
#[derive(Clone, Copy, Debug)]
enum Wrap {
    None,
    Single,
    NullFirst,
    NullLast,
}

impl Wrap {
    fn any(source: &mut Source) -> Wrap {
        match source.below(6) {
            1 => Wrap::Single,
            2 => Wrap::NullFirst,
            3 => Wrap::NullLast,
            _ => Wrap::None,
        }
    }

    fn json(self, inner: Json) -> Json {
        match self {
            Wrap::None => inner,
            Wrap::Single => json!([inner]),
            Wrap::NullFirst => json!(["null", inner]),
            Wrap::NullLast => json!([inner, "null"]),
        }
    }

    fn branch(self) -> usize {
        usize::from(matches!(self, Wrap::NullFirst))
    }

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

    fn inside(self, schema: &Schema, id: NodeId) -> NodeId {
        match schema.node(id) {
            Node::Union(branches) => branches[self.branch()],
            _ => id,
        }
    }
}

/// A type, and what of it can be a feature.
#[derive(Debug)]
struct Shape {
    json: Json,
    wrap: Wrap,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Any type, to be skipped.
    Odd,
    /// A primitive in arrays, outermost first, of a length or any.
    Nested {
        leaf: &'static str,
        arrays: Vec<(Wrap, Option<usize>)>,
    },
    /// A record of indices and values, in the order of its fields.
    Sparse {
        fields: Vec<SparseField>,
    },
    Record {
        fields: Vec<(String, Shape)>,
    },
}

#[derive(Debug)]
struct SparseField {
    name: String,
    array: Wrap,
    item: Wrap,
    leaf: &'static str,
    /// The dimension, 0 for the values.
    size: i64,
}

const LEAVES: [&str; 7] = [
    "int", "long", "float", "double", "boolean", "string", "bytes",
];

fn fields(source: &mut Source, depth: usize, names: &mut usize) -> Vec<(String, Shape)> {
    let count = source.below(5);
    let field = |i| (format!("f{i}"), Shape::any(source, depth, names));
    (0..count).map(field).collect()
}

impl Shape {
    fn any(source: &mut Source, depth: usize, names: &mut usize) -> Shape {
        match source.below(8) {
            0..3 => Shape::nested(source),
            3..5 => Shape::sparse(source, names),
            5 if depth < 2 => {
                let wrap = Wrap::any(source);
                let fields = fields(source, depth + 1, names);
                Shape::record(wrap, fields, names)
            }
            _ => Shape::odd(source, names),
        }
    }

    fn odd(source: &mut Source, names: &mut usize) -> Shape {
        let mut json = common::schema_json(&mut source.entropy(60));
        rename(&mut json, &format!("_{names}"));
        *names += 1;
        Shape {
            json,
            wrap: Wrap::None,
            kind: Kind::Odd,
        }
    }

    fn nested(source: &mut Source) -> Shape {
        let leaf = LEAVES[source.below(LEAVES.len())];
        let count = source.below(4);
        let length = |source: &mut Source| source.flag().then(|| 1 + source.below(3));
        let arrays: Vec<_> = (0..count)
            .map(|_| (Wrap::any(source), length(source)))
            .collect();
        let wrap = Wrap::any(source);
        // The union around the whole stands around the outermost array.
        let mut json = wrap.json(json!(leaf));
        for (around, _) in arrays.iter().rev() {
            json = around.json(json!({"type": "array", "items": json}));
        }
        Shape {
            json,
            wrap,
            kind: Kind::Nested { leaf, arrays },
        }
    }

    fn sparse(source: &mut Source, names: &mut usize) -> Shape {
        let wrap = Wrap::any(source);
        let rank = 1 + source.below(3);
        let mut fields: Vec<_> = (0..=rank)
            .map(|i| {
                let is_values = i == rank;
                let leaves = if is_values { LEAVES.len() } else { 2 };
                SparseField {
                    name: match is_values {
                        true => "values".into(),
                        false => format!("indices{i}"),
                    },
                    array: Wrap::any(source),
                    item: Wrap::any(source),
                    leaf: LEAVES[source.below(leaves)],
                    size: match source.below(4) {
                        _ if is_values => 0,
                        0 => UNKNOWN,
                        _ => 1 + source.below(9) as i64,
                    },
                }
            })
            .collect();
        fields.rotate_left(source.below(rank + 1));
        let json_field = |field: &SparseField| {
            let items = field.item.json(json!(field.leaf));
            let array = field.array.json(json!({"type": "array", "items": items}));
            json!({"name": field.name, "type": array})
        };
        let json = json!({
            "type": "record",
            "name": format!("R{names}"),
            "fields": fields.iter().map(json_field).collect::<Vec<_>>(),
        });
        *names += 1;
        Shape {
            json: wrap.json(json),
            wrap,
            kind: Kind::Sparse { fields },
        }
    }

    fn record(wrap: Wrap, fields: Vec<(String, Shape)>, names: &mut usize) -> Shape {
        let json_field =
            |(name, shape): &(String, Shape)| json!({"name": name, "type": shape.json});
        let json = json!({
            "type": "record",
            "name": format!("R{names}"),
            "fields": fields.iter().map(json_field).collect::<Vec<_>>(),
        });
        *names += 1;
        Shape {
            json: wrap.json(json),
            wrap,
            kind: Kind::Record { fields },
        }
    }

    /// Chooses features of the type, which `path` leads to.
    fn features(&self, path: &str, source: &mut Source, columns: &mut Vec<ColumnSpec>) {
        let layout = |source: &mut Source| match source.flag() {
            true => Layout::Ragged,
            false => Layout::Coo,
        };
        let inside = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        match &self.kind {
            Kind::Odd => {}
            Kind::Record { fields } => {
                for (name, shape) in fields {
                    shape.features(&inside(name), source, columns);
                }
            }
            _ if source.below(3) == 0 => {}
            Kind::Nested { leaf, arrays } => {
                let lengths: Option<Vec<usize>> =
                    arrays.iter().map(|(_, length)| *length).collect();
                columns.push(match lengths {
                    Some(shape) if shape.is_empty() || source.flag() => {
                        ColumnSpec::dense(path, &shape, dtype(leaf))
                    }
                    _ => {
                        let known = arrays.iter().map(|(_, length)| match length {
                            Some(length) if source.flag() => *length as i64,
                            _ => UNKNOWN,
                        });
                        let shape: Vec<_> = known.collect();
                        ColumnSpec::varlen(path, &shape, dtype(leaf)).with_layout(layout(source))
                    }
                });
            }
            Kind::Sparse { fields } => {
                let values = fields.iter().find(|field| field.name == "values");
                let dtype_of_values = dtype(values.expect("there are values").leaf);
                let mut sizes: Vec<_> = fields
                    .iter()
                    .filter(|field| field.name != "values")
                    .collect();
                sizes.sort_by_key(|field| &field.name);
                let shape: Vec<_> = sizes.iter().map(|field| field.size).collect();
                let sparse = ColumnSpec::sparse(path, &shape, dtype_of_values);
                columns.push(sparse.with_layout(layout(source)));
                // The same bytes, read once more.
                for field in fields {
                    if source.below(5) != 1 {
                        continue;
                    }
                    let array =
                        ColumnSpec::varlen(inside(&field.name), &[UNKNOWN], dtype(field.leaf));
                    columns.push(array.with_layout(layout(source)));
                }
            }
        }
    }

    fn value(
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

fn dtype(leaf: &str) -> DType {
    match leaf {
        "int" => DType::Int32,
        "long" => DType::Int64,
        "float" => DType::Float32,
        "double" => DType::Float64,
        "boolean" => DType::Bool,
        _ => DType::String,
    }
}

/// Gives the names `T0`, `T1` .. of an odd type an ending, so that those of
/// several do not meet.
fn rename(json: &mut Json, ending: &str) {
    match json {
        Json::String(text) => {
            let simple = text.rsplit('.').next().unwrap_or_default();
            let number = simple.strip_prefix('T').unwrap_or_default();
            if number.parse::<usize>().is_ok() {
                text.push_str(ending);
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| rename(item, ending)),
        Json::Object(entries) => entries.values_mut().for_each(|value| rename(value, ending)),
        _ => {}
    }
}
