//! Makes random changes to a schema.

use std::collections::HashMap;

use avro_decode::Schema;
use avro_decode::schema::{Enum, Node, NodeId, Record};
use serde_json::{Value as Json, json};

use super::super::common::Entropy;
use super::Change;

/// The changed schema, and the list of changes.
pub(super) fn evolve(schema: &Schema, entropy: Entropy) -> (Json, Vec<Change>) {
    let mut evolver = Evolver {
        schema,
        entropy,
        names: HashMap::new(),
        fresh: 0,
        changes: Vec::new(),
    };
    let json = evolver.ty(schema.root(), false);
    (json, evolver.changes)
}

struct Evolver<'s> {
    schema: &'s Schema,
    entropy: Entropy,
    /// The full names of the reader's types so far.
    names: HashMap<NodeId, String>,
    /// Number of new names so far.
    fresh: usize,
    changes: Vec<Change>,
}

impl Evolver<'_> {
    /// The reader's type for a type of the writer. Within a union, it is not a union.
    fn ty(&mut self, id: NodeId, in_union: bool) -> Json {
        if self.one_in(50) {
            self.changes.push(Change::Mismatch);
            return match self.schema.node(id) {
                Node::Boolean => json!("int"),
                _ => json!("boolean"),
            };
        }
        if let Node::Union(branches) = self.schema.node(id) {
            return self.union(branches);
        }
        let json = self.not_union(id);
        if in_union || !self.one_in(12) {
            return json;
        }
        self.changes.push(Change::Wrapped);
        let other = match branch_name(&json).as_str() {
            "null" | "boolean" => json!("string"),
            _ if self.one_in(3) => json!("boolean"),
            _ => json!("null"),
        };
        match self.entropy.below(3) {
            0 => json!([other, json]),
            1 => json!([json, other]),
            _ => json!([json]),
        }
    }

    fn not_union(&mut self, id: NodeId) -> Json {
        if let Some(name) = self.names.get(&id) {
            return json!(name);
        }
        match self.schema.node(id) {
            &Node::Array(items) => json!({"type": "array", "items": self.ty(items, false)}),
            &Node::Map(values) => json!({"type": "map", "values": self.ty(values, false)}),
            Node::Record(record) => self.record(id, record),
            Node::Enum(symbols) => self.enumeration(id, symbols),
            Node::Fixed(fixed) => {
                let mut json = self.named(id, "fixed");
                json["size"] = fixed.size.into();
                json
            }
            primitive => self.primitive(primitive.type_name()),
        }
    }

    fn primitive(&mut self, name: &'static str) -> Json {
        let promotions: &[&str] = match name {
            "int" => &["long", "float", "double"],
            "long" => &["float", "double"],
            "float" => &["double"],
            "string" => &["bytes"],
            "bytes" => &["string"],
            _ => return json!(name),
        };
        if !self.one_in(6) {
            return json!(name);
        }
        self.changes.push(Change::Promoted);
        json!(promotions[self.entropy.below(promotions.len())])
    }

    fn union(&mut self, branches: &[NodeId]) -> Json {
        if self.one_in(10) {
            self.changes.push(Change::Unwrapped);
            let branch = branches[self.entropy.below(branches.len())];
            return self.ty(branch, false);
        }
        let mut order: Vec<Option<NodeId>> = branches.iter().copied().map(Some).collect();
        if order.len() > 1 && self.one_in(10) {
            self.changes.push(Change::BranchDropped);
            order.remove(self.entropy.below(order.len()));
        }
        if self.one_in(6) {
            // The position of an added branch. It is left out if the union has it already.
            order.insert(self.entropy.below(order.len() + 1), None);
        }
        if order.len() > 1 && self.one_in(5) {
            self.changes.push(Change::BranchesReordered);
            self.shuffle(&mut order);
        }
        let (mut made, mut names) = (Vec::new(), Vec::new());
        for branch in order {
            let before = (self.names.clone(), self.changes.len());
            let json = match branch {
                Some(branch) => self.ty(branch, true),
                None => {
                    self.changes.push(Change::BranchAdded);
                    json!(["null", "string", "double", "long"][self.entropy.below(4)])
                }
            };
            let name = branch_name(&json);
            if names.contains(&name) {
                // The dropped branch takes its definitions with it.
                self.names = before.0;
                self.changes.truncate(before.1);
                self.changes.push(Change::BranchDropped);
            } else {
                names.push(name);
                made.push(json);
            }
        }
        Json::Array(made)
    }

    fn record(&mut self, id: NodeId, record: &Record) -> Json {
        let mut json = self.named(id, "record");
        let mut order: Vec<Option<usize>> = (0..record.fields.len()).map(Some).collect();
        if order.len() > 1 && self.one_in(3) {
            self.changes.push(Change::FieldsReordered);
            self.shuffle(&mut order);
        }
        while self.one_in(3) {
            order.insert(self.entropy.below(order.len() + 1), None);
        }
        let mut fields = Vec::new();
        for field in order {
            let Some(field) = field else {
                fields.push(self.added());
                continue;
            };
            if self.one_in(7) {
                self.changes.push(Change::FieldDropped);
                continue;
            }
            let field = &record.fields[field];
            let mut json = json!({"name": field.name});
            if self.one_in(7) {
                self.changes.push(Change::FieldRenamed);
                json = json!({"name": self.fresh("r"), "aliases": ["other", field.name]});
            }
            json["type"] = self.ty(field.ty, false);
            fields.push(json);
        }
        json["fields"] = fields.into();
        json
    }

    /// A field that the writer lacks.
    fn added(&mut self) -> Json {
        let name = self.fresh("n");
        if self.one_in(50) {
            self.changes.push(Change::FieldAddedWithoutDefault);
            return json!({"name": name, "type": "int"});
        }
        self.changes.push(Change::FieldAdded);
        let number = self.entropy.byte();
        let named = self.fresh("N");
        let (ty, default) = match self.entropy.below(13) {
            0 => (json!("int"), json!(-i32::from(number))),
            1 => (json!("long"), json!(i64::MIN + i64::from(number))),
            2 => (json!("float"), json!(f64::from(number) / 4.0)),
            3 => (json!("double"), json!(number)),
            4 => (json!("boolean"), json!(number % 2 == 1)),
            5 => (json!("string"), json!(format!("é{number}"))),
            6 => (json!("bytes"), json!(format!("b{number}"))),
            7 => (json!({"type": "array", "items": "int"}), json!([1, number])),
            8 => (
                json!({"type": "map", "values": "double"}),
                json!({"key": number}),
            ),
            9 => (
                json!({"type": "enum", "name": named, "namespace": "", "symbols": ["A", "B"]}),
                json!("B"),
            ),
            10 => (
                json!({"type": "fixed", "name": named, "namespace": "", "size": 2}),
                json!("xy"),
            ),
            11 => (
                json!({"type": "record", "name": named, "namespace": "", "fields": [
                    {"name": "x", "type": "long"},
                    {"name": "y", "type": ["null", "int"], "default": null},
                    {"name": "z", "type": "string", "default": "z"},
                ]}),
                json!({"x": number, "z": "other"}),
            ),
            _ => match number % 2 {
                0 => (json!(["null", "int"]), json!(null)),
                _ => (json!(["string", "null"]), json!("text")),
            },
        };
        json!({"name": name, "type": ty, "default": default})
    }

    fn enumeration(&mut self, id: NodeId, symbols: &Enum) -> Json {
        let mut json = self.named(id, "enum");
        let mut symbols = symbols.symbols.clone();
        if symbols.len() > 1 && self.one_in(4) {
            self.changes.push(Change::SymbolDropped);
            symbols.remove(self.entropy.below(symbols.len()));
            if !self.one_in(4) {
                json["default"] = symbols[self.entropy.below(symbols.len())].clone().into();
            }
        }
        if self.one_in(5) {
            self.changes.push(Change::SymbolAdded);
            symbols.insert(self.entropy.below(symbols.len() + 1), self.fresh("S_"));
        }
        if symbols.len() > 1 && self.one_in(4) {
            self.changes.push(Change::SymbolsReordered);
            self.shuffle(&mut symbols);
        }
        json["symbols"] = symbols.into();
        json
    }

    /// The first attributes of a named type.
    fn named(&mut self, id: NodeId, ty: &str) -> Json {
        let name = self.schema.node(id).name().expect("the type has a name");
        let mut namespace = name.namespace().unwrap_or_default().to_owned();
        let mut simple = name.simple().to_owned();
        let mut aliases: Vec<String> = Vec::new();
        if self.one_in(8) {
            self.changes.push(Change::TypeRenamed);
            simple = self.fresh("R");
            aliases.push(name.to_string());
        } else if !namespace.is_empty() && self.one_in(8) {
            self.changes.push(Change::TypeMoved);
            namespace = "moved".into();
        }
        let full = match namespace.as_str() {
            "" => simple.clone(),
            _ => format!("{namespace}.{simple}"),
        };
        self.names.insert(id, full);
        json!({"type": ty, "name": simple, "namespace": namespace, "aliases": aliases})
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.fresh += 1;
        format!("{prefix}{}", self.fresh)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.entropy.below(i + 1));
        }
    }

    /// True once in `n` times on average; false when the bytes have run out.
    fn one_in(&mut self, n: usize) -> bool {
        self.entropy.below(n) == 1
    }
}

/// The name that distinguishes a type from other branches of a union.
fn branch_name(json: &Json) -> String {
    match json {
        Json::String(name) => name.clone(),
        Json::Array(_) => "union".into(),
        _ => match (json["name"].as_str(), json["namespace"].as_str()) {
            (Some(name), Some("")) => name.into(),
            (Some(name), Some(namespace)) => format!("{namespace}.{name}"),
            _ => json["type"].as_str().expect("a type has a type").into(),
        },
    }
}
