//! Arbitrary schemas and values, made from arbitrary bytes. When the bytes run out, everything is
//! as small as possible, so that cases shrink.

// Each test binary uses a part of this module.
#![allow(dead_code, unreachable_pub)]

use avro_decode::schema::{Node, NodeId};
use avro_decode::{Schema, Value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// A schema and a value of it.
#[derive(Clone, Debug)]
pub struct Case {
    pub text: String,
    pub schema: Schema,
    pub value: Value,
}

/// Any schema with any value of it.
pub fn arb_case() -> impl Strategy<Value = Case> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..400);
    (bytes(), bytes()).prop_map(|(schema, value)| {
        let text = schema_json(&mut Entropy::new(schema)).to_string();
        let schema = Schema::parse(&text).expect("the schema was made to be valid");
        let value = value_of(&schema, schema.root(), &mut Entropy::new(value));
        Case {
            text,
            schema,
            value,
        }
    })
}

/// Any schema: every type, namespaces, references, recursion.
pub fn arb_schema_json() -> impl Strategy<Value = Json> {
    let bytes = prop::collection::vec(any::<u8>(), 0..400);
    bytes.prop_map(|bytes| schema_json(&mut Entropy::new(bytes)))
}

/// Any value of the type at `id`.
pub fn arb_value(schema: &Schema, id: NodeId) -> impl Strategy<Value = Value> + use<> {
    let schema = schema.clone();
    let bytes = prop::collection::vec(any::<u8>(), 0..400);
    bytes.prop_map(move |bytes| value_of(&schema, id, &mut Entropy::new(bytes)))
}

/// Asserts that two values are equal. Zeros must have the same sign; NaN equals NaN.
pub fn assert_same(left: &Value, right: &Value) {
    assert_eq!(format!("{left:?}"), format!("{right:?}"));
}

/// Bytes that make all random choices.
pub struct Entropy {
    bytes: std::vec::IntoIter<u8>,
}

impl Entropy {
    pub fn new(bytes: Vec<u8>) -> Self {
        Entropy {
            bytes: bytes.into_iter(),
        }
    }

    pub fn byte(&mut self) -> u8 {
        self.bytes.next().unwrap_or(0)
    }

    /// A number below `n`, which is at most 256.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn bytes(&mut self) -> Vec<u8> {
        (0..self.below(9)).map(|_| self.byte()).collect()
    }
}

/// A schema made from the bytes.
pub fn schema_json(entropy: &mut Entropy) -> Json {
    let namespaced = entropy.below(2) == 1;
    let mut maker = Maker {
        entropy,
        namespaced,
        names: 0,
        finished: Vec::new(),
        open: Vec::new(),
    };
    maker.ty(0, 0, "").json
}

struct Maker<'e> {
    entropy: &'e mut Entropy,
    namespaced: bool,
    /// Number of named types so far.
    names: usize,
    finished: Vec<Finished>,
    /// The full names of the enclosing records.
    open: Vec<String>,
}

#[derive(Clone)]
struct Made {
    json: Json,
    /// The name that distinguishes the type from other branches of a union.
    branch: String,
    /// The approximate minimum number of nodes in a value.
    weight: usize,
}

impl Made {
    fn new(json: Json, branch: &str, weight: usize) -> Made {
        Made {
            json,
            branch: branch.to_owned(),
            weight,
        }
    }
}

/// A named type that references can use.
struct Finished {
    reference: Made,
    /// Number of enclosing records to which it may refer.
    ends: usize,
}

const PRIMITIVES: [&str; 8] = [
    "int", "long", "string", "boolean", "float", "double", "bytes", "null",
];
const MAX_DEPTH: usize = 5;
const MAX_WEIGHT: usize = 100;

impl Maker<'_> {
    /// A type. It may refer to the first `ends` enclosing records: an array, a map or a nullable
    /// union lies between them and this type, so their values can be finite.
    fn ty(&mut self, depth: usize, ends: usize, namespace: &str) -> Made {
        let kind = match depth {
            // The root is seldom a primitive, which tests little.
            0 => 15 - self.entropy.below(7),
            1..MAX_DEPTH => match self.entropy.below(22) {
                often @ 16.. => often - 6,
                kind => kind,
            },
            _ => self.entropy.below(11),
        };
        match kind {
            8 => self.enumeration(namespace),
            9 => self.fixed(namespace),
            10 => self.reference(ends),
            11 => {
                let items = self.ty(depth + 1, self.open.len(), namespace).json;
                Made::new(json!({"type": "array", "items": items}), "array", 1)
            }
            12 => {
                let values = self.ty(depth + 1, self.open.len(), namespace).json;
                Made::new(json!({"type": "map", "values": values}), "map", 1)
            }
            13 => self.union(depth, ends, namespace),
            14 | 15 => self.record(depth, ends, namespace),
            primitive => {
                let name = PRIMITIVES[primitive];
                Made::new(json!(name), name, 1)
            }
        }
    }

    fn union(&mut self, depth: usize, ends: usize, namespace: &str) -> Made {
        let null = || Made::new(json!("null"), "null", 1);
        let (first, last) = match self.entropy.below(3) {
            0 => (Some(null()), None),
            1 => (None, Some(null())),
            _ => (None, None),
        };
        let nullable = first.is_some() || last.is_some();
        let mut branches = Vec::from_iter(first);
        for _ in 0..1 + self.entropy.below(4) {
            let ends = if nullable { self.open.len() } else { ends };
            let known = self.finished.len();
            let made = self.ty(depth + 1, ends, namespace);
            let mut others = branches.iter().chain(&last);
            if made.branch == "union" || others.any(|other| other.branch == made.branch) {
                // The dropped branch takes its definitions with it.
                self.finished.truncate(known);
            } else {
                branches.push(made);
            }
        }
        branches.extend(last);
        if branches.is_empty() {
            branches.push(Made::new(json!("int"), "int", 1));
        }
        let weight = branches.iter().map(|b| b.weight).min().unwrap_or(0);
        let json = branches.into_iter().map(|b| b.json).collect();
        Made::new(json, "union", 1 + weight)
    }

    fn record(&mut self, depth: usize, ends: usize, namespace: &str) -> Made {
        let (mut json, full) = self.name("record", namespace);
        let namespace = full.rsplit_once('.').map_or("", |(namespace, _)| namespace);
        self.open.push(full.clone());
        let mut weight = 1;
        let mut fields = Vec::new();
        for i in 0..self.entropy.below(8) {
            let ty = self.ty(depth + 1, ends, namespace);
            weight += ty.weight;
            fields.push(json!({"name": format!("f{i}"), "type": ty.json}));
        }
        self.open.pop();
        json["fields"] = fields.into();
        self.finish(json, full, weight, ends)
    }

    fn enumeration(&mut self, namespace: &str) -> Made {
        let (mut json, full) = self.name("enum", namespace);
        let symbols = 0..1 + self.entropy.below(4);
        json["symbols"] = symbols.map(|i| format!("S{i}")).collect();
        self.finish(json, full, 1, 0)
    }

    fn fixed(&mut self, namespace: &str) -> Made {
        let (mut json, full) = self.name("fixed", namespace);
        json["size"] = self.entropy.below(6).into();
        self.finish(json, full, 1, 0)
    }

    fn finish(&mut self, json: Json, full: String, weight: usize, ends: usize) -> Made {
        if weight <= MAX_WEIGHT {
            self.finished.push(Finished {
                reference: Made::new(json!(full), &full, weight),
                ends,
            });
        }
        Made::new(json, &full, weight)
    }

    fn reference(&mut self, ends: usize) -> Made {
        let finished = self.finished.iter().filter(|known| known.ends <= ends);
        let finished = finished.map(|known| known.reference.clone());
        let open = self.open[..ends].iter();
        let open = open.map(|name| Made::new(json!(name), name, 1));
        let mut all: Vec<Made> = finished.chain(open).collect();
        if all.is_empty() {
            return Made::new(json!("int"), "int", 1);
        }
        all.swap_remove(self.entropy.below(all.len()))
    }

    /// The first attributes of a named type, and its full name.
    fn name(&mut self, ty: &str, enclosing: &str) -> (Json, String) {
        let simple = format!("T{}", self.names);
        self.names += 1;
        if !self.namespaced {
            return (json!({"type": ty, "name": simple}), simple);
        }
        match self.entropy.below(3) {
            0 if !enclosing.is_empty() => {
                let full = format!("{enclosing}.{simple}");
                (json!({"type": ty, "name": simple}), full)
            }
            1 => {
                let full = format!("a.b.{simple}");
                (json!({"type": ty, "name": full}), full)
            }
            _ => {
                let full = format!("c.{simple}");
                let json = json!({"type": ty, "name": simple, "namespace": "c"});
                (json, full)
            }
        }
    }
}

/// A value made from the bytes.
pub fn value_of(schema: &Schema, id: NodeId, entropy: &mut Entropy) -> Value {
    value_at(schema, id, entropy, 0)
}

fn value_at(schema: &Schema, id: NodeId, entropy: &mut Entropy, depth: usize) -> Value {
    /// From this depth on, all values are as small as possible.
    const DEEP: usize = 12;
    match schema.node(id) {
        Node::Null => Value::Null,
        Node::Boolean => Value::Boolean(entropy.below(2) == 1),
        Node::Int => Value::Int(match entropy.below(4) {
            0 => entropy.byte().into(),
            1 => i32::MIN,
            2 => i32::MAX,
            _ => i32::from_le_bytes(entropy.array()),
        }),
        Node::Long => Value::Long(match entropy.below(4) {
            0 => entropy.byte().into(),
            1 => i64::MIN,
            2 => i64::MAX,
            _ => i64::from_le_bytes(entropy.array()),
        }),
        Node::Float => Value::Float(f32::from_le_bytes(entropy.array())),
        Node::Double => Value::Double(f64::from_le_bytes(entropy.array())),
        Node::Bytes => Value::Bytes(entropy.bytes()),
        Node::String => Value::String(text(entropy)),
        Node::Fixed(fixed) => Value::Fixed((0..fixed.size).map(|_| entropy.byte()).collect()),
        Node::Enum(symbols) => Value::Enum(entropy.below(symbols.symbols.len()) as u32),
        Node::Array(items) => {
            let count = if depth < DEEP { entropy.below(5) } else { 0 };
            let items = (0..count).map(|_| value_at(schema, *items, entropy, depth + 1));
            Value::Array(items.collect())
        }
        Node::Map(values) => {
            let count = if depth < DEEP { entropy.below(5) } else { 0 };
            let entries = (0..count).map(|i| {
                // The keys differ, since some readers use maps of the language.
                let key = format!("{i}{}", text(entropy));
                (key, value_at(schema, *values, entropy, depth + 1))
            });
            Value::Map(entries.collect())
        }
        Node::Union(branches) => {
            let smallest = (0..branches.len()).min_by_key(|&b| schema.min_encoded_len(branches[b]));
            let branch = match smallest {
                Some(smallest) if depth >= DEEP => smallest,
                _ => entropy.below(branches.len()),
            };
            let value = value_at(schema, branches[branch], entropy, depth + 1);
            Value::Union(branch, Box::new(value))
        }
        Node::Record(record) => {
            let fields = record.fields.iter();
            let fields = fields.map(|field| value_at(schema, field.ty, entropy, depth + 1));
            Value::Record(fields.collect())
        }
    }
}

fn text(entropy: &mut Entropy) -> String {
    const CHARS: [char; 8] = ['a', 'Z', '0', ' ', '\0', 'é', '水', '🜄'];
    (0..entropy.below(6))
        .map(|_| CHARS[entropy.below(8)])
        .collect()
}
