//! The samples of `testdata/`; its README describes them.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use atds::{ColumnSpec, Dataset, DatasetBuilder, Feature, Features, Layout, features};
use serde_json::Value;

use crate::whole::Whole;

/// A file and its expected columns.
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The content of `expected.json`.
    pub(crate) expected: Value,
}

impl Sample {
    pub(crate) fn features(&self) -> Vec<Feature> {
        features::from_json(&self.expected["features"].to_string()).unwrap()
    }

    /// The columns of the features.
    pub(crate) fn specs(&self) -> Vec<ColumnSpec> {
        let features = Features::new(self.features()).unwrap();
        features.spec().columns().to_vec()
    }

    pub(crate) fn records(&self) -> usize {
        self.expected["records"].as_u64().unwrap() as usize
    }

    pub(crate) fn dataset(&self, batch_size: usize, layout: Layout) -> DatasetBuilder {
        Dataset::builder(&self.path, batch_size)
            .features(self.features())
            .layout(layout)
    }

    /// The columns of the whole file, from `expected.json`.
    pub(crate) fn columns(&self, layout: Layout) -> BTreeMap<String, Whole> {
        let specs = self.specs().into_iter();
        specs
            .map(|spec| {
                let column = &self.expected["columns"][&spec.name];
                (
                    spec.name.clone(),
                    Whole::expected(&spec.kind, column, layout),
                )
            })
            .collect()
    }
}

/// All samples in the folder; panics if some are missing.
pub(crate) fn samples() -> Vec<Sample> {
    let folder = env::var_os("ATDS_TESTDATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata"),
        PathBuf::from,
    );
    let mut samples: Vec<Sample> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "avro")
        })
        .map(|path| {
            let text = fs::read_to_string(path.with_extension("expected.json")).unwrap();
            Sample {
                name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
                expected: serde_json::from_str(&text).unwrap(),
                path,
            }
        })
        .collect();
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(samples.len() > 30, "{} samples found", samples.len());
    samples
}
