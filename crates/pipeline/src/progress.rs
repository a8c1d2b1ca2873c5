//! Lines of the log that say how far work is that takes long.

use std::time::{Duration, Instant};

/// Time between two lines.
pub(crate) const LOGGED_EVERY: Duration = Duration::from_secs(10);

/// How far work is that has nothing to show before it ends, such as counting the records of all files. Work
/// that takes less than some seconds logs nothing.
#[derive(Debug)]
pub struct Progress {
    every: Duration,
    begun: Instant,
    /// Time from the beginning to the last line.
    logged: Duration,
}

impl Default for Progress {
    /// Of work that begins now, with a line every ten seconds.
    fn default() -> Self {
        Progress::every(LOGGED_EVERY)
    }
}

impl Progress {
    /// Of work that begins now.
    pub fn every(every: Duration) -> Self {
        Progress {
            every,
            begun: Instant::now(),
            logged: Duration::ZERO,
        }
    }

    /// Logs how far the work is, unless it was logged a moment ago. `what` says what was done; rate and
    /// estimated rest follow it.
    pub fn note(&mut self, done: u64, total: u64, what: impl FnOnce() -> String) {
        if let Some(line) = self.line(self.begun.elapsed(), done, total, what) {
            log::info!("{line}");
        }
    }

    fn line(
        &mut self,
        elapsed: Duration,
        done: u64,
        total: u64,
        what: impl FnOnce() -> String,
    ) -> Option<String> {
        if done >= total || elapsed < self.logged + self.every {
            return None;
        }
        self.logged = elapsed;
        Some(what() + &rate(elapsed, done, total))
    }
}

/// For example `: 1200 a second, about 40 s left`.
fn rate(elapsed: Duration, done: u64, total: u64) -> String {
    let seconds = elapsed.as_secs_f64();
    if done == 0 || seconds == 0.0 {
        return String::new();
    }
    let (per_second, left) = (done as f64 / seconds, total.saturating_sub(done) as f64);
    let rest = left / per_second;
    match per_second {
        10.0.. => format!(": {per_second:.0} a second, about {rest:.0} s left"),
        _ => format!(": {per_second:.1} a second, about {rest:.0} s left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        let of = |seconds, done, total| rate(Duration::from_secs(seconds), done, total);
        assert_eq!(of(10, 12_000, 60_000), ": 1200 a second, about 40 s left");
        assert_eq!(of(20, 3, 9), ": 0.1 a second, about 40 s left");
        assert_eq!(of(10, 0, 9), "");
        assert_eq!(of(0, 3, 9), "");
    }

    #[test]
    fn lines_are_far_apart() {
        let mut progress = Progress::default();
        let mut at = |seconds, done| {
            let elapsed = Duration::from_secs(seconds);
            progress.line(elapsed, done, 60, || format!("did {done} of 60"))
        };
        let lines: Vec<_> = (0..60).filter_map(|second| at(second, second)).collect();
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert_eq!(lines[1], "did 20 of 60: 1.0 a second, about 40 s left");
        assert_eq!(at(100, 60), None, "the end needs no line");
    }
}
