//! Known strings and their ids.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::ops::RangeInclusive;

use thiserror::Error;

/// Words with their ids, which count from 0 in the order of the words, and one id for all unknown
/// strings.
///
/// ```
/// use atds_features::Vocabulary;
///
/// let colours = Vocabulary::new(["red", "green"].map(Vec::from), -1)?;
/// assert_eq!(colours.id(b"green"), 1);
/// assert_eq!(colours.id(b"blue"), -1);
/// # Ok::<(), atds_features::DuplicateWord>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Vocabulary {
    ids: HashMap<Vec<u8>, i64>,
    unknown: i64,
}

/// A vocabulary with the same word twice.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("words {first} and {second} are the same: '{}'", String::from_utf8_lossy(.word))]
#[non_exhaustive]
pub struct DuplicateWord {
    /// The word.
    pub word: Vec<u8>,
    /// Index of the word's first occurrence, from 0.
    pub first: usize,
    /// Index of the word's second occurrence, from 0.
    pub second: usize,
}

impl Vocabulary {
    /// The vocabulary of `words`. All other strings get the id `unknown`, which may also be the id
    /// of a word.
    ///
    /// # Errors
    /// If the same word occurs twice.
    pub fn new(
        words: impl IntoIterator<Item = Vec<u8>>,
        unknown: i64,
    ) -> Result<Self, DuplicateWord> {
        let mut ids = HashMap::new();
        for (second, word) in words.into_iter().enumerate() {
            match ids.entry(word) {
                Entry::Vacant(entry) => {
                    // A collection in memory has fewer items than `i64::MAX`.
                    entry.insert(second as i64);
                }
                Entry::Occupied(entry) => {
                    let first = *entry.get() as usize;
                    let word = entry.key().clone();
                    return Err(DuplicateWord {
                        word,
                        first,
                        second,
                    });
                }
            }
        }
        Ok(Vocabulary { ids, unknown })
    }

    /// The id of `string`.
    #[inline]
    pub fn id(&self, string: &[u8]) -> i64 {
        self.ids.get(string).copied().unwrap_or(self.unknown)
    }

    /// The words, in the order of their ids.
    pub fn words(&self) -> Vec<&[u8]> {
        let mut words: Vec<_> = self.ids.iter().collect();
        words.sort_unstable_by_key(|(_, id)| **id);
        words.into_iter().map(|(word, _)| &**word).collect()
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The id of all strings that are not words.
    pub fn unknown(&self) -> i64 {
        self.unknown
    }

    /// An id that is not in `range`, if there is one.
    pub fn id_outside(&self, range: &RangeInclusive<i64>) -> Option<i64> {
        let last = self.len().checked_sub(1).map(|last| last as i64);
        let mut ids = [self.unknown].into_iter().chain(last);
        ids.find(|id| !range.contains(id))
    }
}

/// Omits the words, which may be many.
impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocabulary")
            .field("len", &self.len())
            .field("unknown", &self.unknown)
            .finish_non_exhaustive()
    }
}
