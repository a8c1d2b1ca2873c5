//! A file's records one by one, of every type, as JSON.

use std::path::Path;

use avro_decode::{Schema, Value, reference, to_json};

use crate::Error;
use crate::limits::DEFAULT_READER_BUFFER_SIZE;
use crate::walk::Walk;

/// The records of a file as JSON values, in file order: for looking at data,
/// not for reading much of it.
///
/// Records are objects, unions plain values, enums their symbols, bytes and
/// fixed strings of the code points of their bytes; NaN and infinities are
/// strings, since JSON has none. The first error is the last item.
pub struct Records {
    trees: Trees,
    over: bool,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("path", &self.trees.walk.path())
            .field("read", &self.trees.walk.read())
            .finish_non_exhaustive()
    }
}

impl Records {
    /// Opens a file.
    ///
    /// # Errors
    /// A file that cannot be read, is not Avro, or has a schema that is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let trees = Trees::open(path.as_ref())?;
        Ok(Records { trees, over: false })
    }

    /// The schema the records were written with.
    pub fn schema(&self) -> &Schema {
        self.trees.schema()
    }

    /// The schema's text as it stands in the file's header.
    pub fn schema_text(&self) -> &str {
        self.trees.walk.schema_text()
    }

    fn record(&mut self) -> Result<Option<serde_json::Value>, Error> {
        let Some(value) = self.trees.next()? else {
            return Ok(None);
        };
        let schema = self.trees.schema();
        let value = to_json(schema, schema.root(), &value);
        Ok(Some(value.expect("the value is of the schema")))
    }
}

impl Iterator for Records {
    type Item = Result<serde_json::Value, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let record = self.record().transpose();
        self.over = !matches!(record, Some(Ok(_)));
        record
    }
}

/// The records of a file as trees, in file order.
pub(crate) struct Trees {
    walk: Walk,
}

impl Trees {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let walk = Walk::open(path, DEFAULT_READER_BUFFER_SIZE)?;
        Ok(Trees { walk })
    }

    pub(crate) fn schema(&self) -> &Schema {
        self.walk.schema()
    }

    /// The next record; nothing is to be read after an error.
    pub(crate) fn next(&mut self) -> Result<Option<Value>, Error> {
        self.walk.next(|schema, bytes, position| {
            reference::decode(schema, schema.root(), bytes, position)
        })
    }
}
