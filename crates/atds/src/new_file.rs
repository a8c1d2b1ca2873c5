//! New files, which get their names when they are complete.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::{Error, ErrorKind};

/// A file that is written beside its final path, and gets its name when it is complete. If this is dropped
/// before, the temporary file is removed.
#[derive(Debug)]
pub(crate) struct NewFile {
    temporary: NamedTempFile,
    path: PathBuf,
    replaces: bool,
}

impl NewFile {
    /// Makes the temporary file of a file that replaces what is there, with its permissions.
    ///
    /// # Errors
    /// The file cannot be made, or what is at `path` is no ordinary file, or a link that leads nowhere.
    pub(crate) fn replacing(path: &Path) -> Result<Self, Error> {
        let io = |error| Error::io(error, path);
        // A link stays, and what it leads to is replaced.
        let mut permissions = None;
        let target = match fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(io(io::ErrorKind::IsADirectory.into())),
            Ok(there) if !there.is_file() => {
                return Err(Error::new(ErrorKind::NotReplaced).in_file(path));
            }
            Ok(there) => {
                permissions = Some(there.permissions());
                fs::canonicalize(path).map_err(io)?
            }
            Err(_) if fs::symlink_metadata(path).is_ok() => {
                return Err(Error::new(ErrorKind::NotReplaced).in_file(path));
            }
            Err(_) => path.to_owned(),
        };
        let temporary = temporary(&target).map_err(io)?;
        if let Some(permissions) = permissions {
            // Who may read a file stays, from before it has a byte. A file system without permissions refuses it.
            let _ = temporary.as_file().set_permissions(permissions);
        }
        Ok(NewFile {
            temporary,
            path: target,
            replaces: true,
        })
    }

    /// Makes the temporary file of a file that replaces nothing.
    ///
    /// # Errors
    /// The file cannot be made, or something is at `path`.
    #[cfg(any(feature = "btable", feature = "tfrecord"))]
    pub(crate) fn only(path: &Path) -> Result<Self, Error> {
        // A link that leads nowhere is there, too.
        if fs::symlink_metadata(path).is_ok() {
            return Err(Error::new(ErrorKind::Exists).in_file(path));
        }
        Ok(NewFile {
            temporary: temporary(path).map_err(|error| Error::io(error, path))?,
            path: path.to_owned(),
            replaces: false,
        })
    }

    /// The file, for writing.
    ///
    /// # Errors
    /// The system has no handle left.
    pub(crate) fn file(&self) -> Result<File, Error> {
        let file = self.temporary.as_file().try_clone();
        file.map_err(|error| Error::io(error, &self.path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name, once its bytes are on the disk.
    pub(crate) fn publish(self) -> Result<(), Error> {
        publish(self.temporary, &self.path, self.replaces)
    }
}

/// Characters of a file's name that are in the name of its temporary file: systems allow 255 bytes, and some
/// are added.
const NAME_CHARS: usize = 48;

/// A hidden file beside `output`, which is removed if it does not get a name.
pub(crate) fn temporary(output: &Path) -> io::Result<NamedTempFile> {
    // The error of a folder that is not there would name the temporary file.
    fs::metadata(folder(output))?;
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(NAME_CHARS).collect();
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the umask takes its part.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder(output))
}

pub(crate) fn folder(output: &Path) -> &Path {
    match output.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Gives the file its name, once its bytes are on the disk. A file that has the name is replaced only if
/// `replaces`.
pub(crate) fn publish(
    temporary: NamedTempFile,
    output: &Path,
    replaces: bool,
) -> Result<(), Error> {
    let io = |error| Error::io(error, output);
    temporary.as_file().sync_all().map_err(io)?;
    let persisted = match replaces {
        true => temporary.persist(output),
        false => temporary.persist_noclobber(output),
    };
    if let Err(error) = persisted {
        return Err(match error.error.kind() {
            io::ErrorKind::AlreadyExists => Error::new(ErrorKind::Exists).in_file(output),
            _ => io(error.error),
        });
    }
    // So that the name is on the disk too. A system that cannot open folders does not need it.
    match File::open(folder(output)) {
        Ok(folder) if cfg!(unix) => folder.sync_all().map_err(io),
        _ => Ok(()),
    }
}
