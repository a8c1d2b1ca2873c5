#![doc = include_str!("../README.md")]

mod convert;
pub mod feature;
pub mod limits;
pub mod path;
#[doc(hidden)]
pub mod words;

pub use convert::{Clock, Convert, DuplicateWord, TimeUnit, Vocabulary, fingerprint64};
#[doc(hidden)]
pub use convert::{Ids, narrow};
pub use feature::{Feature, FeatureError, Features, Fill, Missing};
