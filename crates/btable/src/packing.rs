//! Tables that are compressed as a whole, by gzip or zstandard.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::error::ErrorKind;

/// The compression of a whole file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// Gzip (RFC 1952): names end in `.gz`.
    Gzip,
    /// Zstandard (RFC 8878): names end in `.zst`.
    Zstandard,
}

impl Compression {
    /// The compression that the name of a file says by its end, before the number of a shard as in
    /// `a.btable.gz-00000-of-00128`.
    pub fn of_path(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = Path::new(without_shard(&name));
        match name.extension().and_then(|end| end.to_str()) {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstandard,
            _ => Compression::None,
        }
    }

    /// The compression of a file that begins with `head`, if it is compiled in.
    fn of_head(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, 8, ..] if cfg!(feature = "gzip") => Compression::Gzip,
            // A frame, or a skippable frame (RFC 8878, 3.1).
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18]
                if cfg!(feature = "zstandard") =>
            {
                Compression::Zstandard
            }
            _ => Compression::None,
        }
    }

    /// The name: `none`, `gzip` or `zstandard`.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstandard => "zstandard",
        }
    }
}

/// A name without the number of a shard at its end, by the rule of `atds::FileFormat::of_name`.
fn without_shard(name: &str) -> &str {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let shard = name.rsplit_once("-of-").and_then(|(before, shards)| {
        let (whole, shard) = before.rsplit_once('-')?;
        (is_number(shard) && is_number(shards)).then_some(whole)
    });
    shard.unwrap_or(name)
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The data of a file, decompressed if its first bytes are those of gzip or zstandard. A table begins with
/// four zeros, so it is never taken for one of them. Also returns which compression it is.
///
/// # Errors
/// Reading the first bytes fails.
pub fn unpack<R: Read + Send + 'static>(
    mut reader: R,
) -> io::Result<(Box<dyn Read + Send>, Compression)> {
    let mut head = [0; 4];
    let mut here = 0;
    while here < head.len() {
        match reader.read(&mut head[here..]) {
            Ok(0) => break,
            Ok(read) => here += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let compression = Compression::of_head(&head[..here]);
    let whole = io::Cursor::new(head).take(here as u64).chain(reader);
    let data: Box<dyn Read + Send> = match compression {
        #[cfg(feature = "gzip")]
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(whole))),
        #[cfg(feature = "zstandard")]
        Compression::Zstandard => {
            Box::new(zstd::stream::read::Decoder::with_buffer(buffered(whole))?)
        }
        _ => Box::new(whole),
    };
    Ok((data, compression))
}

#[cfg(any(feature = "gzip", feature = "zstandard"))]
fn buffered<R: Read>(reader: R) -> io::BufReader<R> {
    io::BufReader::with_capacity(crate::limits::BUFFER_BYTES, reader)
}

/// Compresses what is written to it. [`finish`](Self::finish) ends the data.
pub struct Packer<W: Write>(Inner<W>);

enum Inner<W: Write> {
    Plain(W),
    #[cfg(feature = "gzip")]
    Gzip(Box<flate2::write::GzEncoder<W>>),
    #[cfg(feature = "zstandard")]
    Zstandard(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Packer<W> {
    /// Compresses with the level that each compression has by default.
    ///
    /// # Errors
    /// The compression is not compiled in.
    pub fn new(writer: W, compression: Compression) -> Result<Self, ErrorKind> {
        Ok(Packer(match compression {
            Compression::None => Inner::Plain(writer),
            #[cfg(feature = "gzip")]
            Compression::Gzip => {
                let level = flate2::Compression::default();
                Inner::Gzip(Box::new(flate2::write::GzEncoder::new(writer, level)))
            }
            #[cfg(feature = "zstandard")]
            Compression::Zstandard => {
                let mut encoder = zstd::stream::write::Encoder::new(writer, 0)?;
                encoder.include_checksum(true)?;
                Inner::Zstandard(encoder)
            }
            #[cfg(not(all(feature = "gzip", feature = "zstandard")))]
            missing => return Err(ErrorKind::NotCompiledIn(missing.name())),
        }))
    }

    /// Ends the data and returns the underlying writer.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Inner::Plain(writer) => Ok(writer),
            #[cfg(feature = "gzip")]
            Inner::Gzip(encoder) => encoder.finish(),
            #[cfg(feature = "zstandard")]
            Inner::Zstandard(encoder) => encoder.finish(),
        }
    }

    fn inner(&mut self) -> &mut dyn Write {
        match &mut self.0 {
            Inner::Plain(writer) => writer,
            #[cfg(feature = "gzip")]
            Inner::Gzip(encoder) => encoder,
            #[cfg(feature = "zstandard")]
            Inner::Zstandard(encoder) => encoder,
        }
    }
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner().flush()
    }
}

impl<W: Write> fmt::Debug for Packer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compression = match &self.0 {
            Inner::Plain(_) => Compression::None,
            #[cfg(feature = "gzip")]
            Inner::Gzip(_) => Compression::Gzip,
            #[cfg(feature = "zstandard")]
            Inner::Zstandard(_) => Compression::Zstandard,
        };
        write!(f, "Packer({compression})")
    }
}
