//! How far a kernel has come.

use super::super::Found;

/// What the kernels have read of a run.
#[derive(Default)]
pub(super) struct Run {
    /// Values.
    pub(super) n: usize,
    /// Their bytes.
    pub(super) len: usize,
    /// Whether an index is at or above the bound.
    pub(super) at_bound: bool,
}

impl Run {
    /// The data and places of values not read, if there are any.
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
