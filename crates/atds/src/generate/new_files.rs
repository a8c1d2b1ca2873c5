//! Files that are written beside those of their names, and take their place when they are whole.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Files of a folder under other names for now, which are hidden. Dropped before
/// [`publish`](Self::publish), they are removed, and so is a folder that was made for them.
pub(super) struct NewFiles {
    /// Of each the path now and the path that it is to have.
    files: Vec<(PathBuf, PathBuf)>,
    /// The folder, if it was made for them.
    made: Option<PathBuf>,
}

impl NewFiles {
    /// Makes the folder if it is not there. The files are not made yet.
    pub(super) fn new(dir: &Path, names: &[String]) -> io::Result<Self> {
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
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Where file `i` is written.
    pub(super) fn path(&self, i: usize) -> &Path {
        &self.files[i].0
    }

    /// Where file `i` will be.
    pub(super) fn published(&self, i: usize) -> &Path {
        &self.files[i].1
    }

    /// Gives all files their names, and returns their paths.
    ///
    /// # Errors
    /// The path of a file that cannot have its name, and why.
    pub(super) fn publish(mut self) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
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
        // What cannot be removed is not there, or cannot be helped.
        for (path, _) in &self.files {
            let _ = fs::remove_file(path);
        }
        if let Some(dir) = &self.made {
            let _ = fs::remove_dir(dir);
        }
    }
}
