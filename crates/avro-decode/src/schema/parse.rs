//! Parses JSON into the arena of types.

use std::collections::{HashMap, HashSet};
use std::mem::{self, Discriminant};
use std::sync::Arc;

use serde_json::Value as Json;

use super::attributes::{self, Attributes, Odd, required};
use super::defaults::LocatedDefault;
use super::logical::{LogicalType, NotTaken};
use super::name::{check_length, check_simple};
use super::near_json::as_json;
use super::numbered::numbered;
use super::path::Path;
use super::{Enum, Field, Fixed, Name, Node, NodeId, Record, SchemaError, SchemaErrorKind, Slot};
use crate::limits::{MAX_DEVIATIONS, MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH};

pub(super) struct Parsed {
    pub(super) slots: Vec<Slot>,
    pub(super) root: NodeId,
    pub(super) named: HashMap<Name, NodeId>,
    /// The positions of the defaults, in the order of the text.
    pub(super) defaults: Vec<LocatedDefault>,
    /// The errors of a strict parser, in the order of the text.
    pub(super) deviations: Vec<SchemaError>,
    /// The invalid logical types.
    pub(super) not_taken: Vec<SchemaError>,
}

/// How to treat names and attributes that violate the specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rules {
    /// The first one is an error.
    #[default]
    Strict,
    /// They are kept or ignored, and recorded.
    Lenient,
}

pub(super) fn parse(text: &str, rules: Rules) -> Result<Parsed, SchemaError> {
    let at_root = |kind| SchemaError {
        kind,
        path: String::new(),
    };
    if text.len() > MAX_SCHEMA_BYTES {
        let bytes = text.len();
        return Err(at_root(SchemaErrorKind::TooLong { bytes }));
    }
    let mut parser = Parser {
        rules,
        ..Parser::default()
    };
    let json: Json = match serde_json::from_str(text) {
        Ok(json) => json,
        Err(error) => {
            let error = at_root(not_json(&error));
            let near = match rules {
                Rules::Strict => None,
                Rules::Lenient => serde_json::from_str(&as_json(text)).ok(),
            };
            let Some(json) = near else {
                return Err(error);
            };
            parser.deviations.push(error);
            json
        }
    };
    match parser.ty(&json, &Arc::from(""), 0) {
        Ok(root) => Ok(Parsed {
            slots: parser.slots,
            root,
            named: parser.named,
            defaults: parser.defaults,
            deviations: parser.deviations,
            not_taken: parser.not_taken,
        }),
        Err(kind) => Err(SchemaError {
            kind,
            path: parser.path.join(),
        }),
    }
}

#[derive(Default)]
struct Parser {
    rules: Rules,
    deviations: Vec<SchemaError>,
    slots: Vec<Slot>,
    named: HashMap<Name, NodeId>,
    defaults: Vec<LocatedDefault>,
    path: Path,
    not_taken: Vec<SchemaError>,
}

type Parse<T> = Result<T, SchemaErrorKind>;

/// The logical type of a type, or the reason why the declared one is invalid.
type Logical = Result<Option<LogicalType>, NotTaken>;

impl Parser {
    /// Parses a type, in any notation. `namespace` is the enclosing one, empty for none. `depth` is
    /// the number of enclosing types.
    fn ty(&mut self, json: &Json, namespace: &Arc<str>, depth: usize) -> Parse<NodeId> {
        if depth >= MAX_SCHEMA_DEPTH {
            return Err(SchemaErrorKind::TooDeep);
        }
        match json {
            Json::String(name) => self.named_type(name, namespace),
            Json::Array(branches) => self.union(branches, namespace, depth),
            Json::Object(attributes) => self.object(attributes, namespace, depth),
            _ => Err(SchemaErrorKind::NotAType),
        }
    }

    /// Finds a primitive type, or a type defined earlier.
    fn named_type(&mut self, name: &str, namespace: &Arc<str>) -> Parse<NodeId> {
        if let Some(node) = Node::primitive(name) {
            return Ok(self.push(node, Ok(None)));
        }
        let defined = self.named.get(&Name::refer(name, namespace));
        // Java writes such references to types without a namespace.
        let defined = defined.or_else(|| self.named.get(&Name::from_full(name)));
        defined
            .copied()
            .ok_or_else(|| SchemaErrorKind::UnknownType(name.to_owned()))
    }

    fn union(&mut self, branches: &[Json], namespace: &Arc<str>, depth: usize) -> Parse<NodeId> {
        let mut ids = Vec::with_capacity(branches.len());
        let mut seen = HashSet::new();
        for (i, branch) in branches.iter().enumerate() {
            self.path.at_index(i);
            let id = self.ty(branch, namespace, depth + 1)?;
            let node = &self.slots[id.index()].node;
            if matches!(node, Node::Union(_)) {
                return Err(SchemaErrorKind::NestedUnion);
            }
            if !seen.insert(BranchType::of(id, node)) {
                let name = match node.name() {
                    Some(name) => name.to_string(),
                    None => node.type_name().to_owned(),
                };
                self.deviates(SchemaErrorKind::DuplicateBranch(name))?;
            }
            ids.push(id);
            self.path.leave();
        }
        Ok(self.push(Node::Union(ids), Ok(None)))
    }

    fn object(
        &mut self,
        attributes: &Attributes,
        namespace: &Arc<str>,
        depth: usize,
    ) -> Parse<NodeId> {
        let json = required(attributes, "type")?;
        let Json::String(name) = json else {
            return self.within("type", |parser| parser.ty(json, namespace, depth + 1));
        };
        match name.as_str() {
            "record" | "error" => self.record(attributes, namespace, depth),
            "enum" => self.symbols(attributes, namespace),
            "fixed" => self.fixed(attributes, namespace),
            "array" => self.collection(attributes, "items", Node::Array, namespace, depth),
            "map" => self.collection(attributes, "values", Node::Map, namespace, depth),
            name => match Node::primitive(name) {
                Some(node) => {
                    let logical = LogicalType::of(&node, attributes);
                    Ok(self.push(node, logical))
                }
                None => self.within("type", |parser| parser.named_type(name, namespace)),
            },
        }
    }

    fn collection(
        &mut self,
        attributes: &Attributes,
        attribute: &'static str,
        node: fn(NodeId) -> Node,
        namespace: &Arc<str>,
        depth: usize,
    ) -> Parse<NodeId> {
        let json = required(attributes, attribute)?;
        let items = self.within(attribute, |parser| parser.ty(json, namespace, depth + 1))?;
        let node = node(items);
        let logical = LogicalType::of(&node, attributes);
        Ok(self.push(node, logical))
    }

    fn record(
        &mut self,
        attributes: &Attributes,
        namespace: &Arc<str>,
        depth: usize,
    ) -> Parse<NodeId> {
        let (name, aliases) = self.names(attributes, namespace)?;
        let namespace = Arc::clone(name.shared_namespace());
        let record = Node::Record(Record {
            name: name.clone(),
            aliases,
            doc: attributes::doc(attributes),
            fields: Vec::new(),
        });
        let logical = LogicalType::of(&record, attributes);
        // The record is defined before its fields, which may refer to it.
        let id = self.define(name, record, logical)?;
        let Json::Array(json) = required(attributes, "fields")? else {
            return Err(SchemaErrorKind::BadAttribute {
                attribute: "fields",
                expected: "an array",
            });
        };
        self.path.at_key("fields");
        let mut fields = Vec::with_capacity(json.len());
        let mut names = HashSet::new();
        let mut repeated = false;
        for (i, json) in json.iter().enumerate() {
            self.path.at_index(i);
            let field = self.field(json, &namespace, depth)?;
            if !names.insert(field.name.clone()) {
                self.deviates(SchemaErrorKind::DuplicateField(field.name.clone()))?;
                repeated = true;
            }
            if field.default.is_some() {
                self.defaults.push(LocatedDefault {
                    path: self.path.join() + "/default",
                    node: id,
                    field: Some(i),
                });
            }
            fields.push(field);
            self.path.leave();
        }
        if repeated {
            tell_apart(&mut fields)?;
        }
        self.path.leave();
        if let Node::Record(record) = &mut self.slots[id.index()].node {
            record.fields = fields;
        }
        Ok(id)
    }

    fn field(&mut self, json: &Json, namespace: &Arc<str>, depth: usize) -> Parse<Field> {
        let Json::Object(attributes) = json else {
            return Err(SchemaErrorKind::BadAttribute {
                attribute: "fields",
                expected: "an array of objects",
            });
        };
        let name = self.take(attributes::name(attributes))?;
        self.within("name", |parser| parser.simple_name(&name))?;
        let aliases = self.take(attributes::aliases(attributes))?;
        let json = required(attributes, "type")?;
        let ty = self.within("type", |parser| parser.ty(json, namespace, depth + 1))?;
        Ok(Field {
            name: name.into_owned(),
            ty,
            default: attributes.get("default").cloned(),
            aliases: aliases.into_iter().map(str::to_owned).collect(),
            order: self.take(attributes::order(attributes))?,
            doc: attributes::doc(attributes),
        })
    }

    fn symbols(&mut self, attributes: &Attributes, namespace: &Arc<str>) -> Parse<NodeId> {
        let (name, aliases) = self.names(attributes, namespace)?;
        let Json::Array(json) = required(attributes, "symbols")? else {
            return Err(attributes::NOT_SYMBOLS);
        };
        let mut symbols = Vec::with_capacity(json.len());
        let mut seen = HashSet::new();
        self.path.at_key("symbols");
        for (i, symbol) in json.iter().enumerate() {
            self.path.at_index(i);
            let symbol = self.take(attributes::symbol(symbol))?;
            self.simple_name(&symbol)?;
            if !seen.insert(symbol.clone()) {
                self.deviates(SchemaErrorKind::DuplicateSymbol(symbol.to_string()))?;
            }
            symbols.push(symbol.into_owned());
            self.path.leave();
        }
        self.path.leave();
        let default = attributes.get("default").filter(|json| !json.is_null());
        let node = Node::Enum(Enum {
            name: name.clone(),
            aliases,
            doc: attributes::doc(attributes),
            symbols,
            default: default.and_then(Json::as_str).map(str::to_owned),
        });
        let logical = LogicalType::of(&node, attributes);
        let node = self.define(name, node, logical)?;
        if default.is_some() {
            self.defaults.push(LocatedDefault {
                path: self.path.join() + "/default",
                node,
                field: None,
            });
        }
        Ok(node)
    }

    fn fixed(&mut self, attributes: &Attributes, namespace: &Arc<str>) -> Parse<NodeId> {
        let (name, aliases) = self.names(attributes, namespace)?;
        let size = required(attributes, "size")?.as_u64();
        let size = size.and_then(|size| usize::try_from(size).ok());
        let node = Node::Fixed(Fixed {
            name: name.clone(),
            aliases,
            doc: attributes::doc(attributes),
            size: size.ok_or(SchemaErrorKind::BadAttribute {
                attribute: "size",
                expected: "a number of bytes",
            })?,
        });
        let logical = LogicalType::of(&node, attributes);
        self.define(name, node, logical)
    }

    /// The full name and the full aliases of a definition.
    fn names(&mut self, attributes: &Attributes, enclosing: &Arc<str>) -> Parse<(Name, Vec<Name>)> {
        let name = self.take(attributes::name(attributes))?;
        let namespace = self.take(attributes::namespace(attributes))?;
        let name = Name::define(&name, namespace, enclosing);
        self.within("name", |parser| parser.full_name(&name))?;
        let own = name.shared_namespace();
        let json = self.take(attributes::aliases(attributes))?;
        let aliases = json.into_iter().map(|alias| Name::define(alias, None, own));
        let aliases: Vec<Name> = aliases.collect();
        self.within("aliases", |parser| {
            aliases.iter().try_for_each(|alias| parser.full_name(alias))
        })?;
        Ok((name, aliases))
    }

    /// Checks a full name.
    fn full_name(&mut self, name: &Name) -> Parse<()> {
        name.check_length()?;
        name.check().or_else(|kind| self.deviates(kind))
    }

    /// Checks the name of a field, or a symbol.
    fn simple_name(&mut self, name: &str) -> Parse<()> {
        check_length(name)?;
        check_simple(name).or_else(|kind| self.deviates(kind))
    }

    /// The value of an attribute. If it violates the specification, records that or returns the
    /// error.
    fn take<T>(&mut self, attribute: Result<T, Odd<T>>) -> Parse<T> {
        match attribute {
            Ok(value) => Ok(value),
            Err(Odd { kind, instead }) => self.deviates(kind).map(|()| instead),
        }
    }

    /// Records a violation of the specification. Under strict rules, returns it as an error.
    fn deviates(&mut self, kind: SchemaErrorKind) -> Parse<()> {
        if self.rules == Rules::Strict {
            return Err(kind);
        }
        if self.deviations.len() < MAX_DEVIATIONS {
            let path = self.path.join();
            self.deviations.push(SchemaError { kind, path });
        }
        Ok(())
    }

    /// Adds a definition. Of several definitions with one name, a later reference means the last.
    fn define(&mut self, name: Name, node: Node, logical: Logical) -> Parse<NodeId> {
        if self.named.contains_key(&name) {
            self.deviates(SchemaErrorKind::DuplicateName(name.to_string()))?;
        }
        let id = self.push(node, logical);
        self.named.insert(name, id);
        Ok(id)
    }

    fn push(&mut self, node: Node, logical: Logical) -> NodeId {
        // A type takes at least one byte of text, and the text has a limit.
        let id = NodeId(self.slots.len() as u32);
        let (logical, not_taken) = match logical {
            Ok(logical) => (logical, None),
            Err(not_taken) => (None, Some(Box::new(not_taken))),
        };
        if let Some(NotTaken { name, why }) = not_taken.as_deref()
            && self.not_taken.len() < MAX_DEVIATIONS
        {
            let kind = SchemaErrorKind::LogicalTypeNotTaken {
                name: name.clone(),
                why: why.clone(),
            };
            let path = self.path.join();
            self.not_taken.push(SchemaError { kind, path });
        }
        self.slots.push(Slot {
            node,
            logical,
            not_taken,
        });
        id
    }

    /// Runs `parse` with the path extended by the attribute `key`.
    fn within<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&mut Self) -> Parse<T>,
    ) -> Parse<T> {
        self.path.at_key(key);
        let parsed = parse(self)?;
        self.path.leave();
        Ok(parsed)
    }
}

/// Makes the names of the fields unique.
fn tell_apart(fields: &mut [Field]) -> Parse<()> {
    let names: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
    let names = numbered(&names);
    for (field, name) in fields.iter_mut().zip(names) {
        check_length(&name)?;
        field.name = name;
    }
    Ok(())
}

/// A type that may occur only once in a union.
#[derive(PartialEq, Eq, Hash)]
enum BranchType {
    Named(NodeId),
    Unnamed(Discriminant<Node>),
}

impl BranchType {
    fn of(id: NodeId, node: &Node) -> BranchType {
        match node.name() {
            Some(_) => BranchType::Named(id),
            None => BranchType::Unnamed(mem::discriminant(node)),
        }
    }
}

#[cold]
fn not_json(error: &serde_json::Error) -> SchemaErrorKind {
    let text = error.to_string();
    // The fields `line` and `column` have the position.
    let reason = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(reason, _)| reason);
    if reason == "recursion limit exceeded" {
        return SchemaErrorKind::TooDeep;
    }
    SchemaErrorKind::Json {
        reason: reason.to_owned(),
        line: error.line(),
        column: error.column(),
    }
}
