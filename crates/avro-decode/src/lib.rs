//! Avro schemas, and a decode plan compiled once that writes records straight into tensors.
