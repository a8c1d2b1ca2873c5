//! The progress of a kernel.

use super::super::Found;

/// The part of a run that the kernels have read.
#[derive(Default)]
pub(super) struct Run {
    /// Number of values.
    pub(super) n: usize,
    /// Size of the values in bytes.
    pub(super) len: usize,
    /// Whether an index is at or above the bound.
    pub(super) at_bound: bool,
}

impl Run {
    /// The unread data and the output elements for it, if there are any.
    #[inline]
    pub(super) fn rest<'a, T>(
        &self,
        data: &'a [u8],
        out: &'a mut [T],
    ) -> Option<(&'a [u8], &'a mut [T])> {
        (self.n < out.len()).then(|| (&data[self.len..], &mut out[self.n..]))
    }

    #[inline]
    pub(super) fn found(&self) -> Found {
        let &Run { len, at_bound, .. } = self;
        Found { len, at_bound }
    }
}
