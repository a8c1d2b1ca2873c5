//! Work on files side by side.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use atds_sched::Threads;

use crate::Error;

/// Does `work` on files side by side, on threads of this name. `take` gets the results in the order of the
/// files; its error ends the work after the files that are being read.
pub(super) fn in_order<T: Send>(
    files: &[PathBuf],
    threads: Threads,
    name: &str,
    work: impl Fn(&PathBuf) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let work = |results: &Sender<_>| {
        while let Some((number, path)) = {
            let number = next.fetch_add(1, Relaxed);
            files.get(number).map(|path| (number, path))
        } {
            if results.send((number, work(path))).is_err() {
                break;
            }
        }
    };
    let (sender, results) = channel();
    thread::scope(|scope| {
        let threads = threads.number().clamp(1, files.len().max(1));
        let started = (0..threads).filter(|_| {
            let (work, sender) = (&work, sender.clone());
            let thread = thread::Builder::new().name(name.to_owned());
            thread.spawn_scoped(scope, move || work(&sender)).is_ok()
        });
        if started.count() == 0 {
            // Without threads, the results wait until all files are read.
            work(&sender);
        }
        drop(sender);
        let (mut early, mut taken) = (BTreeMap::new(), 0);
        for (number, result) in results {
            early.insert(number, result);
            while let Some(result) = early.remove(&taken) {
                take(result)?;
                taken += 1;
            }
        }
        Ok(())
    })
}
