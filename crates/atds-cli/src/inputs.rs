//! Arguments that name features files, schemas and data files. A faulty features file or schema is
//! a usage error.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use atds::avro::Schema;
use atds::{Feature, Features, features};
use atds_generate::RecordShape;

use crate::failure::Failure;

/// Checks that at most one argument is standard input, which can be read only once. Each argument
/// comes with its name for the message.
pub(crate) fn check_stdin<'a>(
    arguments: impl IntoIterator<Item = (&'a str, &'a Path)>,
) -> Result<(), Failure> {
    let arguments = arguments.into_iter();
    let mut stdin = arguments.filter(|(_, path)| is_stdin(path));
    match (stdin.next(), stdin.next()) {
        (Some((first, _)), Some((second, _))) => Err(Failure::conflict(if first == second {
            format!("standard input can be read only once, but {first} names it twice")
        } else {
            format!("standard input can be read only once, but both {first} and {second} name it")
        })),
        _ => Ok(()),
    }
}

/// The arguments of [`check_stdin`] for a list of files.
pub(crate) fn named<'a>(
    name: &'a str,
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> impl Iterator<Item = (&'a str, &'a Path)> {
    paths.into_iter().map(move |path| (name, path.as_path()))
}

fn is_stdin(path: &Path) -> bool {
    let names = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    names.iter().any(|name| path == Path::new(name))
}

/// The path of a data file; for `-` the path of standard input.
pub(crate) fn data_file(path: &Path) -> PathBuf {
    if path == Path::new("-") {
        "/dev/stdin".into()
    } else {
        path.to_owned()
    }
}

/// The text of a file, or of standard input for `-`.
fn text(path: &Path) -> io::Result<String> {
    if path == Path::new("-") {
        return io::read_to_string(io::stdin());
    }
    fs::read_to_string(path)
}

/// A features file, or standard input for `-`.
pub(crate) fn features(path: &Path) -> Result<Vec<Feature>, Failure> {
    let features = if path == Path::new("-") {
        let text = text(path).map_err(|error| usage("features file", path, &error))?;
        features::from_json(&text)
    } else {
        features::read(path)
    };
    features.map_err(|error| usage("features file", path, &error))
}

/// The shape of records for a features file.
pub(crate) fn record_shape(path: &Path, mean_length: f64) -> Result<RecordShape, Failure> {
    let at_fault = |error: &dyn Display| usage("features file", path, error);
    let features = Features::new(features(path)?).map_err(|error| at_fault(&error))?;
    RecordShape::of_features(&features, mean_length).map_err(|error| at_fault(&error))
}

/// The reader schema in a file, or in standard input for `-`.
pub(crate) fn reader_schema(path: &Path) -> Result<Schema, Failure> {
    Ok(schema("reader schema", path)?.0)
}

/// A schema in a file, or in standard input for `-`, and its text; `what` it is, for errors.
pub(crate) fn schema(what: &str, path: &Path) -> Result<(Schema, String), Failure> {
    let text = text(path).map_err(|error| usage(what, path, &error))?;
    let schema = Schema::parse(&text).map_err(|error| usage(what, path, &error))?;
    Ok((schema, text))
}

fn usage(what: &str, path: &Path, error: &dyn Display) -> Failure {
    let name = if path == Path::new("-") {
        "of standard input".to_owned()
    } else {
        path.display().to_string()
    };
    Failure::Usage(format!("{what} {name}: {error}").into())
}
