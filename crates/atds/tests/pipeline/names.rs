//! Fields with any name. Inference and quoted expressions find them and read the values that were
//! written. Strict options refuse names that violate the specification.

use atds::avro::inspect::{InspectOptions, inspect_with};
use atds::avro::records::{RecordOptions, Records};
use atds::avro::{Schema, inspect};
use atds::{Codec, DType, Dataset, Feature};
use atds_features::path::field_step;
use avro_decode::encode::{write_long, write_string};
use avro_decode::schema::{Node, NodeId};
use proptest::prelude::*;
use serde_json::json;

use crate::common::{Folder, container};

/// The type of a field. The values follow from the number of the record.
#[derive(Clone, Debug)]
enum Ty {
    Long,
    Text,
    Record(Vec<(String, Ty)>),
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => any::<String>(),
        2 => "[a-c.#\\['\" -]{0,4}",
        2 => "[a-c]",
        1 => "[a-c]#[23]",
        1 => Just(String::new()),
        1 => Just("a.mask".to_owned()),
    ]
}

fn any_fields() -> impl Strategy<Value = Vec<(String, Ty)>> {
    let leaf = prop_oneof![Just(Ty::Long), Just(Ty::Text)];
    let ty = leaf.prop_recursive(3, 12, 4, |inner| {
        prop::collection::vec((any_name(), inner), 1..4).prop_map(Ty::Record)
    });
    prop::collection::vec((any_name(), ty), 1..6)
}

/// A record schema with these fields; each record in it is called `name`.
fn schema(name: &str, fields: &[(String, Ty)]) -> serde_json::Value {
    let fields = fields.iter().map(|(field, ty)| {
        let ty = match ty {
            Ty::Long => json!("long"),
            Ty::Text => json!(["null", "string"]),
            Ty::Record(fields) => schema(name, fields),
        };
        json!({"name": field, "type": ty})
    });
    json!({"type": "record", "name": name, "fields": fields.collect::<Vec<_>>()})
}

fn write(fields: &[(String, Ty)], number: &mut i64, out: &mut Vec<u8>) {
    for (_, ty) in fields {
        match ty {
            Ty::Long => write_long(out, *number),
            Ty::Text => {
                write_long(out, 1);
                write_string(out, &format!("t{number}"));
            }
            Ty::Record(fields) => write(fields, number, out),
        }
        *number += 1;
    }
}

/// The expressions of all leaves in order, with the numbers from which their values are made.
fn leaves(schema: &Schema, fields: &[(String, Ty)]) -> Vec<(String, i64, bool)> {
    fn add(
        schema: &Schema,
        id: NodeId,
        fields: &[(String, Ty)],
        prefix: &str,
        number: &mut i64,
        found: &mut Vec<(String, i64, bool)>,
    ) {
        let Node::Record(record) = schema.node(id) else {
            panic!("not a record");
        };
        for (field, (_, ty)) in record.fields.iter().zip(fields) {
            let at = format!("{prefix}{}", field_step(&field.name));
            match ty {
                Ty::Record(inner) => {
                    add(schema, field.ty, inner, &format!("{at}."), number, found);
                }
                ty => found.push((at, *number, matches!(ty, Ty::Text))),
            }
            *number += 1;
        }
    }
    let mut found = Vec::new();
    add(schema, schema.root(), fields, "", &mut 0, &mut found);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn fields_of_any_name_are_read(name in any_name(), fields in any_fields()) {
        let text = schema(&name, &fields).to_string();
        let parsed = Schema::parse_lenient(&text).unwrap();
        let mut payload = Vec::new();
        for record in 0..3 {
            write(&fields, &mut (1000 * record), &mut payload);
        }
        let folder = Folder::new();
        let path = folder.write("a.avro", &container(&text, Codec::Null, [(3, payload)]));

        let leaves = leaves(&parsed, &fields);
        let inferred = Dataset::builder(&path, 10).build().unwrap();
        let found = atds::avro::inference::infer(&parsed).features;
        prop_assert_eq!(found.len(), leaves.len());
        let batch = inferred.iter().next().unwrap().unwrap();
        let asked = leaves.iter().enumerate().map(|(i, (expression, _, is_text))| {
            let (dtype, name) = (if *is_text { DType::String } else { DType::Int64 }, format!("c{i}"));
            Feature::dense(name, &[], dtype).at(expression)
        });
        let asked = Dataset::builder(&path, 10).features(asked).build().unwrap();
        let asked = asked.iter().next().unwrap().unwrap();
        for (i, (feature, (expression, number, is_text))) in found.iter().zip(&leaves).enumerate() {
            for (batch, column) in [(&batch, &*feature.name), (&asked, &*format!("c{i}"))] {
                let numbers: Vec<i64> = (0..3).map(|record| 1000 * record + number).collect();
                if *is_text {
                    let values = batch.strings(column).unwrap();
                    let values: Vec<_> = (0..3).map(|i| values.get(i).unwrap().to_vec()).collect();
                    let expected: Vec<_> = numbers.iter().map(|n| format!("t{n}").into_bytes()).collect();
                    prop_assert_eq!(values, expected, "{} {}", expression, column);
                } else {
                    prop_assert_eq!(batch.dense::<i64>(column).unwrap(), &*numbers, "{} {}", expression, column);
                }
            }
        }
        // A feature at the root is called like its field.
        let Node::Record(root) = parsed.node(parsed.root()) else {
            panic!("not a record");
        };
        for (field, (_, ty)) in root.fields.iter().zip(&fields) {
            if let Ty::Long = ty && !field.name.contains('[') {
                let by_name = Feature::dense(&*field.name, &[], DType::Int64);
                let by_name = Dataset::builder(&path, 10).features([by_name]).build().unwrap();
                let by_name = by_name.iter().next().unwrap().unwrap();
                let step = field_step(&field.name);
                let (_, number, _) = leaves.iter().find(|(at, ..)| *at == step).unwrap();
                prop_assert_eq!(by_name.dense::<i64>(&field.name).unwrap()[0], *number);
            }
        }
    }
}

/// A column has the plain name of its field, unless two columns would have the same name.
#[test]
fn columns_are_called_by_plain_names() {
    let text = r#"{"type": "record", "name": "", "fields": [
        {"name": "user-id", "type": ["null", "long"]},
        {"name": "a", "type": {"type": "record", "name": "", "fields": [
            {"name": "größe", "type": "long"}, {"name": "b", "type": "long"}]}},
        {"name": "a.b", "type": "long"},
        {"name": "user-id.mask", "type": "long"},
        {"name": "size.cm", "type": "long"}]}"#;
    let features = atds::avro::inference::infer(&Schema::parse_lenient(text).unwrap()).features;
    let found: Vec<_> = features
        .iter()
        .map(|feature| {
            (
                &*feature.name,
                feature.expression.as_deref(),
                feature.missing.mask.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("user-id", None, Some("user-id.mask#2")),
            ("a.größe", Some("a.'größe'"), None),
            ("a.b", Some("a.b"), None),
            ("'a.b'", None, None),
            ("user-id.mask", None, None),
            // Another file may have a field `size` with a field `cm`.
            ("size.cm", Some("'size.cm'"), None),
        ]
    );
}

fn odd_file(folder: &Folder) -> std::path::PathBuf {
    let text = r#"{"type": "record", "name": "", "fields": [
        {"name": "user-id", "type": "int"}, {"name": "x", "type": "int", "default": "no"}]}"#;
    folder.write("odd.avro", &container(text, Codec::Null, [(1, vec![2, 4])]))
}

#[test]
fn strict_refuses_names_and_defaults_of_files() {
    let folder = Folder::new();
    let path = odd_file(&folder);
    let error = Dataset::builder(&path, 1).strict(true).build().unwrap_err();
    let message = r#"odd.avro: schema, at /name: "" is not a name: letters, digits and underscores, and no digit first"#;
    assert_eq!(folder.message(&error), message);
    Dataset::builder(&path, 1).build().unwrap();

    let mut options = RecordOptions::default();
    assert_eq!(Records::open_with(&path, &options).unwrap().count(), 1);
    options.strict = true;
    let error = Records::open_with(&path, &options).map(|_| ()).unwrap_err();
    assert_eq!(folder.message(&error), message);

    let text = r#"{"type": "record", "name": "R", "fields": [{"name": "x", "type": "int", "default": "no"}]}"#;
    let path = folder.write(
        "default.avro",
        &container(text, Codec::Null, [(1, vec![2])]),
    );
    let error = Dataset::builder(&path, 1).strict(true).build().unwrap_err();
    assert_eq!(
        folder.message(&error),
        "default.avro: schema, at /fields/0/default: the default does not match the type"
    );
}

#[test]
fn inspecting_notes_what_is_not_by_the_specification() {
    let folder = Folder::new();
    let path = odd_file(&folder);
    let found = inspect(&path).unwrap();
    let notes: Vec<_> = found.notes.iter().map(|note| &*note.path).collect();
    assert_eq!(notes, ["/name", "/fields/0/name", "/fields/1/default"]);
    let features: Vec<_> = found.features.iter().map(|one| &*one.name).collect();
    assert_eq!(features, ["user-id", "x"]);
    let paths: Vec<_> = found
        .paths
        .iter()
        .map(|one| &*one.path.expression)
        .collect();
    assert_eq!(paths, ["'user-id'", "x"]);

    let mut options = InspectOptions::default();
    options.strict = true;
    assert!(inspect_with(&path, &options).is_err());
}

/// The error gives the quoted expression.
#[test]
fn an_expression_that_needs_quotes() {
    let folder = Folder::new();
    let path = odd_file(&folder);
    let built = |feature: Feature| Dataset::builder(&path, 1).features([feature]).build();
    let error = built(Feature::dense("f", &[], DType::Int32).at("user-id")).unwrap_err();
    assert_eq!(
        folder.message(&error),
        "feature 'f': a name with characters other than letters, digits and '_' needs quotes: write 'user-id' at character 5 of 'user-id'"
    );
    built(Feature::dense("f", &[], DType::Int32).at("'user-id'")).unwrap();
    let error = built(Feature::dense("user-if", &[], DType::Int32)).unwrap_err();
    let message = folder.message(&error);
    assert!(message.contains("(did you mean 'user-id'?)"), "{message}");
}

/// A later file lacks a field. The name of its mask is already the name of another field.
#[test]
fn masks_of_fields_that_later_files_lack() {
    let folder = Folder::new();
    let schema = |fields: &[&str]| {
        let fields = fields
            .iter()
            .map(|name| json!({"name": name, "type": "long"}));
        json!({"type": "record", "name": "", "fields": fields.collect::<Vec<_>>()}).to_string()
    };
    let (first, second) = (schema(&["a-b", "a-b.mask"]), schema(&["a-b.mask"]));
    folder.write("0.avro", &container(&first, Codec::Null, [(1, vec![2, 4])]));
    folder.write("1.avro", &container(&second, Codec::Null, [(1, vec![6])]));
    let dataset = Dataset::builder(folder.path(), 10).build().unwrap();
    let batch = dataset.iter().next().unwrap().unwrap();
    assert_eq!(batch.dense::<i64>("a-b").unwrap(), [1, 0]);
    assert_eq!(batch.dense::<i64>("a-b.mask").unwrap(), [2, 3]);
    assert_eq!(batch.dense::<bool>("a-b.mask#2").unwrap(), [true, false]);
}
