//! Files that are packed as a whole, by gzip or zstandard: unpacked while they are read.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::ErrorKind;

/// The compression around a whole Avro file, including its header. It is independent of the codec
/// of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Packing {
    /// Gzip, of one member or several.
    Gzip,
    /// Zstandard, of one frame or several.
    Zstandard,
}

impl Packing {
    /// The name: `gzip` or `zstandard`.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstandard => "zstandard",
        }
    }

    /// The packing of a file that begins with `head`, if it is compiled in.
    pub(super) fn of_head(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] if cfg!(feature = "deflate") => Some(Packing::Gzip),
            // A frame, or a skippable frame (RFC 8878, 3.1).
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
                if cfg!(feature = "zstandard") =>
            {
                Some(Packing::Zstandard)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Number of bytes that identify the packing of a file.
pub(super) const HEAD: usize = 4;

/// The first bytes of a file, fewer only if it ends.
pub(super) fn read_head(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Size of a read from a packed file in bytes.
const BUFFER: usize = 128 << 10;

/// Unpacks the data of `reader`, from its start.
pub(crate) fn unpack(
    packing: Packing,
    reader: impl Read + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    let progress = Arc::new(Progress::default());
    let counted = Counted {
        reader,
        progress: progress.clone(),
    };
    let packed = BufReader::with_capacity(BUFFER, counted);
    let decoder: Box<dyn Read + Send> = match packing {
        #[cfg(feature = "deflate")]
        Packing::Gzip => Box::new(Members {
            member: Some(flate2::bufread::GzDecoder::new(packed)),
        }),
        #[cfg(feature = "zstandard")]
        Packing::Zstandard => Box::new(zstd::stream::read::Decoder::with_buffer(packed)?),
        #[cfg(not(all(feature = "deflate", feature = "zstandard")))]
        _ => Box::new(packed),
    };
    Ok(Box::new(Unpacked {
        packing,
        decoder,
        progress,
    }))
}

/// Gzip data of one member or several.
#[cfg(feature = "deflate")]
struct Members<R> {
    /// None after the last one.
    member: Option<flate2::bufread::GzDecoder<R>>,
}

#[cfg(feature = "deflate")]
impl<R: io::BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let rest = member.get_mut().fill_buf()?;
            match rest {
                [] => self.member = None,
                [0x1f] | [0x1f, 0x8b, ..] => {
                    let ended = self.member.take().map(|member| member.into_inner());
                    self.member = ended.map(flate2::bufread::GzDecoder::new);
                }
                _ => return Err(io::Error::other(Followed(rest.len() as u64))),
            }
        }
        Ok(0)
    }
}

/// The error of bytes after the last member that begin no other member, with the number of bytes
/// read of them.
#[cfg(feature = "deflate")]
#[derive(Debug)]
struct Followed(u64);

#[cfg(feature = "deflate")]
impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes after the last member that begin no other")
    }
}

#[cfg(feature = "deflate")]
impl std::error::Error for Followed {}

/// The progress of reading a packed file.
#[derive(Debug, Default)]
struct Progress {
    bytes: AtomicU64,
    /// Whether reading failed, rather than unpacking.
    failed: AtomicBool,
}

struct Counted<R> {
    reader: R,
    progress: Arc<Progress>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        match &read {
            Ok(n) => drop(self.progress.bytes.fetch_add(*n as u64, Relaxed)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.progress.failed.store(true, Relaxed),
        }
        read
    }
}

/// A reader of unpacked data, whose errors are [`UnpackError`].
struct Unpacked {
    packing: Packing,
    decoder: Box<dyn Read + Send>,
    progress: Arc<Progress>,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ if self.progress.failed.load(Relaxed) => error,
            _ => io::Error::other(self.fault(&error)),
        })
    }
}

impl Unpacked {
    /// The error, with advice.
    #[cold]
    fn fault(&self, error: &io::Error) -> UnpackError {
        let read = self.progress.bytes.load(Relaxed);
        let (packed_offset, message) = match error.to_string() {
            // zstandard's words for a window above its limit.
            said if said.contains("too much memory") => {
                let message = "needs a window of more than 128 MiB to be unpacked: unpack the \
                               file first (zstd -d --long=31)";
                (read, message.to_owned())
            }
            // A file is unpacked as zstandard if its first frame has the descriptor.
            said if self.packing == Packing::Zstandard && said.contains("Unknown frame") => {
                let message = format!(
                    "ends before byte {read} of the file, but what follows is no other frame: cut it \
                     off, or unpack the file first (zstd -d, which writes what is before)"
                );
                (read, message)
            }
            said => match after_last_member(error) {
                Some(unused) => {
                    let end = read - unused;
                    let message =
                        format!("ends at byte {end} of the file, but more follows: cut it off");
                    (end, message)
                }
                None => {
                    let message =
                        format!("is damaged or cut short at about byte {read} of the file: {said}");
                    (read, message)
                }
            },
        };
        UnpackError {
            packing: self.packing,
            packed_offset,
            message,
        }
    }
}

/// The number of bytes read after the last member, if they are the fault.
#[cfg(feature = "deflate")]
fn after_last_member(error: &io::Error) -> Option<u64> {
    let Followed(bytes) = error.get_ref()?.downcast_ref()?;
    Some(*bytes)
}

#[cfg(not(feature = "deflate"))]
fn after_last_member(_: &io::Error) -> Option<u64> {
    None
}

/// Damage of the packing of a file.
#[derive(Clone, Debug)]
pub(crate) struct UnpackError {
    packing: Packing,
    packed_offset: u64,
    message: String,
}

impl UnpackError {
    /// The [`UnpackError`] inside an error of reading.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        ErrorKind::Unpack {
            packing: self.packing,
            packed_offset: self.packed_offset,
            message: self.message.clone(),
        }
    }
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl std::error::Error for UnpackError {}
