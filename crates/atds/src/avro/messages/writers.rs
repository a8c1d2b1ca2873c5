//! Finds the writer's schema of a message.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use avro_decode::{Schema, single_object};

use super::Framing;
use crate::{Error, avro};

/// The readers of messages, one for each writer's schema.
#[derive(Debug)]
pub(super) enum Writers<T> {
    /// All messages have one schema.
    Raw(T),
    /// Each message has the fingerprint of its schema.
    SingleObject(HashMap<u64, T>),
}

/// A message that has been matched with its schema.
#[derive(Debug)]
pub(super) struct Matched<'w, 'm, T> {
    /// The fingerprint of its schema, if messages have it.
    pub(super) fingerprint: Option<u64>,
    /// The reader of its schema.
    pub(super) reader: &'w T,
    /// The record.
    pub(super) record: &'m [u8],
}

impl<T> Writers<T> {
    /// Makes a reader for each schema. Of schemas with the same fingerprint, only the first gets a
    /// reader.
    pub(super) fn new(
        framing: Framing,
        schemas: &[Arc<Schema>],
        mut make: impl FnMut(&Arc<Schema>) -> Result<T, Error>,
    ) -> Result<Self, Error> {
        match (framing, schemas) {
            (Framing::Raw, [schema]) => make(schema).map(Writers::Raw),
            (Framing::Raw, _) => Err(Error::option(
                "writer_schema",
                "one only, unless messages are single objects, whose header names their schema",
            )),
            (Framing::SingleObject, _) => by_fingerprint(schemas, make).map(Writers::SingleObject),
        }
    }

    /// The readers of all schemas.
    pub(super) fn readers(&self) -> impl Iterator<Item = &T> {
        let (one, several) = match self {
            Writers::Raw(reader) => (Some(reader), None),
            Writers::SingleObject(readers) => (None, Some(readers.values())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// Matches a message with its schema.
    pub(super) fn of<'w, 'm>(&'w self, message: &'m [u8]) -> Result<Matched<'w, 'm, T>, Error> {
        match self {
            Writers::Raw(reader) => Ok(Matched {
                fingerprint: None,
                reader,
                record: message,
            }),
            Writers::SingleObject(readers) => {
                let (fingerprint, record) = single_object::split(message)
                    .map_err(|error| Error::new(avro::ErrorKind::SingleObject(error)))?;
                match readers.get(&fingerprint) {
                    Some(reader) => Ok(Matched {
                        fingerprint: Some(fingerprint),
                        reader,
                        record,
                    }),
                    None => Err(unknown_schema(fingerprint)),
                }
            }
        }
    }
}

impl<T> Matched<'_, '_, T> {
    /// The offset of the record in the message.
    pub(super) fn start(&self) -> usize {
        self.fingerprint.map_or(0, |_| single_object::HEADER_LEN)
    }
}

fn by_fingerprint<T>(
    schemas: &[Arc<Schema>],
    mut make: impl FnMut(&Arc<Schema>) -> Result<T, Error>,
) -> Result<HashMap<u64, T>, Error> {
    let mut readers: HashMap<u64, (T, &Schema)> = HashMap::new();
    for schema in schemas {
        let fingerprint = schema.fingerprint();
        let of_schema = |error: Error| error.of_schema(Some(fingerprint));
        match readers.entry(fingerprint) {
            Entry::Vacant(entry) => {
                entry.insert((make(schema).map_err(of_schema)?, schema));
            }
            Entry::Occupied(entry) if read_alike(entry.get().1, schema) => {}
            Entry::Occupied(_) => {
                return Err(of_schema(Error::new(avro::ErrorKind::SameFingerprint)));
            }
        }
    }
    let readers = readers.into_iter();
    Ok(readers
        .map(|(fingerprint, (reader, _))| (fingerprint, reader))
        .collect())
}

/// Whether data of both schemas is read alike. Both have the same canonical form, so they have the
/// same types, but logical types may differ.
fn read_alike(a: &Schema, b: &Schema) -> bool {
    let logical = a.ids().map(|id| a.logical(id));
    a.canonical_form() == b.canonical_form() && logical.eq(b.ids().map(|id| b.logical(id)))
}

#[cold]
fn unknown_schema(fingerprint: u64) -> Error {
    Error::new(avro::ErrorKind::UnknownSchema { fingerprint })
}
