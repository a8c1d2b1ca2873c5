//! The recorded counts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use atds_benches::versions;
use serde_json::{Map, Value, json};

use crate::Result;
use crate::workloads::{RECORDS, Workload};

/// Counts, with the versions they depend on.
#[derive(Debug)]
pub(crate) struct Record(Value);

impl Record {
    /// A record of `counts`, made now with this version of valgrind.
    pub(crate) fn new(valgrind: &str, counts: &[(&Workload, u64)]) -> Result<Self> {
        let (commit, rustc) = versions::commit_and_rustc()?;
        let count = |(workload, count): &(&Workload, u64)| {
            let entry = json!({
                "about": workload.about,
                "instructions": count,
            });
            (workload.name.to_owned(), entry)
        };
        Ok(Record(json!({
            "date": versions::today()?,
            "versions": {"commit": commit, "rustc": rustc, "valgrind": valgrind},
            "note": "valgrind's processor has no AVX-512: the kernels for AVX2 and the generic ones are counted",
            "records": RECORDS,
            "workloads": counts.iter().map(count).collect::<Map<_, _>>(),
        })))
    }

    /// The last record, if there is one.
    pub(crate) fn last() -> Result<Option<Self>> {
        match fs::read(path()) {
            Ok(text) => Ok(Some(Record(serde_json::from_slice(&text)?))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The change of `count` against this record, in percent.
    pub(crate) fn change(&self, workload: &str, count: u64) -> Option<f64> {
        let before = self.0["workloads"][workload]["instructions"].as_f64()?;
        Some((count as f64 / before - 1.0) * 100.0)
    }

    /// Replaces the last record.
    pub(crate) fn write(&self) -> Result<PathBuf> {
        let path = path();
        fs::write(&path, format!("{:#}\n", self.0))?;
        Ok(path)
    }
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("record/instructions.json")
}
