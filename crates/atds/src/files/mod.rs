//! Which files a data set reads.

mod expansion;
mod location;
mod nothing;
mod search;

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::once::OnceInputs;
use crate::{Error, ErrorKind};

pub use expansion::NotExpanded;
pub(crate) use location::local_path;
pub use nothing::NothingFound;

pub use crate::unpack::Packing;

/// A file that was found.
pub(crate) type Found = (PathBuf, Metadata);

/// Files, patterns and folders, before they are looked up.
///
/// A folder stands for its files named `*.avro`, and with [`recursive`](Files::recursive) for
/// those in folders below it too. A pattern stands for the files that it matches: `*` and `?` are
/// any characters of a name, `[..]` is one of several, `**` is any number of folders. The files of
/// a folder or pattern are sorted by name; several folders and patterns are read in the order
/// given. A path that exists is never taken for a pattern.
///
/// Names that begin with `.` or `_` are hidden: Spark's `_temporary`, macOS' `._a.avro`, files that
/// are being written. They are skipped, and that is logged as a warning, unless that component of
/// the pattern begins so too. Partitions, which have the form `_name=value`, are not hidden.
/// Nothing is hidden that is given as a path.
///
/// `file://` URLs are paths too; other schemes are errors.
///
/// Pipes, standard input (`/dev/stdin`), sockets and devices can be read once, by one iteration of
/// one data set: clones of this value share what was read of them for their headers. Building the
/// data set waits until another program has written the header; [`cancel`](Files::cancel) ends
/// that, and dropping an iteration ends its waiting. They cannot be counted, sharded, shuffled by
/// blocks, mapped, or read for several epochs.
///
/// Files that are packed as a whole by gzip or zstandard are unpacked while they are read.
#[derive(Clone, Default)]
pub struct Files {
    given: Vec<PathBuf>,
    recursive: bool,
    inputs: Arc<OnceInputs>,
    /// What was found, if these were looked up already.
    found: Option<Arc<[PathBuf]>>,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Paths that are shown.
        const SHOWN: usize = 4;
        let first = &self.given[..self.given.len().min(SHOWN)];
        f.debug_struct("Files")
            .field("given", &self.given.len())
            .field("first", &first)
            .field("recursive", &self.recursive)
            .finish_non_exhaustive()
    }
}

impl Files {
    /// Whether folders are searched with all folders below them (no by default).
    #[must_use]
    pub fn recursive(mut self, recursive: bool) -> Self {
        self.recursive = recursive;
        self
    }

    /// Looks up every file.
    ///
    /// # Errors
    /// A file that is missing, a folder without `.avro` files, a pattern that matches no file or
    /// is none, a URL that is no local file, or no files at all.
    pub fn resolve(&self) -> Result<Vec<PathBuf>, Error> {
        Ok(self.look_up()?.to_vec())
    }

    /// These files as they are found now: what is made of the result does not look them up again.
    ///
    /// # Errors
    /// As [`resolve`](Files::resolve).
    pub fn looked_up(mut self) -> Result<Files, Error> {
        self.found = Some(self.look_up()?);
        Ok(self)
    }

    /// Makes a thread that waits for bytes of an input that can be read once give up, with an
    /// error. Nothing is read of such inputs after that.
    pub fn cancel(&self) {
        self.inputs.stop().cancel();
    }

    /// The files among these that can be read once: pipes, sockets, devices.
    ///
    /// # Errors
    /// As [`resolve`](Files::resolve).
    pub fn read_once(&self) -> Result<Vec<PathBuf>, Error> {
        self.look_up()?;
        Ok(self.inputs.paths())
    }

    /// The inputs among these files that can be read once.
    pub(crate) fn inputs(&self) -> &Arc<OnceInputs> {
        &self.inputs
    }

    /// Looks up every file, and notes those that can be read once.
    pub(crate) fn look_up(&self) -> Result<Arc<[PathBuf]>, Error> {
        if let Some(found) = &self.found {
            return Ok(found.clone());
        }
        let mut files: Vec<Found> = Vec::new();
        for given in &self.given {
            let path = local_path(given)?;
            match std::fs::metadata(&path) {
                Ok(found) if found.is_dir() => {
                    files.append(&mut search::folder(&path, self.recursive)?);
                }
                Ok(found) => files.push((path.into_owned(), found)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    files.append(&mut search::pattern(&path, self.recursive, error)?);
                }
                Err(error) => return Err(Error::io(error, &path)),
            }
        }
        if files.is_empty() {
            return Err(Error::new(ErrorKind::NoFiles));
        }
        self.inputs.note(&files)?;
        Ok(files.into_iter().map(|(path, _)| path).collect())
    }
}

macro_rules! from_one {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Files {
            fn from(path: $ty) -> Self {
                vec![path].into()
            }
        }
    )*};
}
from_one!(&str, String, &String, &Path, PathBuf, &PathBuf);

impl<P: Into<PathBuf>> From<Vec<P>> for Files {
    fn from(paths: Vec<P>) -> Self {
        let given = paths.into_iter().map(Into::into).collect();
        Files {
            given,
            ..Files::default()
        }
    }
}

impl<P: Clone + Into<PathBuf>> From<&[P]> for Files {
    fn from(paths: &[P]) -> Self {
        paths.to_vec().into()
    }
}

impl<P: Into<PathBuf>, const N: usize> From<[P; N]> for Files {
    fn from(paths: [P; N]) -> Self {
        Vec::from(paths).into()
    }
}
