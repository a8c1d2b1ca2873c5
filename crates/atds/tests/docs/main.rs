//! Every example of `docs/expressions.md`. The test writes its records to a file, reads its
//! features from the file, and compares the tensors with the page.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod limits;
mod page;
mod records;

use atds::tensors::batch_to_json;

use atds::avro::Schema;
use atds::{Codec, Dataset, features};
use serde_json::Value;

use common::{Folder, container};
use page::{Block, Kind, blocks};

const PAGE: &str = include_str!("../../../../docs/expressions.md");

#[test]
fn every_example_gives_its_tensors() {
    let mut example = Example::default();
    let (mut examples, mut failures) = (0, Vec::new());
    for block in blocks(PAGE) {
        let (found, expected) = match block.kind {
            Kind::Schema => {
                example = Example {
                    schema: block.text,
                    ..Example::default()
                };
                continue;
            }
            Kind::ReaderSchema => {
                example.reader_schema = Some(block.text);
                continue;
            }
            Kind::Records => {
                example.records = block.text;
                continue;
            }
            Kind::Features => {
                example.features = block.text;
                continue;
            }
            Kind::Tensors => (example.run().map(printed), Ok(tensors(&block))),
            Kind::Error => (
                example.run().map(printed),
                Err(block.text.trim().to_owned()),
            ),
        };
        examples += 1;
        if found != expected {
            let line = block.line;
            let (Ok(found) | Err(found)) = found;
            failures.push(format!("at line {line} of the page should be\n{found}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(examples > 25, "only {examples} examples");
}

/// The parts of the current example so far.
#[derive(Default)]
struct Example<'a> {
    schema: &'a str,
    reader_schema: Option<&'a str>,
    records: &'a str,
    features: &'a str,
}

impl Example<'_> {
    /// The tensors, or the message of the error.
    fn run(&self) -> Result<Value, String> {
        let schema = Schema::parse_lenient(self.schema).unwrap();
        let records: Vec<Value> = self
            .records
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let mut payload = Vec::new();
        for record in &records {
            records::write(&schema, record, &mut payload);
        }
        let folder = Folder::new();
        let block = (records.len() as u64, payload);
        // The schema on one line, as in files.
        let schema = serde_json::from_str::<Value>(self.schema)
            .unwrap()
            .to_string();
        let path = folder.write("part-0.avro", &container(&schema, Codec::Null, [block]));

        let features = features::from_json(self.features).map_err(|error| error.to_string())?;
        let mut dataset = Dataset::builder(path, records.len()).features(features);
        if let Some(schema) = self.reader_schema {
            dataset = dataset.reader_schema(Schema::parse(schema).unwrap());
        }
        let dataset = dataset.build().map_err(|error| folder.message(&error))?;
        let batch = dataset.iter().next().unwrap();
        let batch = batch.map_err(|error| folder.message(&error))?;
        Ok(batch_to_json(&batch))
    }
}

/// One line for each column, in the format of the page and of `atds head`.
fn printed(tensors: Value) -> String {
    let columns = tensors.as_object().unwrap().iter();
    let lines = columns.map(|(name, column)| format!("  {}: {column}", Value::from(&**name)));
    format!("{{\n{}\n}}", lines.collect::<Vec<_>>().join(",\n"))
}

fn tensors(block: &Block<'_>) -> String {
    match serde_json::from_str(block.text) {
        Ok(tensors) => printed(tensors),
        Err(error) => format!("line {}: {error}", block.line),
    }
}

/// The grammar on the page is the one in the parser's documentation.
#[test]
fn the_grammar_is_the_parsers() {
    let parser = include_str!("../../../features/src/path.rs");
    let (_, grammar) = PAGE.split_once("```text grammar\n").unwrap();
    let (grammar, _) = grammar.split_once("```").unwrap();
    let documented: String = grammar
        .lines()
        .map(|line| format!("//! {line}\n"))
        .collect();
    let documented = documented.replace("//! \n", "//!\n");
    assert!(parser.contains(&documented), "{documented}");
}

/// Every link in the table of contents leads to a heading.
#[test]
fn the_contents_are_the_headings() {
    let headings = PAGE.lines().filter_map(|line| line.strip_prefix("##"));
    let anchors: Vec<String> = headings
        .map(|heading| {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            heading.replace(' ', "-")
        })
        .collect();
    let links = PAGE.split("](#").skip(1);
    let links: Vec<&str> = links.map(|rest| rest.split_once(')').unwrap().0).collect();
    assert!(links.len() >= anchors.len(), "{links:?}");
    for link in links {
        assert!(anchors.iter().any(|anchor| anchor == link), "{link}");
    }
}
