//! Files that are packed as a whole, by gzip or zstandard: unpacked while they are read.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::ErrorKind;

/// What a whole file is packed by, around its Avro header. The codec inside is another matter.
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

    /// What a file that begins with `head` is packed by, of what is compiled in.
    pub(crate) fn of_head(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] if cfg!(feature = "deflate") => Some(Packing::Gzip),
            // A frame, or one to be skipped (RFC 8878, 3.1).
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

/// Bytes that tell what a file is packed by.
pub(crate) const HEAD: usize = 4;

/// The first bytes of a file, fewer only if it ends.
pub(crate) fn read_head(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Bytes of a packed file that are read at a time.
const BUFFER: usize = 128 << 10;

/// Unpacks what `reader` gives from its start.
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

/// Bytes after the last member, of which so many are read, that begin no other.
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

/// How far a packed file is read.
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

/// Gives errors of unpacking as [`UnpackError`].
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
    /// What is wrong, and what to do about it.
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

/// Bytes read of what follows the last member, if that is what is wrong.
#[cfg(feature = "deflate")]
fn after_last_member(error: &io::Error) -> Option<u64> {
    let Followed(bytes) = error.get_ref()?.downcast_ref()?;
    Some(*bytes)
}

#[cfg(not(feature = "deflate"))]
fn after_last_member(_: &io::Error) -> Option<u64> {
    None
}

/// Damage of what is around a file.
#[derive(Clone, Debug)]
pub(crate) struct UnpackError {
    packing: Packing,
    packed_offset: u64,
    message: String,
}

impl UnpackError {
    /// The one inside of an error of reading.
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
