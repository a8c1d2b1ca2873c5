//! Avro schemas: of the records of files and messages, and those that a reader gives.

#[doc(inline)]
pub use avro_decode::{Schema, SchemaError, SchemaPath, SchemaPaths, paths};

pub use super::schemas::FileSchemas;
