//! Putting a thread on another core than the caller's.
//!
//! A system may queue a thread that is woken behind the one that woke it, though another
//! core has nothing to do: in virtual machines a core that sleeps may count as taken. There
//! it waits for some milliseconds, until the system evens out what its cores have to do.
#![allow(unsafe_code)] // Affinity is the C library's.

use std::thread::JoinHandle;

/// Has `thread`, which is one of this process, has not ended and waits for a core, wait for
/// another than this one, if it may run on any. Which cores it may run on is as before
/// afterwards. Elsewhere than on Linux with glibc, this does nothing.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
pub(crate) fn put_apart<T>(thread: &JoinHandle<T>) {
    use std::os::unix::thread::JoinHandleExt;

    let thread = thread.as_pthread_t();
    // SAFETY: a thread of this process with a handle has not been joined, so the library
    // still knows it. The sets are as large as is said and live as long as each call. All
    // zeros are a set, the empty one, and so are all ones; `core` is below the number of
    // cores that a set has room for.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of_val(&all);
        let Ok(core) = usize::try_from(libc::sched_getcpu()) else {
            return;
        };
        // A machine may have more cores than a set has room for.
        if libc::pthread_getaffinity_np(thread, size, &mut all) != 0 || core >= 8 * size {
            return;
        }
        let mut others = all;
        libc::CPU_CLR(core, &mut others);
        if libc::CPU_COUNT(&others) == 0 || libc::pthread_setaffinity_np(thread, size, &others) != 0
        {
            return;
        }
        // A thread that nobody has bound to cores is not bound to those of today either:
        // its process may be given more.
        let mut every: libc::cpu_set_t = std::mem::zeroed();
        (0..8 * size).for_each(|core| libc::CPU_SET(core, &mut every));
        libc::pthread_setaffinity_np(thread, size, &every);
        libc::pthread_getaffinity_np(thread, size, &mut every);
        if !libc::CPU_EQUAL(&every, &all) {
            libc::pthread_setaffinity_np(thread, size, &all);
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
pub(crate) fn put_apart<T>(_: &JoinHandle<T>) {}

#[cfg(all(test, target_os = "linux", target_env = "gnu", not(miri)))]
mod tests {
    use std::mem::zeroed;
    use std::os::unix::thread::JoinHandleExt;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
    use std::time::{Duration, Instant};

    use super::*;

    fn affinity(thread: libc::pthread_t) -> libc::cpu_set_t {
        // SAFETY: a set is numbers, and as large as is said.
        unsafe {
            let mut set = zeroed();
            assert_eq!(
                libc::pthread_getaffinity_np(thread, size_of_val(&set), &mut set),
                0
            );
            set
        }
    }

    fn set_affinity(thread: libc::pthread_t, set: &libc::cpu_set_t) {
        // SAFETY: a set is as large as is said.
        let result = unsafe { libc::pthread_setaffinity_np(thread, size_of_val(set), set) };
        assert_eq!(result, 0);
    }

    fn only(core: usize) -> libc::cpu_set_t {
        // SAFETY: a set is numbers, and the core is one of an allowed set.
        unsafe {
            let mut set = zeroed();
            libc::CPU_SET(core, &mut set);
            set
        }
    }

    fn cores(set: &libc::cpu_set_t) -> Vec<usize> {
        // SAFETY: no number is beyond those of a set.
        (0..8 * size_of_val(set))
            .filter(|&core| unsafe { libc::CPU_ISSET(core, set) })
            .collect()
    }

    /// The core that a thread of this process is on.
    fn core_of(tid: i32) -> usize {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat"));
        let stat = stat.expect("the thread's state");
        // Behind the name, which is in brackets, it is the 37th.
        let behind = stat.rsplit(')').next().expect("a name");
        let core = behind.split_whitespace().nth(36).expect("a core");
        core.parse().expect("a number")
    }

    /// Ends the other thread, whatever becomes of the test.
    struct Over(Arc<AtomicBool>);

    impl Drop for Over {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }

    #[test]
    fn a_thread_behind_this_one_goes_to_another_core_and_may_come_back() {
        // SAFETY: nothing is asked of them.
        let (own, own_tid) = unsafe { (libc::pthread_self(), libc::gettid()) };
        let all = affinity(own);
        let [others @ .., core] = &cores(&all)[..] else {
            return;
        };
        let core = *core;
        let (tid, over) = (Arc::new(AtomicI32::new(0)), Over(Arc::default()));
        let other = std::thread::spawn({
            let (tid, over) = (tid.clone(), over.0.clone());
            move || {
                // SAFETY: nothing is asked of it.
                tid.store(unsafe { libc::gettid() }, SeqCst);
                while !over.load(SeqCst) {
                    std::hint::spin_loop();
                }
            }
        });
        while tid.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
        let tid = tid.load(SeqCst);
        set_affinity(own, &only(core));
        if others.is_empty() || core_of(own_tid) != core {
            // There is but one core, or no way to know where a thread is.
            return;
        }
        let (mut tries, mut moved) = (0, 0);
        let begun = Instant::now();
        while moved < 10 && begun.elapsed() < Duration::from_secs(20) {
            set_affinity(other.as_pthread_t(), &only(core));
            set_affinity(other.as_pthread_t(), &all);
            if core_of(tid) != core {
                // The system was faster.
                continue;
            }
            put_apart(&other);
            tries += 1;
            moved += usize::from(core_of(tid) != core);
        }
        set_affinity(own, &all);
        // Now and then it is brought back as soon.
        assert!(moved > 0 && 2 * moved > tries, "{moved} of {tries}");
        assert_eq!(cores(&affinity(other.as_pthread_t())), cores(&all));

        // One that is bound to some of the cores stays so.
        let bound = only(others[0]);
        set_affinity(other.as_pthread_t(), &bound);
        put_apart(&other);
        assert_eq!(cores(&affinity(other.as_pthread_t())), cores(&bound));
    }
}
