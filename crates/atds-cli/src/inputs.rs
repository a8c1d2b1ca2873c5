//! Files that say what to read, where whatever is wrong with them is a fault of usage, and the
//! arguments that name data.

use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use atds::generate::RecordShape;
use atds::{Feature, Features, Schema, features};

use crate::failure::Failure;

/// What an argument that names data stands for: standard input for `-`, which `features` may not
/// be too.
pub(crate) fn data_file(path: &Path, features: Option<&Path>) -> Result<PathBuf, Failure> {
    let stdin = Path::new("-");
    if path != stdin {
        return Ok(path.to_owned());
    }
    if features == Some(stdin) {
        let message = "- is standard input, which cannot be both the data and the features file";
        return Err(Failure::Usage(message.into()));
    }
    Ok("/dev/stdin".into())
}

/// The same of several.
pub(crate) fn data_files(
    paths: &[PathBuf],
    features: Option<&Path>,
) -> Result<Vec<PathBuf>, Failure> {
    paths.iter().map(|path| data_file(path, features)).collect()
}

/// A features file, or standard input for `-`.
pub(crate) fn features(path: &Path) -> Result<Vec<Feature>, Failure> {
    let features = if path == Path::new("-") {
        let mut text = String::new();
        let read = io::stdin().read_to_string(&mut text);
        read.map_err(|error| usage("features file", path, &error))?;
        features::from_json(&text)
    } else {
        features::read(path)
    };
    features.map_err(|error| usage("features file", path, &error))
}

/// The shape of records that a features file can read.
pub(crate) fn record_shape(path: &Path, mean_length: f64) -> Result<RecordShape, Failure> {
    let at_fault = |error: &dyn Display| usage("features file", path, error);
    let features = Features::new(features(path)?).map_err(|error| at_fault(&error))?;
    RecordShape::of_features(&features, mean_length).map_err(|error| at_fault(&error))
}

/// A schema that records are read as.
pub(crate) fn reader_schema(path: &Path) -> Result<Schema, Failure> {
    let text = fs::read_to_string(path).map_err(|error| usage("reader schema", path, &error))?;
    Schema::parse(&text).map_err(|error| usage("reader schema", path, &error))
}

fn usage(what: &str, path: &Path, error: &dyn Display) -> Failure {
    Failure::Usage(format!("{what} {}: {error}", path.display()).into())
}
