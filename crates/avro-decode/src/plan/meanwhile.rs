//! Asking for what is read next, wherever that is, while records are read.
//!
//! A processor has only so many loads from memory under way: if all of a record is
//! asked for at once, it stands still until most of it has come. A few lines at each
//! operation are asked for while it has other work.

use crate::prefetch::{LINE, MOST_LINES, prefetch_address};

/// Lines asked for at an operation. Where all of a record is read, there are about half
/// as many operations as lines.
const LINES: usize = 2;

/// What is still to be asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meanwhile {
    /// The address of the next line.
    next: usize,
    /// The address behind the last.
    end: usize,
}

impl Meanwhile {
    /// For `bytes`, of many the first.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let next = bytes.as_ptr().addr();
        Meanwhile {
            next,
            end: next + bytes.len().min(MOST_LINES * LINE),
        }
    }

    /// Begins with so many operations: asks for what they do not come to, if they are few.
    #[inline]
    pub(super) fn begin(&mut self, operations: usize) {
        let spread = operations.saturating_mul(LINES * LINE);
        while self.end.saturating_sub(self.next) > spread {
            self.ask();
        }
    }

    /// Whether there is nothing left.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.next >= self.end
    }

    /// Asks for some of it. Where it ends, that may be a line more: how many there are
    /// would be a branch that is mispredicted.
    #[inline]
    pub(super) fn ask(&mut self) {
        if self.is_over() {
            return;
        }
        for line in 0..LINES {
            prefetch_address(self.next + line * LINE);
        }
        self.next += LINES * LINE;
    }

    /// Asks for all that is left.
    pub(super) fn end(&mut self) {
        while !self.is_over() {
            self.ask();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many operations ask for something.
    fn asking(meanwhile: &mut Meanwhile) -> usize {
        let ask = || {
            let is_left = !meanwhile.is_over();
            meanwhile.ask();
            is_left.then_some(())
        };
        std::iter::from_fn(ask).count()
    }

    #[test]
    fn some_lines_are_asked_for_at_a_time() {
        let bytes = [0; 100 * LINE];
        for (len, expected) in [
            (100 * LINE, 50),
            (99 * LINE, 50),
            (2 * LINE, 1),
            (LINE, 1),
            (1, 1),
            (0, 0),
        ] {
            let mut meanwhile = Meanwhile::of(&bytes[..len]);
            assert_eq!(asking(&mut meanwhile), expected, "{len}");
        }
    }

    #[test]
    fn what_the_operations_do_not_come_to_is_asked_for_first() {
        let bytes = [0; 100 * LINE];
        for (operations, expected) in [(60, 50), (50, 50), (49, 49), (1, 1), (0, 0)] {
            let mut meanwhile = Meanwhile::of(&bytes);
            meanwhile.begin(operations);
            assert_eq!(asking(&mut meanwhile), expected, "{operations}");
        }
    }

    #[test]
    fn what_is_left_is_asked_for_in_one_go() {
        let mut meanwhile = Meanwhile::of(&[0; 1_000]);
        meanwhile.ask();
        assert!(!meanwhile.is_over());
        meanwhile.end();
        assert!(meanwhile.is_over());
    }

    #[test]
    fn of_many_bytes_the_first_are_asked_for() {
        let bytes = vec![0; 1_000 * LINE];
        let mut meanwhile = Meanwhile::of(&bytes);
        assert_eq!(asking(&mut meanwhile), MOST_LINES / LINES);
    }
}
