//! Tables in files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::Error;
use crate::packing::{Compression, Packer, unpack};
use crate::reader::RowReader;
use crate::writer::Writer;

/// Opens a table, which may be compressed as a whole by gzip or zstandard, and reads its header.
///
/// # Errors
/// The file cannot be read, or its header is wrong. Offsets of errors count in the decompressed table.
pub fn open(path: impl AsRef<Path>) -> Result<RowReader<Box<dyn Read + Send>>, Error> {
    let failed = |error| Error::new(error, 0, None);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let (data, compression) = unpack(file).map_err(failed)?;
    let table = RowReader::new(data)?;
    Ok(if compression == Compression::None && metadata.is_file() {
        table.with_file_bytes(metadata.len())
    } else {
        table
    })
}

/// A table that is written to a new file.
///
/// The file has a temporary name in the same folder until [`finish`](Self::finish): a reader never sees half
/// a table, and a file that was there before stays as it is until then. If this is dropped before, the
/// temporary file is removed. What is no ordinary file, such as a pipe, is written in place; a link that
/// leads nowhere is an error.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.btable.zst");
/// let mut file = atds_btable::FileWriter::create(&path, &["a", "b"])?;
/// file.writer().write_dense_row(&[0.0, 2.0])?;
/// file.finish()?;
/// assert_eq!(atds_btable::open(&path)?.read_csr()?.data, [2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileWriter {
    writer: Writer<Packer<File>>,
    names: Option<NewName>,
}

/// The temporary name of a file, which is removed unless it is renamed.
#[derive(Debug)]
struct NewName {
    temporary: PathBuf,
    path: PathBuf,
}

impl FileWriter {
    /// Makes a file, compressed if its name ends in `.gz` or `.zst`, and writes the header.
    ///
    /// # Errors
    /// As [`with_compression`](Self::with_compression).
    pub fn create<L: AsRef<str>>(path: impl AsRef<Path>, labels: &[L]) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::with_compression(path, labels, Compression::of_path(path))
    }

    /// Makes a file and writes the header.
    ///
    /// # Errors
    /// The file cannot be made, the compression is not compiled in, or those of [`Writer::new`].
    pub fn with_compression<L: AsRef<str>>(
        path: impl AsRef<Path>,
        labels: &[L],
        compression: Compression,
    ) -> Result<Self, Error> {
        let failed = |error| Error::new(error, 0, None);
        let (file, names) = new_file(path.as_ref()).map_err(failed)?;
        let packer = Packer::new(file, compression).map_err(|kind| Error::new(kind, 0, None))?;
        let writer = Writer::new(packer, labels)?;
        Ok(FileWriter { writer, names })
    }

    /// What writes the rows.
    pub fn writer(&mut self) -> &mut Writer<Packer<File>> {
        &mut self.writer
    }

    /// Writes what is left, and gives the file its name. That its bytes are on the disk is left to the system.
    ///
    /// # Errors
    /// Writing or renaming fails; the file that was there before is then still there.
    pub fn finish(self) -> Result<(), Error> {
        let (bytes, rows) = (self.writer.bytes(), self.writer.rows());
        let packer = self.writer.finish()?;
        let finished = packer.finish().and_then(|file| {
            drop(file);
            self.names.map_or(Ok(()), NewName::publish)
        });
        finished.map_err(|error| Error::new(error, bytes, Some(rows)))
    }
}

/// A new file that is to be at `path`.
fn new_file(path: &Path) -> io::Result<(File, Option<NewName>)> {
    // A link stays, and what it leads to is replaced.
    let mut permissions = None;
    let path = match fs::metadata(path) {
        Ok(there) if !there.is_file() => return Ok((File::create(path)?, None)),
        Ok(there) => {
            permissions = Some(there.permissions());
            fs::canonicalize(path)?
        }
        // A link that leads nowhere stays, too.
        Err(error) if fs::symlink_metadata(path).is_ok() => return Err(error),
        Err(_) => path.to_owned(),
    };
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(NAME_CHARS).collect();
    let mut tries = 0;
    loop {
        let number = NEXT.fetch_add(1, Relaxed);
        let temporary = format!(".{name}.{}.{number}.tmp", process::id());
        let temporary = path.with_file_name(temporary);
        tries += 1;
        match File::create_new(&temporary) {
            Ok(file) => {
                let new = NewName { temporary, path };
                if let Some(permissions) = permissions {
                    // Who may read a file stays, from before it has a byte. A file system without permissions
                    // refuses it.
                    let _ = file.set_permissions(permissions);
                }
                return Ok((file, Some(new)));
            }
            // A process with this number was killed, and left its file.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < MAX_TRIES => {}
            Err(error) => return Err(error),
        }
    }
}

/// Characters of a file's name that are in the name of its temporary file: systems allow 255 bytes, and some
/// are added.
const NAME_CHARS: usize = 48;

/// Temporary names that are tried, of which files may be left.
const MAX_TRIES: u32 = 1 << 10;

impl NewName {
    fn publish(mut self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.path)?;
        self.temporary.clear();
        Ok(())
    }
}

impl Drop for NewName {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            // A file that cannot be removed is missing, or there is no remedy.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
