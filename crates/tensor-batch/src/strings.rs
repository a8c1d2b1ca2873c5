//! Strings end to end.

use std::fmt;

use crate::Buffer;
use crate::values::NOT_A_PERMUTATION;

/// Maximum length in bytes of a string for [`Strings::push_short`].
#[doc(hidden)]
pub const SHORT_STRING: usize = 32;

/// Strings end to end in one data buffer, with offsets into it.
///
/// `offsets` has `len() + 1` entries and starts with 0; string `i` is
/// `data[offsets[i]..offsets[i + 1]]` (Arrow's large layout).
#[derive(Clone, PartialEq)]
pub struct Strings {
    offsets: Buffer<i64>,
    data: Buffer<u8>,
}

/// Shows the number of strings, and the first bytes.
impl fmt::Debug for Strings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Maximum number of bytes that are shown.
        const SHOWN: usize = 64;
        let data = self.data.as_slice();
        let first = data[..data.len().min(SHOWN)].escape_ascii();
        let more = if data.len() > SHOWN { ".." } else { "" };
        write!(f, "Strings({}: \"{first}\"{more})", self.len())
    }
}

impl Strings {
    /// No strings.
    pub fn new() -> Self {
        let mut offsets = Buffer::new();
        offsets.push(0);
        Strings {
            offsets,
            data: Buffer::new(),
        }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of string `i`, or `None` past the end.
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let offsets = self.offsets.as_slice();
        let (start, end) = (*offsets.get(i)?, *offsets.get(i + 1)?);
        self.data.as_slice().get(start as usize..end as usize)
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> + '_ {
        let data = self.data.as_slice();
        self.offsets
            .as_slice()
            .windows(2)
            .map(move |ends| &data[ends[0] as usize..ends[1] as usize])
    }

    /// The `len() + 1` offsets, in bytes.
    pub fn offsets(&self) -> &[i64] {
        self.offsets.as_slice()
    }

    /// The bytes of all strings end to end.
    pub fn data(&self) -> &[u8] {
        self.data.as_slice()
    }

    /// Appends one string.
    #[inline]
    pub fn push(&mut self, string: &[u8]) {
        self.data.extend_from_slice(string);
        self.offsets.push(self.data.len() as i64);
    }

    /// Appends the first `len` bytes of `window` as a string. If the capacity allows, the whole
    /// window is copied, which is faster than copying a part.
    ///
    /// # Panics
    /// If `len` is above [`SHORT_STRING`].
    #[inline]
    #[doc(hidden)]
    pub fn push_short(&mut self, window: &[u8; SHORT_STRING], len: usize) {
        self.data.append_some(window, len);
        self.offsets.push(self.data.len() as i64);
    }

    /// Removes all strings; keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.set_len(1);
        self.data.clear();
    }

    /// Keeps the first `len` strings, and the memory.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.offsets.set_len(len + 1);
            let end = self.offsets.as_slice()[len];
            self.data.set_len(end as usize);
        }
    }

    pub(crate) fn retain_from(&mut self, start: usize, keep: &[bool]) {
        let offsets = self.offsets.as_mut_slice();
        let (mut from, mut end) = (offsets[start], offsets[start]);
        let mut kept = start;
        for (i, keep) in keep.iter().enumerate() {
            let next = offsets[start + i + 1];
            if *keep {
                let data = self.data.as_mut_slice();
                data.copy_within(from as usize..next as usize, end as usize);
                end += next - from;
                kept += 1;
                offsets[kept] = end;
            }
            from = next;
        }
        self.offsets.set_len(kept + 1);
        self.data.set_len(end as usize);
    }

    pub(crate) fn permute_from(&mut self, start: usize, order: &[usize]) {
        // The capacity after the strings holds the reordered copy, so that no call allocates.
        let (len, end) = (self.len(), self.data.len());
        let first = self.offsets.as_slice()[start];
        let appended = self.data.append(end - first as usize).len();
        let data = self.data.as_mut_slice();
        self.offsets.append(order.len());
        let (old, new) = self.offsets.as_mut_slice().split_at_mut(len + 1);
        let mut laid = 0;
        for (new, &i) in new.iter_mut().zip(order) {
            let string = old[start + i] as usize..old[start + i + 1] as usize;
            let string_len = string.len();
            data.copy_within(string, end + laid);
            laid += string_len;
            *new = first + laid as i64;
        }
        assert_eq!(laid, appended, "{NOT_A_PERMUTATION}");
        old[start + 1..].copy_from_slice(new);
        data.copy_within(end.., first as usize);
        self.offsets.set_len(len + 1);
        self.data.set_len(end);
    }

    /// Reserves memory for `strings` strings of `bytes` bytes in total.
    pub(crate) fn reserve(&mut self, strings: usize, bytes: usize) {
        self.offsets.reserve(strings + 1);
        self.data.reserve(bytes);
    }

    pub(crate) fn used_bytes(&self) -> usize {
        self.offsets.as_bytes().len() + self.data.len()
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        self.offsets.capacity_bytes() + self.data.capacity_bytes()
    }

    /// Appends `strings` strings of `bytes` bytes in total. Returns their ends and data, which must
    /// be overwritten.
    pub(crate) fn append(&mut self, strings: usize, bytes: usize) -> (&mut [i64], &mut [u8]) {
        (self.offsets.append(strings), self.data.append(bytes))
    }
}

impl Default for Strings {
    fn default() -> Self {
        Strings::new()
    }
}
