//! Avro files to shuffled batches of tensors, in one fused pass.
