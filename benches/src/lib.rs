//! Benchmarks of atds.
