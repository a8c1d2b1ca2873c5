//! How many threads there are.

use std::thread::available_parallelism;

/// The most threads of an iteration: above the number of cores of machines, and below the number of
/// threads that they refuse to start.
pub const MAX_THREADS: usize = 1024;

/// The number of threads that decompress and decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// As many as pay, up to the number of cores that the process may use.
    #[default]
    Auto,
    /// As many as pay, up to this many, at least 1, or the number of cores if that is less.
    UpTo(usize),
    /// This many, at least 1 and at most [`MAX_THREADS`].
    Fixed(usize),
}

impl Threads {
    /// The most threads that are started.
    pub fn number(self) -> usize {
        // What this process may use of the machine, by its affinity and its cgroup.
        self.number_on(available_parallelism().map_or(1, usize::from))
    }

    /// The most threads that are started on `cores` cores.
    pub fn number_on(self, cores: usize) -> usize {
        let number = match self {
            Threads::Auto => cores,
            Threads::UpTo(n) => n.min(cores),
            Threads::Fixed(n) => n,
        };
        number.clamp(1, MAX_THREADS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_at_least_one_and_not_more_than_asked_for() {
        assert_eq!(Threads::Fixed(0).number(), 1);
        assert_eq!(Threads::Fixed(7).number(), 7);
        assert_eq!(Threads::Fixed(usize::MAX).number(), MAX_THREADS);
        assert_eq!(Threads::UpTo(1).number(), 1);
        assert_eq!(Threads::UpTo(usize::MAX), Threads::UpTo(usize::MAX));
        assert_eq!(Threads::UpTo(usize::MAX).number(), Threads::Auto.number());
    }
}
