//! Why files could not be generated.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::files::MAX_FILES;

/// Why files could not be generated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// No files, or more than [`MAX_FILES`], were asked for.
    #[error("cannot write records to {files} files: there must be 1 to {MAX_FILES}")]
    FileCount {
        /// The number asked for.
        files: usize,
    },
    /// The folder holds an Avro file that would stay there, and be read with the new ones.
    #[error("{} would stay beside the new files: remove it or choose another folder", path.display())]
    FolderInUse {
        /// The file.
        path: PathBuf,
    },
    /// A folder could not be made or read, or a file not be made.
    #[error("{}: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What went wrong, and at which byte.
        source: avro_block::Error,
    },
}
