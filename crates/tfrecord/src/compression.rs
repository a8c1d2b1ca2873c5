//! Compression of a whole file.

use std::fmt;
#[cfg(feature = "compression")]
use std::io::{self, BufRead, Read};

use crate::framer::Checksums;
use crate::head::{HEAD, data_len};
use crate::limits::Limits;

/// The compression around a whole file, as TensorFlow's option `compression_type` names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// None: the file is records.
    #[default]
    None,
    /// Gzip (RFC 1952), of one member or several.
    Gzip,
    /// zlib (RFC 1950).
    Zlib,
}

impl Compression {
    /// Number of first bytes that tell the compression.
    pub const HEAD: usize = HEAD;

    /// The compression of a file that begins with `head`, of at least [`HEAD`](Self::HEAD) bytes if
    /// the file has them.
    ///
    /// The magic bytes alone do not tell it: a file of records begins with a length, and the length
    /// 560,927 is written as a gzip header begins. So a head whose length fits its checksum is that of a
    /// record.
    pub fn of_head(head: &[u8]) -> Self {
        if begins_record(head) {
            return Compression::None;
        }
        match head {
            [0x1f, 0x8b, 8, ..] => Compression::Gzip,
            // A length with a wrong checksum: all of its high bytes are 0.
            [_, _, _, _, _, _, 0, 0, ..] => Compression::None,
            // Deflate with a window of 32 KiB; the header is a multiple of 31.
            [0x78, flags, ..] if (0x7800 + u16::from(*flags)) % 31 == 0 => Compression::Zlib,
            _ => Compression::None,
        }
    }

    /// The name in TensorFlow: `""`, `GZIP` or `ZLIB`.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "",
            Compression::Gzip => "GZIP",
            Compression::Zlib => "ZLIB",
        }
    }

    /// The bytes of `reader`, decompressed while they are read.
    #[cfg(feature = "compression")]
    pub(crate) fn decompress<R: BufRead>(self, reader: R) -> Decompress<R> {
        match self {
            Compression::None => Decompress::None(reader),
            Compression::Gzip => Decompress::Gzip(flate2::bufread::MultiGzDecoder::new(reader)),
            Compression::Zlib => Decompress::Zlib(flate2::bufread::ZlibDecoder::new(reader)),
        }
    }
}

/// Whether `head` begins with a length that fits its checksum. Of bytes that are no record, one in
/// 2^32 does by chance.
pub fn begins_record(head: &[u8]) -> bool {
    let max_record_bytes = u64::MAX;
    let limits = Limits { max_record_bytes };
    let head = head.first_chunk();
    head.is_some_and(|head| data_len(head, Checksums::Verify, &limits).is_ok())
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zlib => "zlib",
        })
    }
}

/// A reader of decompressed bytes.
#[cfg(feature = "compression")]
#[derive(Debug)]
pub(crate) enum Decompress<R: BufRead> {
    None(R),
    Gzip(flate2::bufread::MultiGzDecoder<R>),
    Zlib(flate2::bufread::ZlibDecoder<R>),
}

#[cfg(feature = "compression")]
impl<R: BufRead> Read for Decompress<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Decompress::None(reader) => reader.read(buffer),
            Decompress::Gzip(reader) => reader.read(buffer),
            Decompress::Zlib(reader) => {
                let read = reader.read(buffer)?;
                if read == 0 && !buffer.is_empty() && !reader.get_mut().fill_buf()?.is_empty() {
                    let said = "bytes follow the end of the zlib stream";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, said));
                }
                Ok(read)
            }
        }
    }
}
