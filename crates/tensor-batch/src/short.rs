//! Debug text that fits a screen.

use std::fmt;

/// Maximum number of elements of a slice that are shown.
const SHOWN: usize = 8;

/// The first elements of a slice, and `..` if there are more.
pub(crate) struct Short<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Debug> fmt::Debug for Short<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(self.0.iter().take(SHOWN));
        if self.0.len() > SHOWN {
            list.finish_non_exhaustive()
        } else {
            list.finish()
        }
    }
}
