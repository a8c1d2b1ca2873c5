//! Where bytes come from: files that are read or mapped, and inputs that can be read only once.

mod local;
mod mapped;
mod once;
mod stream;
mod unpack;

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use atds_format::ByteSource;

pub(crate) use mapped::Mappings;
pub(crate) use once::{Claimed, OnceInputs, OnceReader, Stop, open_input};
pub(crate) use stream::Stream;
pub use unpack::Packing;
pub(crate) use unpack::{UnpackError, unpack};

use local::LocalFile;
use mapped::MappedFile;
use unpack::{HEAD, read_head};

/// The bytes of the file at `path`, for the pipeline. Nothing is read but the first bytes, which tell
/// whether the whole file is packed: then it is unpacked while it is read.
pub(crate) fn open(
    path: &Path,
    mappings: Option<&Arc<Mappings>>,
    inputs: &Arc<OnceInputs>,
) -> io::Result<Arc<dyn ByteSource>> {
    let (file, once) = open_input(path)?;
    if once.is_some() {
        return Ok(Arc::new(Stream::once(file, path, inputs)));
    }
    let mut head = [0; HEAD];
    let len = local::read_at(&file, &mut head, 0)?;
    Ok(match (Packing::of_head(&head[..len]), mappings) {
        (Some(packing), _) => {
            inputs.note_packed(path, packing);
            Arc::new(Stream::packed(packing, file, path, inputs)?)
        }
        (None, Some(mappings)) => Arc::new(MappedFile::new(file, path, mappings)?),
        (None, None) => Arc::new(LocalFile::new(file, path)?),
    })
}

/// The bytes of a file from its start on, unpacked.
pub(crate) struct Reading {
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) packing: Option<Packing>,
}

impl Reading {
    /// Opens the file at `path`. An input that can be read only once gives up at `stop`.
    pub(crate) fn open(path: &Path, stop: &Stop) -> io::Result<Self> {
        let (file, once) = open_input(path)?;
        match once {
            Some(_) => Self::of_head(OnceReader::new(file, path, stop)),
            None => Self::of_head(file),
        }
    }

    /// The bytes of a reader, which perhaps cannot go back to its start.
    fn of_head(mut reader: impl Read + Send + 'static) -> io::Result<Self> {
        let head = read_head(&mut reader)?;
        let packing = Packing::of_head(&head);
        let reader = Cursor::new(head).chain(reader);
        Ok(Reading {
            reader: match packing {
                Some(packing) => unpack(packing, reader)?,
                None => Box::new(reader),
            },
            packing,
        })
    }
}

/// Opens a file in which any place is to be read. With a packing, it can be read from its start only.
pub(crate) fn open_seekable(
    path: &Path,
) -> io::Result<(impl Read + Seek + use<>, Option<Packing>)> {
    let mut file = File::open(path)?;
    let packing = Packing::of_head(&read_head(&mut file)?);
    file.rewind()?;
    Ok((file, packing))
}
