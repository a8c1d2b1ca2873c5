use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a file is: a path, or the URL of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Location {
    /// A path of the local file system.
    Path(PathBuf),
    /// A URL.
    Url(String),
}

impl Location {
    /// The path; `None` for a URL.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Location::Path(path) => Some(path),
            Location::Url(_) => None,
        }
    }

    /// The path or the URL, as it was given.
    pub fn as_os_str(&self) -> &OsStr {
        match self {
            Location::Path(path) => path.as_os_str(),
            Location::Url(url) => url.as_ref(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Path(path) => path.display().fmt(f),
            Location::Url(url) => f.write_str(url),
        }
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        Location::Path(path)
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Location::Path(path.to_owned())
    }
}
