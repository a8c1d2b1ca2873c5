//! Random schemas: a record with fields that features can read, and fields of types that no feature
//! can read.

use avro_decode::Schema;
use serde_json::{Value as Json, json};

use super::{Source, common};

/// Maximum nesting of types.
const MAX_DEPTH: usize = 4;

pub(super) fn schema(source: &mut Source) -> Schema {
    let mut maker = Maker { source, names: 0 };
    let root = maker.record(0);
    Schema::parse(&root.to_string()).expect("the schema was made to be valid")
}

/// Whether `name` is the name of a field of a sparse record.
pub(super) fn is_sparse_name(name: &str) -> bool {
    name == "values" || name.starts_with("indices")
}

struct Maker<'s> {
    source: &'s mut Source,
    /// Number of named types so far; the first is the root.
    names: usize,
}

/// The primitive types except null.
pub(super) const PRIMITIVES: [&str; 7] = [
    "int", "long", "float", "double", "boolean", "string", "bytes",
];

impl Maker<'_> {
    fn ty(&mut self, depth: usize) -> Json {
        let kinds = if depth < MAX_DEPTH { 20 } else { 6 };
        match self.source.below(kinds) {
            0..3 => self.primitive(),
            3 => self.symbols_or_fixed(),
            4 => self.logical(),
            5 | 6 => {
                let inner = self.leaf();
                self.nullable(inner)
            }
            7..10 => {
                let items = self.ty(depth + 1);
                json!({"type": "array", "items": items})
            }
            10..12 => {
                let values = self.ty(depth + 1);
                json!({"type": "map", "values": values})
            }
            12..15 => self.record(depth),
            15 => self.sparse_record(),
            16 => self.union(depth),
            17 | 18 => {
                let inner = self.container(depth);
                self.nullable(inner)
            }
            _ => self.odd(),
        }
    }

    fn primitive(&mut self) -> Json {
        json!(self.source.one_of(&PRIMITIVES))
    }

    fn leaf(&mut self) -> Json {
        match self.source.below(4) {
            0 | 1 => self.primitive(),
            2 => self.symbols_or_fixed(),
            _ => self.logical(),
        }
    }

    /// A record, an array or a map.
    fn container(&mut self, depth: usize) -> Json {
        match self.source.below(4) {
            0 => self.record(depth),
            1 => self.sparse_record(),
            2 => {
                let items = self.ty(depth + 1);
                json!({"type": "array", "items": items})
            }
            _ => {
                let values = self.ty(depth + 1);
                json!({"type": "map", "values": values})
            }
        }
    }

    fn symbols_or_fixed(&mut self) -> Json {
        if self.source.flag() {
            let size = 1 + self.source.below(3);
            json!({"type": "fixed", "name": self.name("F"), "size": size})
        } else {
            let symbols = &["A", "B", "a", "x"][..1 + self.source.below(4)];
            json!({"type": "enum", "name": self.name("E"), "symbols": symbols})
        }
    }

    fn logical(&mut self) -> Json {
        let fixed = |name: String, size: usize, logical: &str| json!({"type": "fixed", "name": name, "size": size, "logicalType": logical});
        match self.source.below(12) {
            0 => json!({"type": "int", "logicalType": "date"}),
            1 => json!({"type": "int", "logicalType": "time-millis"}),
            2 => json!({"type": "long", "logicalType": "time-micros"}),
            3 => json!({"type": "long", "logicalType": "timestamp-millis"}),
            4 => json!({"type": "long", "logicalType": "timestamp-nanos"}),
            5 => json!({"type": "long", "logicalType": "local-timestamp-micros"}),
            6 => json!({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
            7 => {
                let mut decimal = fixed(self.name("D"), 5, "decimal");
                decimal["precision"] = json!(9);
                decimal
            }
            8 => json!({"type": "string", "logicalType": "uuid"}),
            9 => fixed(self.name("U"), 16, "uuid"),
            _ => fixed(self.name("P"), 12, "duration"),
        }
    }

    /// A union of one type, with or without null. A path needs no branch for it.
    fn nullable(&mut self, inner: Json) -> Json {
        match self.source.below(3) {
            0 => json!(["null", inner]),
            1 => json!([inner, "null"]),
            _ => json!([inner]),
        }
    }

    /// A union of several types.
    fn union(&mut self, depth: usize) -> Json {
        let mut branches: Vec<Json> = vec![json!("int"), json!("string")];
        if self.source.flag() {
            branches.insert(self.source.below(3), json!("null"));
        }
        let more = self.source.byte();
        for (bit, ty) in ["double", "boolean", "long"].into_iter().enumerate() {
            if more & 1 << bit != 0 {
                branches.push(json!(ty));
            }
        }
        if more & 8 != 0 {
            branches.push(self.symbols_or_fixed());
        }
        if more & 16 != 0 {
            branches.push(self.record(depth));
        }
        if more & 32 != 0 {
            branches.push(self.record(depth));
        }
        if more & 64 != 0 {
            let items = self.leaf();
            branches.push(json!({"type": "array", "items": items}));
        }
        if more & 128 != 0 {
            let values = self.leaf();
            branches.push(json!({"type": "map", "values": values}));
        }
        Json::Array(branches)
    }

    fn record(&mut self, depth: usize) -> Json {
        let name = self.name("R");
        let count = if depth == 0 { 5 } else { 4 };
        let mut fields = Vec::new();
        for i in 0..1 + self.source.below(count) {
            let ty = self.ty(depth + 1);
            // `ns` is also the first part of a namespace.
            let name = match (i, self.source.below(8)) {
                (0, 7) => "ns".to_owned(),
                _ => format!("f{i}"),
            };
            fields.push(json!({"name": name, "type": ty}));
        }
        if depth > 0 && self.source.below(12) == 11 {
            // A reference to the root makes the schema recursive.
            fields.push(json!({"name": "again", "type": ["null", "ns.R0"]}));
        }
        json!({"type": "record", "name": name, "fields": fields})
    }

    /// A sparse record: arrays of indices and of values.
    fn sparse_record(&mut self) -> Json {
        let rank = 1 + self.source.below(3);
        let mut names: Vec<String> = (0..rank).map(|i| format!("indices{i}")).collect();
        names.push("values".to_owned());
        names.rotate_left(self.source.below(rank + 1));
        let mut fields = Vec::new();
        for name in names {
            let item = match &*name {
                "values" => self.leaf(),
                _ => json!(self.source.one_of(&["int", "long"])),
            };
            let item = self.seldom_nullable(item);
            let array = self.seldom_nullable(json!({"type": "array", "items": item}));
            fields.push(json!({"name": name, "type": array}));
        }
        json!({"type": "record", "name": self.name("S"), "fields": fields})
    }

    fn seldom_nullable(&mut self, inner: Json) -> Json {
        match self.source.below(3) {
            2 => self.nullable(inner),
            _ => inner,
        }
    }

    /// A type from the generator of arbitrary schemas.
    fn odd(&mut self) -> Json {
        let mut json = common::schema_json(&mut self.source.entropy(40));
        rename(&mut json, &format!("_{}", self.names));
        self.names += 1;
        json
    }

    /// A new name. The root has a namespace, and about half of the other types.
    fn name(&mut self, start: &str) -> String {
        let number = self.names;
        self.names += 1;
        match number {
            0 => "ns.R0".to_owned(),
            _ => match self.source.below(4) {
                2 => format!("ns.inner.{start}{number}"),
                3 => format!("other.{start}{number}"),
                _ => format!("{start}{number}"),
            },
        }
    }
}

/// Appends `ending` to the names `T0`, `T1` .. of an arbitrary type, so that the names of several
/// such types differ.
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
