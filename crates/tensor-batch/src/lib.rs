//! Batches of tensors: preallocated columns, disjoint row slots, recycled buffers.
