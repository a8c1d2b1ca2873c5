//! Writes TFRecord files.

use std::fmt;
use std::io::{self, Write};

use crate::compression::Compression;
use crate::crc::masked_crc;

/// Writes a TFRecord file, one record after another.
///
/// Many small records are written by many small writes: give it a [`BufWriter`](io::BufWriter).
pub struct Writer<W: Write> {
    output: Output<W>,
    records: u64,
}

enum Output<W: Write> {
    Plain(W),
    #[cfg(feature = "compression")]
    Gzip(flate2::write::GzEncoder<W>),
    #[cfg(feature = "compression")]
    Zlib(flate2::write::ZlibEncoder<W>),
}

#[cfg_attr(
    not(feature = "compression"),
    expect(
        clippy::infallible_destructuring_match,
        reason = "without compression there is one output"
    )
)]
impl<W: Write> Writer<W> {
    /// Writes records to `output`, without compression.
    pub fn new(output: W) -> Self {
        Writer {
            output: Output::Plain(output),
            records: 0,
        }
    }

    /// Writes records to `output`, compressed as a whole. `level` is deflate's, from 0 (none) to 9;
    /// TensorFlow's is 6.
    #[cfg(feature = "compression")]
    pub fn compressed(output: W, compression: Compression, level: u32) -> Self {
        let level = flate2::Compression::new(level.min(9));
        let output = match compression {
            Compression::None => Output::Plain(output),
            Compression::Gzip => Output::Gzip(flate2::write::GzEncoder::new(output, level)),
            Compression::Zlib => Output::Zlib(flate2::write::ZlibEncoder::new(output, level)),
        };
        Writer { output, records: 0 }
    }

    /// Writes a record with these data.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&mut self, data: &[u8]) -> io::Result<()> {
        let len = (data.len() as u64).to_le_bytes();
        let mut head = [0; 12];
        head[..8].copy_from_slice(&len);
        head[8..].copy_from_slice(&masked_crc(&len).to_le_bytes());
        let crc = masked_crc(data).to_le_bytes();
        let output: &mut dyn Write = match &mut self.output {
            Output::Plain(output) => output,
            #[cfg(feature = "compression")]
            Output::Gzip(output) => output,
            #[cfg(feature = "compression")]
            Output::Zlib(output) => output,
        };
        output.write_all(&head)?;
        output.write_all(data)?;
        output.write_all(&crc)?;
        self.records += 1;
        Ok(())
    }

    /// Number of records written.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The compression of the file.
    pub fn compression(&self) -> Compression {
        match self.output {
            Output::Plain(_) => Compression::None,
            #[cfg(feature = "compression")]
            Output::Gzip(_) => Compression::Gzip,
            #[cfg(feature = "compression")]
            Output::Zlib(_) => Compression::Zlib,
        }
    }

    /// Ends the file and returns the output, flushed. Without this call a compressed file may lack its
    /// end.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(self) -> io::Result<W> {
        let mut output = match self.output {
            Output::Plain(output) => output,
            #[cfg(feature = "compression")]
            Output::Gzip(output) => output.finish()?,
            #[cfg(feature = "compression")]
            Output::Zlib(output) => output.finish()?,
        };
        output.flush()?;
        Ok(output)
    }
}

impl<W: Write> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("compression", &self.compression())
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}
