//! New files under temporary names, which get their final names when all are complete.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// New files of a folder under hidden temporary names. If this is dropped before
/// [`publish`](Self::publish), it removes the files, and the folder if it made it.
pub(crate) struct NewFiles {
    /// For each file, its temporary path and its final path.
    files: Vec<(PathBuf, PathBuf)>,
    /// The folder, if it was created.
    made: Option<PathBuf>,
}

impl NewFiles {
    /// Creates the folder if it is missing, but no files yet.
    pub(crate) fn new(dir: &Path, names: &[String]) -> io::Result<Self> {
        let made = !dir.exists();
        fs::create_dir_all(dir)?;
        let files = names.iter().map(|name| {
            let hidden = dir.join(format!(".{name}.tmp"));
            (hidden, dir.join(name))
        });
        Ok(NewFiles {
            files: files.collect(),
            made: made.then(|| dir.to_owned()),
        })
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// The temporary path of file `i`.
    pub(crate) fn path(&self, i: usize) -> &Path {
        &self.files[i].0
    }

    /// The final path of file `i`.
    pub(crate) fn published(&self, i: usize) -> &Path {
        &self.files[i].1
    }

    /// Renames all files to their final paths, and returns the paths.
    ///
    /// # Errors
    /// The path of a file that cannot be renamed, and the system's error.
    pub(crate) fn publish(mut self) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
        for (from, to) in &self.files {
            fs::rename(from, to).map_err(|error| (to.clone(), error))?;
        }
        self.made = None;
        let files = std::mem::take(&mut self.files).into_iter();
        Ok(files.map(|(_, path)| path).collect())
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        // A file that cannot be removed is missing, or there is no remedy.
        for (path, _) in &self.files {
            let _ = fs::remove_file(path);
        }
        if let Some(dir) = &self.made {
            let _ = fs::remove_dir(dir);
        }
    }
}
