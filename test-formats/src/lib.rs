//! Two small formats, sources for tests, and the conformance suite.
//!
//! The formats are those of `docs/adding-a-format.md`, and are compiled from there. [`TestFormat`] is
//! what the suite needs of a format.

#![forbid(unsafe_code)]

pub mod conformance;
mod formats;
mod reference;
mod sources;
mod write;

pub use formats::{ColumnFiles, Row, TestFormat, ToyFiles};
pub use reference::{ReadByHand, read_by_hand};
pub use sources::{InMemory, Late, LateOptions, TestFile};

/// The format *toy* of the page.
#[allow(missing_docs)]
pub mod toy {
    include!(concat!(env!("OUT_DIR"), "/toy.rs"));
}

/// The format *columns* of the page.
#[allow(missing_docs)]
pub mod columns {
    include!(concat!(env!("OUT_DIR"), "/columns.rs"));
}
