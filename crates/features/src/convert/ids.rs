//! Ids of strings, by hash or by vocabulary.

use std::io::Write;
use std::sync::Arc;

use super::{Vocabulary, fingerprint64};

/// A mapping from strings to ids.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum Ids {
    /// The fingerprint modulo this number, which is from 1 to `i64::MAX`.
    Hash(u64),
    /// The index of the word in the vocabulary.
    Vocabulary(Arc<Vocabulary>),
}

impl Ids {
    /// The id of a string.
    #[inline]
    pub fn of(&self, string: &[u8]) -> i64 {
        match self {
            // The remainder is below `buckets`, which fits an i64.
            Ids::Hash(buckets) => (fingerprint64(string) % buckets) as i64,
            Ids::Vocabulary(vocabulary) => vocabulary.id(string),
        }
    }

    /// The id of a number's decimal text.
    pub fn of_number(&self, number: i64) -> i64 {
        /// The length of `-9223372036854775808`.
        const MAX_LEN: usize = 20;
        let mut text = [0; MAX_LEN];
        let mut rest = &mut text[..];
        write!(rest, "{number}").expect("no i64 has more characters");
        let len = MAX_LEN - rest.len();
        self.of(&text[..len])
    }
}
