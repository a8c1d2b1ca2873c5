//! Cost model, partition, thread count and the worker pool.
