//! What only BTables have: the errors of a table, and of features for it.
//!
//! The crate [`atds_btable`] reads and writes the files whole.

#[doc(inline)]
pub use crate::formats::btable::{BTableError as ErrorKind, FeatureFault};
