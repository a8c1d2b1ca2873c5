//! Inputs that can be read only once: pipes, sockets, terminals and other devices.
//!
//! Such an input is opened once. Bytes that are read for its header are not lost: they are kept for
//! the first iteration. A read can always be cancelled: a thread that waits for bytes regularly
//! checks whether to stop.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, FileType, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::PackedFiles;
use super::stream::Stream;
use crate::lock::lock;
use crate::{Error, ErrorKind};

/// The maximum wait for bytes before a thread checks whether to stop.
#[cfg(unix)]
const SLICE: rustix::event::Timespec = rustix::event::Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The time that a program may take to open the other end of a pipe before this is logged.
const PATIENCE: Duration = Duration::from_secs(5);

/// The inputs among files that can be read only once. All readers of the files share them.
#[derive(Debug, Default)]
pub(crate) struct OnceInputs {
    inputs: Mutex<BTreeMap<PathBuf, Input>>,
    /// The files that are packed as a whole, among those that were opened.
    pub(crate) packed: PackedFiles,
    pub(crate) stop: Stop,
}

#[derive(Debug)]
struct Input {
    /// The kind of input: `a pipe`.
    name: &'static str,
    /// `None` once the iteration that has taken it reads it: it is closed when that one drops it.
    stream: Option<Arc<Stream>>,
    /// Whether an iteration has taken it.
    is_taken: bool,
}

impl OnceInputs {
    /// Registers the inputs among `found` that can be read only once. Each file comes with its
    /// metadata.
    ///
    /// # Errors
    /// An input occurs twice.
    pub(crate) fn note(&self, found: &[(PathBuf, Metadata)]) -> Result<(), Error> {
        let mut inputs = lock(&self.inputs);
        let mut ids = HashSet::new();
        for (path, found) in found {
            let Some(name) = once_name(found.file_type()) else {
                continue;
            };
            if !ids.insert(file_id(path, found)) {
                return Err(once_error(name, "it is given twice", path));
            }
            inputs.entry(path.clone()).or_insert_with(|| Input {
                name,
                stream: Some(Arc::new(Stream::new(path, &self.packed, &self.stop))),
                is_taken: false,
            });
        }
        Ok(())
    }

    /// An error for `reason` if there is any such input.
    pub(crate) fn refuse(&self, reason: &'static str) -> Result<(), Error> {
        match lock(&self.inputs).first_key_value() {
            Some((path, input)) => Err(once_error(input.name, reason, path)),
            None => Ok(()),
        }
    }

    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        lock(&self.inputs).keys().cloned().collect()
    }

    /// The input at `path`, if it can be read only once, for the iteration that has taken the inputs.
    ///
    /// # Errors
    /// It has been read.
    pub(crate) fn take(&self, path: &Path) -> io::Result<Option<Arc<Stream>>> {
        match lock(&self.inputs).get_mut(path) {
            None => Ok(None),
            Some(input) => match input.stream.take() {
                None => Err(io::Error::other(taken(input.name, path))),
                stream => Ok(stream),
            },
        }
    }

    /// Whether the input at `path` can be read only once.
    pub(crate) fn has(&self, path: &Path) -> bool {
        lock(&self.inputs).contains_key(path)
    }

    /// The same, to read it before the first iteration does.
    ///
    /// # Errors
    /// An iteration has taken the input.
    pub(crate) fn begin(&self, path: &Path) -> Result<Option<Arc<Stream>>, Error> {
        match lock(&self.inputs).get(path) {
            Some(input) if input.is_taken => Err(taken(input.name, path)),
            input => Ok(input.and_then(|input| input.stream.clone())),
        }
    }

    /// Takes inputs, those that an iteration reads.
    ///
    /// # Errors
    /// An iteration has taken one of them already.
    pub(crate) fn claim(&self, is_read: impl Fn(&Path) -> bool) -> Result<(), Error> {
        for (path, input) in &mut *lock(&self.inputs) {
            if is_read(path) && std::mem::replace(&mut input.is_taken, true) {
                return Err(taken(input.name, path));
            }
        }
        Ok(())
    }
}

#[cold]
fn once_error(input: &'static str, reason: &'static str, path: &Path) -> Error {
    Error::new(ErrorKind::ReadOnce { input, reason }).in_file(path)
}

#[cold]
fn taken(input: &'static str, path: &Path) -> Error {
    once_error(input, "it has been read, or is being read", path)
}

/// A handle that cancels the reading of inputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    cancelled: Arc<AtomicBool>,
    /// The flag of the iteration that reads.
    iteration: Arc<OnceLock<Arc<AtomicBool>>>,
}

impl Stop {
    /// Stops once `cancelled` is set.
    pub(crate) fn when(cancelled: Arc<AtomicBool>) -> Self {
        Stop {
            cancelled,
            iteration: Arc::default(),
        }
    }

    /// A handle for another reader, which this one cancels, too.
    pub(super) fn another(&self) -> Self {
        Stop::when(self.cancelled.clone())
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Stops once `flag`, that of the iteration that reads, is set.
    pub(super) fn follow(&self, flag: &Arc<AtomicBool>) {
        self.iteration.get_or_init(|| flag.clone());
    }

    fn is_set(&self) -> bool {
        let is_set = |flag: &Arc<AtomicBool>| flag.load(Relaxed);
        is_set(&self.cancelled) || self.iteration.get().is_some_and(is_set)
    }
}

/// The name of the kind of input, if it can be read only once.
fn once_name(kind: FileType) -> Option<&'static str> {
    if kind.is_file() || kind.is_dir() {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    Some("a device")
}

/// Identifies a file: its device and its inode, or its path on systems that have no such numbers.
#[cfg(unix)]
pub(crate) type FileId = (u64, u64);
#[cfg(not(unix))]
pub(crate) type FileId = PathBuf;

#[cfg(unix)]
pub(crate) fn file_id(_: &Path, found: &Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    (found.dev(), found.ino())
}

#[cfg(not(unix))]
pub(crate) fn file_id(path: &Path, _: &Metadata) -> FileId {
    path.to_owned()
}

/// Opens a file. Also returns the name of its kind if it can be read only once. Does not wait for
/// the other end of a pipe.
pub(crate) fn open_input(path: &Path) -> io::Result<(File, Option<&'static str>)> {
    let file = open_at_once(path)?;
    let name = once_name(file.metadata()?.file_type());
    Ok((file, name))
}

#[cfg(unix)]
fn open_at_once(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    match File::options().read(true).custom_flags(flags).open(path) {
        // Another process has a lease on the file.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => File::open(path),
        // Standard input may be a socket, which cannot be opened by its path.
        Err(error) if path == Path::new("/dev/stdin") && error.raw_os_error() == Some(6) => {
            let stdin = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned();
            stdin.map(File::from)
        }
        opened => opened,
    }
}

#[cfg(not(unix))]
fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Reads a file from its start on. A stop ends the wait for bytes of a pipe with an error.
pub(crate) struct OnceReader {
    file: File,
    path: PathBuf,
    stop: Stop,
    /// When waiting for the first byte began; `None` after it, or once the wait is logged.
    waiting: Option<Instant>,
}

impl OnceReader {
    pub(crate) fn new(file: File, path: &Path, stop: &Stop) -> Self {
        OnceReader {
            file,
            path: path.to_owned(),
            stop: stop.clone(),
            waiting: Some(Instant::now()),
        }
    }

    fn check(&mut self) -> io::Result<()> {
        if self.stop.is_set() {
            return Err(io::Error::other("reading was cancelled"));
        }
        if self.waiting.is_some_and(|since| since.elapsed() > PATIENCE) {
            self.waiting = None;
            let path = self.path.display();
            log::warn!("{path}: waiting for another program to write the first byte");
        }
        Ok(())
    }

    #[cfg(unix)]
    fn wait(&mut self) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, poll};
        loop {
            self.check()?;
            let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
            match poll(&mut fds, Some(&SLICE)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                // There are bytes, the end, or an error, which the read will return.
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[cfg(not(unix))]
    fn wait(&mut self) -> io::Result<()> {
        self.check()
    }
}

impl Read for OnceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.wait()?;
            match self.file.read(buffer) {
                // Another reader of the same pipe was faster.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => {
                    self.waiting = None;
                    return read;
                }
            }
        }
    }
}
