//! The files that a data set reads.

mod expansion;
mod location;
mod nothing;
mod search;

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::formats::FileFormat;
use crate::source::OnceInputs;
use crate::{Error, ErrorKind};

pub use expansion::NotExpanded;
pub(crate) use location::local_path;
pub use nothing::NothingFound;
use search::Names;

pub use crate::source::Packing;

/// A file that was found.
pub(crate) type Found = (PathBuf, Metadata);

/// Files, patterns and folders, before they are looked up.
///
/// A folder stands for its files whose names [tell a format](FileFormat::suffixes), such as `*.avro`, and with [`recursive`](Files::recursive) for
/// the files of that name in folders below it too. A pattern stands for the files that it matches:
/// `*` and `?` are any characters of a name, `[..]` is one character of a set, `**` is any number
/// of folders. The files of a folder or pattern are sorted by name; several folders and patterns
/// are read in the order given. A path that exists is never taken for a pattern.
///
/// Names that begin with `.` or `_` are hidden: Spark's `_temporary`, macOS' `._a.avro`, files that
/// are being written. They are skipped with a warning in the log, unless that component of the
/// pattern begins with `.` or `_` too. Partitions, which have the form `_name=value`, are not
/// hidden. A path that is given in full is never hidden.
///
/// `file://` URLs are paths too; other schemes are errors.
///
/// Pipes, standard input (`/dev/stdin`), sockets and devices can be read only once, by one
/// iteration of one data set. Clones of this value share the bytes that were read for the headers.
/// Building the data set waits until another program has written the header;
/// [`cancel`](Files::cancel) ends the wait. Dropping an iteration ends its wait too. Such inputs
/// cannot be counted, sharded, shuffled by blocks, mapped, or read for several epochs.
///
/// Files that are packed as a whole by gzip or zstandard are unpacked while they are read.
#[derive(Clone, Default)]
pub struct Files {
    given: Vec<PathBuf>,
    pub(crate) recursive: bool,
    /// The format that is insisted on.
    pub(crate) format: Option<FileFormat>,
    inputs: Arc<OnceInputs>,
    /// The files that were found, if they were looked up already.
    found: Option<Arc<[PathBuf]>>,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The number of paths that are shown.
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
    /// Sets whether the folders inside a folder are searched too (false by default).
    #[must_use]
    pub fn recursive(mut self, recursive: bool) -> Self {
        self.recursive = recursive;
        self
    }

    /// Sets the format that the files have (by default their names or first bytes tell it): of a folder, only
    /// files named as those of the format are taken.
    #[must_use]
    pub fn format(mut self, format: impl Into<Option<FileFormat>>) -> Self {
        self.format = format.into();
        self
    }

    /// Looks up every file.
    ///
    /// # Errors
    /// A file that is missing, a folder without such files, a pattern that matches no file or is
    /// invalid, a URL that is no local file, or no files at all.
    pub fn resolve(&self) -> Result<Vec<PathBuf>, Error> {
        Ok(self.look_up()?.to_vec())
    }

    /// These files, looked up now. A data set that is made of the result does not look them up
    /// again.
    ///
    /// # Errors
    /// As [`resolve`](Files::resolve).
    pub fn looked_up(mut self) -> Result<Files, Error> {
        self.found = Some(self.look_up()?);
        Ok(self)
    }

    /// Ends each wait for bytes of a pipe or another input that can be read only once, with an
    /// error. Nothing more is read from such inputs.
    pub fn cancel(&self) {
        self.inputs.stop.cancel();
    }

    /// The files that can be read only once: pipes, sockets, devices.
    ///
    /// # Errors
    /// As [`resolve`](Files::resolve).
    pub fn read_once(&self) -> Result<Vec<PathBuf>, Error> {
        self.look_up()?;
        Ok(self.inputs.paths())
    }

    /// The format of these files: the one that was chosen, or else what names or first bytes tell.
    ///
    /// # Errors
    /// As [`resolve`](Files::resolve); the names of the files tell two formats, or the first file cannot be
    /// opened.
    pub fn told_format(&self) -> Result<FileFormat, Error> {
        self.format_of(&self.look_up()?)
    }

    /// The format of the files that were looked up: the one that was chosen, or that of the files.
    ///
    /// # Errors
    /// The names of the files tell two formats, or the first file cannot be opened.
    pub(crate) fn format_of(&self, found: &[PathBuf]) -> Result<FileFormat, Error> {
        match self.format {
            Some(format) => Ok(format),
            None => FileFormat::of_files(found, &self.inputs),
        }
    }

    /// The names of a folder's files.
    fn names(&self) -> Names {
        let formats = FileFormat::ALL.iter().copied();
        let formats = formats.filter(|format| self.format.is_none_or(|only| only == *format));
        Names(formats.collect())
    }

    /// The inputs that can be read only once.
    pub(crate) fn inputs(&self) -> &Arc<OnceInputs> {
        &self.inputs
    }

    /// Some of the files that were looked up.
    pub(crate) fn only(&self, found: &[PathBuf]) -> Files {
        let mut files = self.clone();
        files.found = Some(found.into());
        files
    }

    /// Looks up every file, and registers the inputs that can be read only once.
    pub(crate) fn look_up(&self) -> Result<Arc<[PathBuf]>, Error> {
        if let Some(found) = &self.found {
            return Ok(found.clone());
        }
        let mut files: Vec<Found> = Vec::new();
        for given in &self.given {
            let path = local_path(given)?;
            match std::fs::metadata(&path) {
                Ok(found) if found.is_dir() => {
                    files.append(&mut search::folder(&path, self.names(), self.recursive)?);
                }
                Ok(found) => files.push((path.into_owned(), found)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    files.append(&mut search::pattern(
                        &path,
                        self.names(),
                        self.recursive,
                        error,
                    )?);
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
