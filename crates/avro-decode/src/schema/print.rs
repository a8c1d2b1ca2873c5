//! Prints the arena of types as JSON.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::logical::LogicalType;
use super::{Enum, Field, Fixed, Name, Node, NodeId, Order, Record, Schema};

pub(super) fn to_json(schema: &Schema) -> Json {
    let mut printer = Printer {
        schema,
        printed: vec![false; schema.node_count()],
        named: HashMap::new(),
    };
    printer.ty(schema.root(), &Arc::from(""))
}

struct Printer<'s> {
    schema: &'s Schema,
    /// Whether each named type has been printed, so that later uses are references.
    printed: Vec<bool>,
    /// The type that a reference means to a parser of the text printed so far.
    named: HashMap<&'s Name, NodeId>,
}

impl<'s> Printer<'s> {
    /// Prints a type within the namespace `enclosing`.
    fn ty(&mut self, id: NodeId, enclosing: &Arc<str>) -> Json {
        let node = self.schema.node(id);
        if let Some(name) = node.name() {
            if self.printed[id.index()] {
                return Json::from(self.reference(id, name, enclosing));
            }
            self.printed[id.index()] = true;
            self.named.insert(name, id);
        }
        let mut json = match node {
            Node::Union(branches) => {
                return branches.iter().map(|&id| self.ty(id, enclosing)).collect();
            }
            Node::Array(items) => json!({"type": "array", "items": self.ty(*items, enclosing)}),
            Node::Map(values) => json!({"type": "map", "values": self.ty(*values, enclosing)}),
            Node::Record(record) => self.record(record, enclosing),
            Node::Enum(symbols) => enumeration(symbols, enclosing),
            Node::Fixed(fixed) => fixed_bytes(fixed, enclosing),
            primitive => match self.schema.logical(id) {
                None => return Json::from(primitive.type_name()),
                Some(_) => json!({"type": primitive.type_name()}),
            },
        };
        if let (Some(logical), Json::Object(json)) = (self.schema.logical(id), &mut json) {
            add_logical(json, logical);
        }
        json
    }

    /// A reference to the type at `id`, which has been printed.
    fn reference(&self, id: NodeId, name: &Name, enclosing: &Arc<str>) -> String {
        let full = name.to_string();
        let means = |name: &Name| self.named.get(name).copied();
        let found = match Node::primitive(&full) {
            Some(_) => None,
            None => means(&Name::refer(&full, enclosing)).or_else(|| means(name)),
        };
        if found == Some(id) {
            full
        } else {
            absolute(name)
        }
    }

    fn record(&mut self, record: &Record, enclosing: &str) -> Json {
        let mut json = named("record", &record.name, &record.aliases, enclosing);
        add_doc(&mut json, record.doc.as_deref());
        let namespace = record.name.shared_namespace();
        let fields = record.fields.iter();
        let fields = fields.map(|field| self.field(field, namespace)).collect();
        json.insert("fields".into(), fields);
        Json::Object(json)
    }

    fn field(&mut self, field: &Field, namespace: &Arc<str>) -> Json {
        let mut json = Map::new();
        json.insert("name".into(), field.name.as_str().into());
        add_doc(&mut json, field.doc.as_deref());
        json.insert("type".into(), self.ty(field.ty, namespace));
        if let Some(default) = &field.default {
            json.insert("default".into(), default.clone());
        }
        if !field.aliases.is_empty() {
            json.insert("aliases".into(), field.aliases.clone().into());
        }
        let order = match field.order {
            Order::Ascending => None,
            Order::Descending => Some("descending"),
            Order::Ignore => Some("ignore"),
        };
        if let Some(order) = order {
            json.insert("order".into(), order.into());
        }
        Json::Object(json)
    }
}

fn enumeration(symbols: &Enum, enclosing: &str) -> Json {
    let mut json = named("enum", &symbols.name, &symbols.aliases, enclosing);
    add_doc(&mut json, symbols.doc.as_deref());
    json.insert("symbols".into(), symbols.symbols.clone().into());
    if let Some(default) = &symbols.default {
        json.insert("default".into(), default.as_str().into());
    }
    Json::Object(json)
}

fn fixed_bytes(fixed: &Fixed, enclosing: &str) -> Json {
    let mut json = named("fixed", &fixed.name, &fixed.aliases, enclosing);
    add_doc(&mut json, fixed.doc.as_deref());
    json.insert("size".into(), fixed.size.into());
    Json::Object(json)
}

fn named(ty: &str, name: &Name, aliases: &[Name], enclosing: &str) -> Map<String, Json> {
    let mut json = Map::new();
    json.insert("type".into(), ty.into());
    json.insert("name".into(), name.to_string().into());
    if name.namespace().is_none() && !enclosing.is_empty() {
        // Without it, the name would get the enclosing namespace.
        json.insert("namespace".into(), "".into());
    }
    if !aliases.is_empty() {
        let aliases = aliases.iter().map(|alias| match name.namespace() {
            Some(_) => absolute(alias),
            None => alias.to_string(),
        });
        json.insert("aliases".into(), aliases.collect());
    }
    json
}

/// A full name with a dot, which means the same in each namespace.
fn absolute(name: &Name) -> String {
    match name.namespace() {
        Some(_) => name.to_string(),
        None => format!(".{name}"),
    }
}

fn add_doc(json: &mut Map<String, Json>, doc: Option<&str>) {
    if let Some(doc) = doc {
        json.insert("doc".into(), doc.into());
    }
}

fn add_logical(json: &mut Map<String, Json>, logical: &LogicalType) {
    json.insert("logicalType".into(), logical.name().into());
    if let LogicalType::Decimal { precision, scale } = logical {
        json.insert("precision".into(), (*precision).into());
        json.insert("scale".into(), (*scale).into());
    }
}
