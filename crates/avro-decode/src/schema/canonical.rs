//! Parsing Canonical Form (Avro 1.12, "Transforming into Parsing Canonical
//! Form").

use std::fmt::Write;

use serde_json::Value as Json;

use super::{Node, NodeId, Schema};

pub(super) fn canonical_form(schema: &Schema) -> String {
    let mut printer = Printer {
        schema,
        printed: vec![false; schema.node_count()],
        text: String::new(),
    };
    printer.ty(schema.root());
    printer.text
}

struct Printer<'s> {
    schema: &'s Schema,
    /// Whether each named type has been written, so that later uses are references.
    printed: Vec<bool>,
    text: String,
}

impl Printer<'_> {
    /// Writes a type. The nesting is that of the schema's text, where the first use of a named type
    /// is its definition.
    fn ty(&mut self, id: NodeId) {
        let node = self.schema.node(id);
        if let Some(name) = node.name() {
            if self.printed[id.index()] {
                return self.push(format_args!("{}", string(&name.to_string())));
            }
            self.printed[id.index()] = true;
            let (name, ty) = (string(&name.to_string()), node.type_name());
            self.push(format_args!("{{\"name\":{name},\"type\":\"{ty}\","));
        }
        match node {
            Node::Record(record) => {
                self.text.push_str("\"fields\":");
                self.list(&record.fields, |printer, field| {
                    let name = string(&field.name);
                    printer.push(format_args!("{{\"name\":{name},\"type\":"));
                    printer.ty(field.ty);
                    printer.text.push('}');
                });
                self.text.push('}');
            }
            Node::Enum(symbols) => {
                self.text.push_str("\"symbols\":");
                self.list(&symbols.symbols, |printer, symbol| {
                    printer.push(format_args!("{}", string(symbol)));
                });
                self.text.push('}');
            }
            Node::Fixed(fixed) => self.push(format_args!("\"size\":{}}}", fixed.size)),
            Node::Array(items) => self.collection("array", "items", *items),
            Node::Map(values) => self.collection("map", "values", *values),
            Node::Union(branches) => self.list(branches, |printer, &branch| printer.ty(branch)),
            primitive => self.push(format_args!("\"{}\"", primitive.type_name())),
        }
    }

    fn collection(&mut self, ty: &str, attribute: &str, inner: NodeId) {
        self.push(format_args!("{{\"type\":\"{ty}\",\"{attribute}\":"));
        self.ty(inner);
        self.text.push('}');
    }

    fn list<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T)) {
        self.text.push('[');
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            print(self, item);
        }
        self.text.push(']');
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }
}

/// A JSON string with its escapes; names that follow the specification need none.
fn string(text: &str) -> Json {
    Json::from(text)
}
