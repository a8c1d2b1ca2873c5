//! What has no place in the new format: an error, or counted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use atds_features::words::counted;

use super::ConvertError;
use crate::interface::printable;
use crate::{Error, FileFormat};

/// Maximum number of fields, times kinds, whose losses are counted apart: the keys that a schema lacks may be
/// any number.
const MAX_LOSSES: usize = 1 << 16;

/// The name under which losses of all other fields are counted.
const OTHERS: &str = "(others)";

/// What has no place in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LossKind {
    /// A number that the new format's type does not hold: it is rounded to the nearest one.
    Rounded,
    /// A number beyond the largest one of the new format's type: it becomes infinite.
    Infinite,
    /// A null: in a list it is left out, in a BTable it becomes 0.
    Null,
    /// A record in a record, left out.
    NestedRecord,
    /// A map, left out.
    Map,
    /// A union of several types besides null, left out.
    Union,
    /// An array: in TFRecord one of arrays of arrays, in a BTable any. Left out.
    Array,
    /// Text or bytes, which a BTable does not have, left out.
    Text,
    /// A key whose values have several kinds in the records of a file, left out.
    SeveralKinds,
    /// A step of a feature list that has no values of any kind: it becomes an empty one.
    NoKind,
    /// A key that the schema does not have, left out.
    UnknownKey,
}

impl LossKind {
    /// A short name, for programs: `nested-record`.
    pub fn name(self) -> &'static str {
        match self {
            LossKind::Rounded => "rounded",
            LossKind::Infinite => "infinite",
            LossKind::Null => "null",
            LossKind::NestedRecord => "nested-record",
            LossKind::Map => "map",
            LossKind::Union => "union",
            LossKind::Array => "array",
            LossKind::Text => "text",
            LossKind::SeveralKinds => "several-kinds",
            LossKind::NoKind => "no-kind",
            LossKind::UnknownKey => "unknown-key",
        }
    }

    /// The value, as the subject of a sentence.
    pub(super) fn what(self) -> &'static str {
        match self {
            LossKind::Rounded => "a number of this size or precision",
            LossKind::Infinite => "a number that is too large",
            LossKind::Null => "a null",
            LossKind::NestedRecord => "a nested record",
            LossKind::Map => "a map",
            LossKind::Union => "a union of several types",
            LossKind::Array => "an array like this",
            LossKind::Text => "text",
            LossKind::SeveralKinds => "a key with values of several kinds",
            LossKind::NoKind => "a step without values of any kind",
            LossKind::UnknownKey => "a key that the schema lacks",
        }
    }

    /// What becomes of the value if it is allowed.
    pub(super) fn becomes(self) -> &'static str {
        match self {
            LossKind::Rounded => "rounds it",
            LossKind::Infinite => "makes it infinite",
            LossKind::NoKind => "empties it",
            _ => "leaves it out",
        }
    }
}

/// Values of a field that had no place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The field; `(others)` for fields beyond the first 65,536.
    pub field: String,
    /// What the values were.
    pub kind: LossKind,
    /// Number of values.
    pub values: u64,
    /// The first record that had one, counted from 0.
    pub first_record: u64,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = match self.kind {
            LossKind::Rounded => "rounded",
            LossKind::Infinite => "made infinite",
            LossKind::NoKind => "emptied",
            _ => "left out",
        };
        let (field, what) = (printable(&self.field), self.kind.what());
        let (values, first) = (counted(self.values, "time"), self.first_record);
        write!(
            f,
            "field '{field}': {what}: {done} {values}, first in record {first}"
        )
    }
}

/// Counts losses, or refuses them.
pub(super) struct Losses {
    allows: bool,
    pub(super) to: FileFormat,
    path: PathBuf,
    /// The record that is converted, counted from 0.
    pub(super) record: u64,
    found: BTreeMap<(String, LossKind), (u64, u64)>,
}

impl Losses {
    pub(super) fn new(allows: bool, to: FileFormat, path: &Path) -> Self {
        Losses {
            allows,
            to,
            path: path.to_owned(),
            record: 0,
            found: BTreeMap::new(),
        }
    }

    /// Counts a value of `field`.
    ///
    /// # Errors
    /// Losses are not allowed.
    pub(super) fn add(&mut self, field: &str, kind: LossKind) -> Result<(), Error> {
        self.add_value(field, kind, || None)
    }

    /// Counts a number that is rounded or becomes infinite. The error has it.
    ///
    /// # Errors
    /// Losses are not allowed.
    pub(super) fn add_number(
        &mut self,
        field: &str,
        kind: LossKind,
        value: impl fmt::Display,
    ) -> Result<(), Error> {
        self.add_value(field, kind, || Some(value.to_string()))
    }

    fn add_value(
        &mut self,
        field: &str,
        kind: LossKind,
        value: impl FnOnce() -> Option<String>,
    ) -> Result<(), Error> {
        if !self.allows {
            let (value, to) = (value(), self.to);
            return Err(self.error(field, ConvertError::NoPlace { kind, value, to }));
        }
        let mut name = (field.to_owned(), kind);
        if self.found.len() >= MAX_LOSSES && !self.found.contains_key(&name) {
            name.0 = OTHERS.to_owned();
        }
        self.found.entry(name).or_insert((0, self.record)).0 += 1;
        Ok(())
    }

    /// An error in a field of the record that is converted.
    #[cold]
    pub(super) fn error(&self, field: &str, error: ConvertError) -> Error {
        let mut error = Error::from(error).in_file(&self.path);
        error.place.record = Some(self.record);
        error.place.field = Some(field.to_owned());
        error
    }

    pub(super) fn into_all(self) -> Vec<Loss> {
        let found = self.found.into_iter();
        let found = found.map(|((field, kind), (values, first_record))| Loss {
            field,
            kind,
            values,
            first_record,
        });
        found.collect()
    }
}
