//! Reads the records of a file, one after another.

use std::io::{BufReader, Read};

use bytes::Bytes;

use crate::compression::{Compression, Decompress};
use crate::error::{Error, ErrorKind};
use crate::framer::{Checksums, Frame, Framer, FramerOptions};
use crate::limits::READ_BYTES;
use crate::records::Records;

/// Reads the records of a file, in order, and decompresses the file if it is compressed.
///
/// ```
/// use atds_tfrecord::{Compression, RecordReader, Writer};
///
/// let mut writer = Writer::compressed(Vec::new(), Compression::Gzip, 6);
/// for text in ["one", "two"] {
///     writer.write(text.as_bytes())?;
/// }
/// let file = writer.finish()?;
///
/// let mut reader = RecordReader::new(&file[..], Default::default())?;
/// let mut lens = Vec::new();
/// while let Some(record) = reader.next()? {
///     lens.push(record.len());
/// }
/// assert_eq!(lens, [3, 3]);
/// assert_eq!(reader.compression(), Compression::Gzip);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordReader<R: Read> {
    input: Decompress<BufReader<std::io::Chain<std::io::Cursor<Vec<u8>>, R>>>,
    compression: Compression,
    checksums: Checksums,
    framer: Framer,
    /// The block of the next record, its offset in the file, and the record's offset in it.
    block: Bytes,
    offset: u64,
    at: usize,
    /// Number of records returned, and of those whose checksums were not verified.
    records: u64,
    unverified: u64,
}

impl<R: Read> RecordReader<R> {
    /// Reads the records of `input`, whose first bytes tell its compression.
    ///
    /// # Errors
    /// `input` cannot be read.
    pub fn new(mut input: R, options: FramerOptions) -> Result<Self, Error> {
        let mut head = Vec::with_capacity(Compression::HEAD);
        let read = input.by_ref().take(Compression::HEAD as u64);
        let read = { read }.read_to_end(&mut head);
        read.map_err(|error| Error::new(error.into(), 0, 0))?;
        let compression = Compression::of_head(&head);
        let input = std::io::Cursor::new(head).chain(input);
        Ok(RecordReader {
            input: compression.decompress(BufReader::with_capacity(READ_BYTES, input)),
            compression,
            checksums: options.checksums,
            framer: Framer::new(options),
            block: Bytes::new(),
            offset: 0,
            at: 0,
            records: 0,
            unverified: 0,
        })
    }

    /// The compression of the file.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Number of records returned so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Number of records returned so far whose checksums were not verified, by [`Checksums::Ignore`], or
    /// whose data's checksum did not fit, by [`Checksums::Count`].
    pub fn unverified(&self) -> u64 {
        self.unverified
    }

    /// The data of the next record; `None` at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read or decompressed, or a record is damaged. After a wrong checksum of the
    /// data, the next call continues with the record after it; after another error, it returns the
    /// error again. Offsets are those of the decompressed file.
    #[allow(clippy::should_implement_trait)] // The data are borrowed from the reader.
    pub fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        while self.at == self.block.len() {
            match self.framer.next()? {
                Frame::Block(block) => {
                    (self.block, self.offset, self.at) = (block.payload, block.offset, 0);
                }
                Frame::NeedMore(_) => self.read()?,
                Frame::End => return Ok(None),
                // Only after `resync`.
                Frame::Skipped { .. } => {}
            }
        }
        let mut records = Records::starting_at(&self.block, self.at, self.records);
        let record = records.next_record()?;
        self.at = record.end();
        let number = self.records;
        self.records += 1;
        match self.checksums {
            Checksums::Verify => record.verify().map_err(|kind| {
                let offset = self.offset + record.offset as u64;
                Error::new(kind, offset, number)
            })?,
            Checksums::Count => self.unverified += u64::from(record.verify().is_err()),
            Checksums::Ignore => self.unverified += 1,
        }
        Ok(Some(record.data))
    }

    fn read(&mut self) -> Result<(), Error> {
        let place = |kind: ErrorKind| Error::new(kind, self.framer.end_offset(), self.records);
        let mut buffer = vec![0; READ_BYTES];
        let read = loop {
            match self.input.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read.map_err(|error| place(error.into()))?,
            }
        };
        if read == 0 {
            self.framer.end();
        }
        buffer.truncate(read);
        self.framer.push(buffer.into());
        Ok(())
    }
}
