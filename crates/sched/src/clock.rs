//! Processor time of a thread.

use std::time::Duration;

/// Processor time that this thread has used, without waits; `None` where the system does not tell.
pub fn thread_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).ok()
    }
    #[cfg(not(unix))]
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::thread::sleep;
    use std::time::Instant;

    use super::*;

    #[test]
    fn it_counts_work_and_no_waits() {
        let start = thread_time();
        sleep(Duration::from_millis(50));
        let slept = thread_time().zip(start).map(|(now, start)| now - start);
        assert!(
            slept.is_some_and(|slept| slept < Duration::from_millis(40)),
            "{slept:?}"
        );
        let since = Instant::now();
        while thread_time() <= start.map(|start| start + Duration::from_millis(2)) {
            assert!(since.elapsed() < Duration::from_secs(60));
        }
    }
}
