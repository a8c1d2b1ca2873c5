//! Files that are packed as a whole, by gzip, zlib or zstandard: unpacked while they are read.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::ErrorKind;

/// The compression around a whole file, including its header. It is independent of the codec of
/// blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Packing {
    /// Gzip, of one member or several.
    Gzip,
    /// zlib, as TensorFlow writes TFRecord files by `compression_type="ZLIB"`.
    Zlib,
    /// Zstandard, of one frame or several.
    Zstandard,
}

impl Packing {
    /// The name: `gzip`, `zlib` or `zstandard`.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zlib => "zlib",
            Packing::Zstandard => "zstandard",
        }
    }

    /// The packing of a file that begins with `head`, if it is compiled in.
    pub(super) fn of_head(head: &[u8]) -> Option<Self> {
        #[cfg(feature = "tfrecord")]
        match atds_tfrecord::Compression::of_head(head) {
            // A record's length may look like the header of gzip.
            _ if atds_tfrecord::begins_record(head) => return None,
            atds_tfrecord::Compression::Zlib if cfg!(feature = "deflate") => {
                return Some(Packing::Zlib);
            }
            _ => {}
        }
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

/// Number of bytes that identify the packing of a file: four, or the head of a record, which may look
/// like a packing.
pub(super) const HEAD: usize = 12;

/// Size of a read from a packed file in bytes.
const BUFFER: usize = 128 << 10;

/// Unpacks the data of `reader`, from its start.
pub(crate) fn unpack(
    packing: Packing,
    reader: impl Read + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    let read = Arc::new(AtomicU64::new(0));
    let counted = Counted(reader, read.clone());
    let packed = BufReader::with_capacity(BUFFER, counted);
    let decoder: Box<dyn Read + Send> = match packing {
        #[cfg(feature = "deflate")]
        Packing::Gzip => Box::new(Members {
            member: Some(flate2::bufread::GzDecoder::new(packed)),
            read: read.clone(),
        }),
        #[cfg(feature = "deflate")]
        Packing::Zlib => Box::new(ZlibStream {
            stream: flate2::bufread::ZlibDecoder::new(packed),
            read: read.clone(),
        }),
        #[cfg(feature = "zstandard")]
        Packing::Zstandard => Box::new(zstd::stream::read::Decoder::with_buffer(packed)?),
        #[cfg(not(all(feature = "deflate", feature = "zstandard")))]
        _ => Box::new(packed),
    };
    Ok(Box::new(Unpacked {
        packing,
        decoder,
        read,
    }))
}

/// Gzip data of one member or several.
#[cfg(feature = "deflate")]
struct Members<R> {
    /// `None` after the last one.
    member: Option<flate2::bufread::GzDecoder<R>>,
    /// Number of packed bytes that were read.
    read: Arc<AtomicU64>,
}

#[cfg(feature = "deflate")]
impl<R: io::BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.member = match member.get_mut().fill_buf()? {
                [] => None,
                [0x1f] | [0x1f, 0x8b, ..] => {
                    let ended = self.member.take().map(|member| member.into_inner());
                    ended.map(flate2::bufread::GzDecoder::new)
                }
                rest => {
                    let end = self.read.load(Relaxed) - rest.len() as u64;
                    let message =
                        format!("ends at byte {end} of the file, but more follows: cut it off");
                    return Err(fault(Packing::Gzip, end, message));
                }
            };
        }
        Ok(0)
    }
}

/// A stream of zlib, which ends with the file.
#[cfg(feature = "deflate")]
struct ZlibStream<R> {
    stream: flate2::bufread::ZlibDecoder<R>,
    /// Number of packed bytes that were read.
    read: Arc<AtomicU64>,
}

#[cfg(feature = "deflate")]
impl<R: io::BufRead> Read for ZlibStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            let rest = self.stream.get_mut().fill_buf()?.len();
            if rest > 0 {
                let end = self.read.load(Relaxed) - rest as u64;
                let message =
                    format!("ends at byte {end} of the file, but more follows: cut it off");
                return Err(fault(Packing::Zlib, end, message));
            }
        }
        Ok(read)
    }
}

/// Counts the bytes that are read.
struct Counted<R>(R, Arc<AtomicU64>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            // So that it is told from an error of unpacking.
            _ => io::Error::other(ErrorKind::of_reading(Arc::new(error))),
        })?;
        self.1.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

/// A reader of unpacked data, whose errors of unpacking are [`ErrorKind::Unpack`].
struct Unpacked {
    packing: Packing,
    decoder: Box<dyn Read + Send>,
    /// Number of packed bytes that were read.
    read: Arc<AtomicU64>,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            let is_known = error.get_ref().is_some_and(|inner| inner.is::<ErrorKind>());
            if is_known || error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let read = self.read.load(Relaxed);
            fault(self.packing, read, advice(&error.to_string(), read))
        })
    }
}

/// What is wrong by the words of the decoder after `read` bytes, and what to do.
#[cold]
fn advice(said: &str, read: u64) -> String {
    // zstandard's words for a window above its limit.
    if said.contains("too much memory") {
        "needs a window of more than 128 MiB to be unpacked: unpack the file first (zstd -d \
         --long=31)"
            .to_owned()
    } else if said.contains("Unknown frame") {
        // A file is unpacked as zstandard if its first frame has the descriptor.
        format!(
            "ends before byte {read} of the file, but what follows is no other frame: cut it off, \
             or unpack the file first (zstd -d, which writes what is before)"
        )
    } else {
        format!("is damaged or cut short at about byte {read} of the file: {said}")
    }
}

#[cold]
fn fault(packing: Packing, packed_offset: u64, message: String) -> io::Error {
    io::Error::other(ErrorKind::Unpack {
        packing,
        packed_offset,
        message,
    })
}
