//! Which files a dataset reads.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Error, ErrorKind};

/// Files, globs and folders, before they are looked up.
///
/// A folder stands for its files named `*.avro`, a glob (`*`, `?`, `[..]`) for
/// the files it matches, each in the sorted order of their names; several are
/// read in the order given. A path that exists is never taken for a glob.
#[derive(Clone, Debug, Default)]
pub struct Files(Vec<PathBuf>);

impl Files {
    /// Looks up every file.
    ///
    /// # Errors
    /// A file that is missing, a folder without `.avro` files, a glob that
    /// matches no file or is none, or no files at all.
    pub fn resolve(&self) -> Result<Vec<PathBuf>, Error> {
        let mut files = Vec::new();
        for path in &self.0 {
            match std::fs::metadata(path) {
                Ok(found) if found.is_dir() => folder(path, &mut files)?,
                Ok(_) => files.push(path.clone()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    glob(path, error, &mut files)?
                }
                Err(error) => return Err(Error::io(error, path)),
            }
        }
        if files.is_empty() {
            return Err(Error::new(ErrorKind::NoFiles));
        }
        Ok(files)
    }
}

fn folder(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let mut found = Vec::new();
    let mut hidden = 0;
    for entry in std::fs::read_dir(folder).map_err(|error| Error::io(error, folder))? {
        let path = entry.map_err(|error| Error::io(error, folder))?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if name.starts_with(b".") && name.ends_with(b".avro") {
            hidden += 1;
            continue;
        }
        if path
            .extension()
            .is_some_and(|extension| extension == "avro")
            && is_file(&path)?
        {
            found.push(path);
        }
    }
    if hidden > 0 {
        log::warn!("{}: {hidden} hidden files were skipped", folder.display());
    }
    append(found, folder, files)
}

/// Appends the files that match `pattern`, or fails with `missing` if it is a
/// plain path after all.
fn glob(pattern: &Path, missing: io::Error, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let text = pattern.to_str().unwrap_or_default();
    if !text.contains(['*', '?', '[']) {
        return Err(Error::io(missing, pattern));
    }
    let paths = glob::glob(text)
        .map_err(|error| Error::new(ErrorKind::Pattern(error.msg.to_owned())).in_file(pattern))?;
    let mut found = Vec::new();
    for path in paths {
        let path = path.map_err(|error| {
            let path = error.path().to_owned();
            Error::io(error.into(), &path)
        })?;
        if is_file(&path)? {
            found.push(path);
        }
    }
    append(found, pattern, files)
}

/// Whether a path that exists is no folder; an error, rather than a file less,
/// for a link that leads nowhere.
fn is_file(path: &Path) -> Result<bool, Error> {
    let found = std::fs::metadata(path).map_err(|error| Error::io(error, path))?;
    Ok(!found.is_dir())
}

fn append(mut found: Vec<PathBuf>, from: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    if found.is_empty() {
        return Err(Error::new(ErrorKind::NoAvroFiles).in_file(from));
    }
    found.sort();
    files.append(&mut found);
    Ok(())
}

macro_rules! from_one {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Files {
            fn from(path: $ty) -> Self {
                Files(vec![path.into()])
            }
        }
    )*};
}
from_one!(&str, String, &String, &Path, PathBuf, &PathBuf);

impl<P: Into<PathBuf>> From<Vec<P>> for Files {
    fn from(paths: Vec<P>) -> Self {
        Files(paths.into_iter().map(Into::into).collect())
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
