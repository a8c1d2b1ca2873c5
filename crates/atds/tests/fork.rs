//! A forked process has none of the threads that its parent keeps, and starts its own.
//!
//! This test is a binary of its own, since it forks the process.
#![cfg(target_os = "linux")]
#![allow(
    unsafe_code,
    reason = "no safe function forks a process that has several threads"
)]
#![allow(clippy::unwrap_used)]

mod common;

use std::process::{Command, exit};
use std::thread;
use std::time::{Duration, Instant};

use atds::{Codec, Dataset, Threads};
use common::Folder;

fn read(dataset: &Dataset) -> usize {
    dataset.iter().map(|batch| batch.unwrap().rows()).sum()
}

#[test]
fn a_child_makes_its_own_threads() {
    let folder = Folder::of_rows(2, 300, 20, Codec::Null);
    let dataset = folder.rows(16).threads(Threads::Fixed(3));
    let dataset = dataset.keep_threads(true).build().unwrap();
    assert_eq!(read(&dataset), 601);
    // SAFETY: the child has this thread alone. The other threads wait for a job, and hold no lock that the
    // child takes: neither of the allocator nor of the data set.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // The second epoch uses the threads of the first.
        let is_whole = (0..2).all(|_| read(&dataset) == 601);
        dataset.end_threads();
        // Ends no thread of the parent.
        drop(dataset);
        exit(if is_whole { 0 } else { 1 });
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    assert_eq!(ended(child), Some(0), "the child's exit status");
    assert_eq!(read(&dataset), 601);
}

/// The exit status of a child; `None` if it does not end in time, and is killed.
fn ended(child: libc::pid_t) -> Option<i32> {
    let start = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: `status` is valid for the call.
        let found = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
        if found == child {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        if start.elapsed() > Duration::from_secs(30) {
            let _ = Command::new("kill")
                .args(["-9", &child.to_string()])
                .status();
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
