//! The debug text of public values fits a screen.

use std::fmt::Debug;

use atds::avro::Schema;
use atds::avro::messages::{MessageDecoder, Reencoder};
use atds::avro::records::EncodedRecords;
use atds::avro::schema::FileSchemas;
use atds::{DType, Dataset, Feature, Files};
use atds_generate::{GenerateOptions, Preset, generate};

/// Number of lines and of characters of a screen.
const SCREEN: (usize, usize) = (50, 4_000);

fn fits(what: &impl Debug, has: &str) {
    for text in [format!("{what:?}"), format!("{what:#?}")] {
        let size = (text.lines().count(), text.len());
        assert!(size.0 <= SCREEN.0 && size.1 <= SCREEN.1, "{size:?}: {text}");
        assert!(text.contains(has), "{text}");
    }
}

#[test]
fn debug_text_fits_a_screen() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = GenerateOptions::new(Preset::Ads, 4_096);
    options.files = 3;
    let made = generate(folder.path(), &options).expect("files");
    let many: Vec<_> = (0..1000).flat_map(|_| made.files.clone()).collect();
    fits(&Files::from(&*many), "given: 3000");

    let builder = Dataset::builder(folder.path(), 1024).epochs(7);
    fits(&builder, "epochs: 7");
    let dataset = builder.build().expect("a data set");
    fits(&dataset, "batch_size: 1024");
    fits(&dataset, "first_file");
    fits(dataset.schemas(), "schemas: 1");
    fits(dataset.spec(), "s_label");
    let mut batches = dataset.iter();
    fits(&batches, "is_over: false");
    let batch = batches.next().expect("a batch").expect("a good one");
    fits(&batch, "rows: 1024");
    fits(&batch, "\"d0\": dense float32 [1024, 8]");
    for (_, column) in batch.columns() {
        fits(&column, "");
    }
    fits(&batches, "records: 1024");
    fits(&batches.stats_handle(), "records: 1024");
    for column in batch.into_columns() {
        fits(&column, "");
    }

    let fields: Vec<_> = (0..500)
        .map(|i| format!(r#"{{"name": "f{i}", "type": "long"}}"#))
        .collect();
    let schema = format!(
        r#"{{"type": "record", "name": "R", "fields": [{}]}}"#,
        fields.join(",")
    );
    let schema = std::sync::Arc::new(Schema::parse(&schema).expect("a schema"));
    let features = (0..500).map(|i| Feature::dense(format!("f{i}"), &[], DType::Int64));
    let builder = MessageDecoder::builder(schema.clone(), features);
    fits(&builder, "features: 500");
    fits(&builder.build().expect("a decoder"), "f0");
    let reencoder = Reencoder::builder(schema.clone(), schema);
    fits(&reencoder, "writers: 1");
    fits(&reencoder.build().expect("a reencoder"), "Reencoder");

    let records = EncodedRecords::open(&made.files[0], None).expect("records");
    fits(&records, "read: 0");
    let read = FileSchemas::read_first(&Files::from(folder.path())).expect("schemas");
    fits(&read, "schemas: 1");
}
