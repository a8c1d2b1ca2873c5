//! A growable, 64-byte aligned buffer that never clears memory twice.

use std::fmt;

use aligned_vec::{AVec, ConstAlign};
use bytemuck::Pod;

use crate::short::Short;

/// Alignment of every buffer in bytes: a cache line, as Arrow and DLPack consumers require.
pub const ALIGNMENT: usize = 64;

/// Size in bytes from which a buffer grows by a quarter instead of doubling. Batches reuse their
/// buffers, so growth is rare, but unused capacity is held for good.
const LARGE: usize = 64 << 10;

/// A growable array of plain values, aligned to [`ALIGNMENT`] bytes.
///
/// Unlike in a `Vec`, all memory up to the capacity stays initialised, so
/// growing within it writes nothing. Elements from [`Buffer::append`] may hold values of an earlier
/// use and must be overwritten.
pub struct Buffer<T> {
    data: AVec<T, ConstAlign<ALIGNMENT>>,
    len: usize,
}

impl<T: Pod> Buffer<T> {
    /// An empty buffer without memory.
    pub fn new() -> Self {
        Buffer {
            data: AVec::new(ALIGNMENT),
            len: 0,
        }
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of elements that the buffer can hold without growing.
    pub fn capacity(&self) -> usize {
        self.data.len()
    }

    /// Size of the memory in bytes.
    pub fn capacity_bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }

    /// The elements.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        &self.data[..self.len]
    }

    /// The elements, mutable.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data[..self.len]
    }

    /// The elements as bytes in native order.
    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self.as_slice())
    }

    /// Removes all elements; keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Grows the capacity to about `capacity` elements.
    pub fn reserve(&mut self, capacity: usize) {
        if capacity > self.data.len() {
            self.grow_to(capacity);
        }
    }

    /// Appends `n` elements and returns them. They hold zeros or values of an earlier use and must
    /// be overwritten.
    #[inline]
    pub fn append(&mut self, n: usize) -> &mut [T] {
        let start = self.len;
        let end = start + n;
        if end > self.data.len() {
            self.grow(end);
        }
        self.len = end;
        &mut self.data[start..end]
    }

    /// Appends one element.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.len == self.data.len() {
            self.grow(self.len + 1);
        }
        self.data[self.len] = value;
        self.len += 1;
    }

    /// Appends a copy of `values`.
    #[inline]
    pub fn extend_from_slice(&mut self, values: &[T]) {
        self.append(values.len()).copy_from_slice(values);
    }

    /// Appends a copy of the first `n` of `values`. If the capacity allows, all `N` values are
    /// copied at once, which is faster.
    ///
    /// # Panics
    /// If `n` is larger than `N`.
    #[inline]
    pub(crate) fn append_some<const N: usize>(&mut self, values: &[T; N], n: usize) {
        let rest = &mut self.data[self.len..];
        match rest.first_chunk_mut() {
            Some(slot) if n <= N => {
                *slot = *values;
                self.len += n;
            }
            _ => self.extend_from_slice(&values[..n]),
        }
    }

    /// Sets the length; new elements are unspecified as in [`Buffer::append`].
    pub fn set_len(&mut self, len: usize) {
        if len > self.data.len() {
            self.grow(len);
        }
        self.len = len;
    }

    #[cold]
    fn grow(&mut self, at_least: usize) {
        let len = self.data.len();
        let more = match self.capacity_bytes() {
            ..LARGE => len,
            _ => len / 4,
        };
        self.grow_to(at_least.max(len + more));
    }

    fn grow_to(&mut self, at_least: usize) {
        let line = ALIGNMENT / size_of::<T>().clamp(1, ALIGNMENT);
        let target = at_least.next_multiple_of(line);
        // One exact reallocation: `resize` alone would double the capacity.
        self.data.reserve_exact(target - self.data.len());
        self.data.resize(target, T::zeroed());
    }
}

impl<T: Pod> Default for Buffer<T> {
    fn default() -> Self {
        Buffer::new()
    }
}

impl<T: Pod> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        let mut copy = Buffer::new();
        copy.extend_from_slice(self.as_slice());
        copy
    }
}

/// Shows the first elements.
impl<T: Pod + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Short(self.as_slice()).fmt(f)
    }
}

impl<T: Pod + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}
