//! The push framer: it takes bytes and returns blocks of records, or "need more". No I/O.

use bytes::Bytes;

use crate::error::{Error, ErrorKind};
use crate::head::{AROUND, HEAD, data_len, truncated};
use crate::input::Input;
use crate::limits::{DEFAULT_BLOCK_BYTES, Limits};

/// Whether checksums are verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksums {
    /// A checksum that does not fit is an error.
    #[default]
    Verify,
    /// A checksum of data that does not fit is counted. One of a length is an error: nothing can be
    /// found after it.
    Count,
    /// Checksums are not looked at. Damage may then go unnoticed, or give any error.
    Ignore,
}

/// Splits the bytes of a TFRecord file into blocks: runs of whole records. The bytes are pushed in
/// pieces of any size.
///
/// Push bytes and call [`next`](Self::next) until it returns [`Frame::NeedMore`]; then push again. At
/// the end of the file call [`end`](Self::end), and `next` until it returns [`Frame::End`]. The frames
/// and errors do not depend on how the file is cut into pieces.
///
/// A record closes a block if the block then has [`FramerOptions::block_bytes`] or more. So a block
/// depends on its first byte alone, and framing can begin at any block.
///
/// The framer verifies the checksums of lengths, on which the framing depends. The checksums of the
/// data are left to the reader of the records, on any thread: see [`Record::verify`](crate::Record::verify).
///
/// ```
/// use atds_tfrecord::{Frame, Framer, Records, Writer};
///
/// let mut writer = Writer::new(Vec::new());
/// writer.write(b"one")?;
/// writer.write(b"two")?;
/// let file = writer.finish()?;
///
/// let mut framer = Framer::default();
/// let mut found = Vec::new();
/// for piece in file.chunks(7) {
///     framer.push(bytes::Bytes::copy_from_slice(piece));
/// }
/// framer.end();
/// while let Frame::Block(block) = framer.next()? {
///     assert_eq!(block.records, 2);
///     for record in Records::new(&block.payload) {
///         let record = record?;
///         record.verify()?;
///         found.push(record.data.to_vec());
///     }
/// }
/// assert_eq!(found, [b"one", b"two"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Framer {
    options: FramerOptions,
    /// All bytes from the first byte of the block being framed on.
    input: Input,
    is_ended: bool,
    state: State,
    /// Index of the next block, and number of its first record.
    index: u64,
    first_record: u64,
    /// Bytes and records of the block being framed.
    bytes: u64,
    records: u64,
    skipped: u64,
}

/// Options of a [`Framer`] and a [`Scan`](crate::Scan).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FramerOptions {
    /// What a file may declare.
    pub limits: Limits,
    /// Whether the checksums of lengths are verified.
    pub checksums: Checksums,
    /// Size in bytes at which a block is closed. Default [`DEFAULT_BLOCK_BYTES`]; with 0, each record
    /// is a block.
    pub block_bytes: u64,
}

impl Default for FramerOptions {
    fn default() -> Self {
        FramerOptions {
            limits: Limits::default(),
            checksums: Checksums::default(),
            block_bytes: DEFAULT_BLOCK_BYTES,
        }
    }
}

/// State of a framer.
#[derive(Debug)]
enum State {
    Framing,
    /// Searching for a record, after damage from this file offset on.
    Searching(u64),
    /// Stopped at an error.
    Failed(Error),
}

/// One step of a [`Framer`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame {
    /// A block.
    Block(Block),
    /// Bytes were skipped after [`Framer::resync`], up to the next record or the end of the file.
    Skipped {
        /// Offset in the file of the first byte skipped.
        offset: u64,
        /// Number of bytes skipped.
        len: u64,
    },
    /// At least this many further bytes must be pushed before the next frame, or the file ends.
    NeedMore(u64),
    /// The file has no more frames.
    End,
}

/// A run of whole records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// Number of the block in its file, from 0. A run of damaged bytes counts as a block.
    pub index: u64,
    /// Offset in the file of the first record's first byte.
    pub offset: u64,
    /// Number in the file of the first record, from 0.
    pub first_record: u64,
    /// Number of records, at least 1.
    pub records: u64,
    /// The records, with the lengths and checksums around their data: see
    /// [`Records`](crate::Records).
    pub payload: Bytes,
}

impl Default for Framer {
    fn default() -> Self {
        Framer::new(FramerOptions::default())
    }
}

impl Framer {
    /// A framer at the beginning of a file.
    pub fn new(options: FramerOptions) -> Self {
        Framer::at_block(0, 0, 0, options)
    }

    /// A framer in the middle of a file: the first byte pushed is the byte at `offset`, where block
    /// `index` begins with record `first_record`.
    pub fn at_block(offset: u64, index: u64, first_record: u64, options: FramerOptions) -> Self {
        Framer {
            options,
            input: Input::starting_at(offset),
            is_ended: false,
            state: State::Framing,
            index,
            first_record,
            bytes: 0,
            records: 0,
            skipped: 0,
        }
    }

    /// Takes the next bytes of the file. A piece is copied only where a block crosses its border; an
    /// empty piece changes nothing.
    pub fn push(&mut self, piece: Bytes) {
        self.input.push(piece);
    }

    /// Says that the file ends after the bytes pushed.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// Offset in the file just past the last byte pushed.
    pub fn end_offset(&self) -> u64 {
        self.input.end()
    }

    /// Number of the next block.
    pub fn next_index(&self) -> u64 {
        self.index
    }

    /// Number of bytes skipped so far by all calls of [`resync`](Self::resync).
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped
    }

    /// The next frame of the bytes pushed.
    ///
    /// # Errors
    /// The length of a record is damaged or above its limit, or the file ends inside a record. The
    /// records before it are a block of their own, which comes first. The same error is returned
    /// again until [`resync`](Self::resync).
    #[allow(clippy::should_implement_trait)] // "Need more" is no end, so this is no iterator.
    pub fn next(&mut self) -> Result<Frame, Error> {
        match &self.state {
            State::Framing => self.block(),
            State::Searching(from) => {
                let from = *from;
                Ok(self.search(from))
            }
            State::Failed(error) => Err(error.clone()),
        }
    }

    fn block(&mut self) -> Result<Frame, Error> {
        let FramerOptions {
            limits,
            checksums,
            block_bytes,
        } = &self.options;
        if self.records == 0 {
            self.input.load(*block_bytes);
        }
        let failed = loop {
            if self.records > 0 && self.bytes >= *block_bytes {
                return Ok(self.close());
            }
            let held = self.input.len() - self.bytes;
            let Some(head) = self.input.peek::<HEAD>(self.bytes) else {
                if !self.is_ended {
                    return Ok(Frame::NeedMore(HEAD as u64 - held));
                }
                if held == 0 && self.records == 0 {
                    return Ok(Frame::End);
                }
                break None;
            };
            let len = match data_len(&head, *checksums, limits) {
                // It is below its limit, unless that is off: then it is a file's size at most.
                Ok(len) => len.saturating_add(AROUND),
                Err(kind) => break Some(kind),
            };
            if held < len {
                if !self.is_ended {
                    return Ok(Frame::NeedMore(len - held));
                }
                break None;
            }
            self.bytes += len;
            self.records += 1;
        };
        if self.records > 0 {
            return Ok(self.close());
        }
        let error = match failed {
            Some(kind) => Error::new(kind, self.input.at(), self.first_record),
            None => {
                let mut head = [0; HEAD];
                let n = self.input.peek_some(0, &mut head);
                let place = (self.input.at(), self.first_record);
                truncated(&head[..n], self.input.len(), place, *checksums, limits)
            }
        };
        self.state = State::Failed(error.clone());
        Err(error)
    }

    /// The block of the records that were framed.
    fn close(&mut self) -> Frame {
        let block = Block {
            index: self.index,
            offset: self.input.at(),
            first_record: self.first_record,
            records: self.records,
            payload: self.input.take(self.bytes),
        };
        self.index += 1;
        self.first_record += self.records;
        (self.bytes, self.records) = (0, 0);
        Frame::Block(block)
    }

    /// Gives up the record that is damaged, or the next one, and continues with the next place where a
    /// record begins. Once it is found, or the file ends, [`next`](Self::next) returns
    /// [`Frame::Skipped`].
    ///
    /// TFRecord has no marker. The framer tries offset after offset until a length fits its checksum,
    /// and is below its limit. Of bytes that are no length, one place in 2^32 fits by chance. A file
    /// of records that contain TFRecord files may be continued inside a record.
    pub fn resync(&mut self) {
        if !matches!(self.state, State::Searching(_)) {
            let from = self.input.at();
            (self.bytes, self.records) = (0, 0);
            self.input.skip_to(from + 1);
            self.state = State::Searching(from);
        }
    }

    fn search(&mut self, from: u64) -> Frame {
        let is_found = find_record(&mut self.input, &self.options.limits);
        if !is_found && !self.is_ended {
            return Frame::NeedMore(HEAD as u64 - self.input.len());
        }
        if !is_found {
            self.input.skip_to(self.input.end());
        }
        let (offset, len) = (from, self.input.at() - from);
        self.skipped += len;
        self.index += 1;
        self.state = State::Framing;
        Frame::Skipped { offset, len }
    }
}

/// Skips bytes up to the next length that fits its checksum. Whether there is one; if not, the bytes
/// that may begin one are left.
pub(crate) fn find_record(input: &mut Input, limits: &Limits) -> bool {
    let all = input.all();
    let fits = |head: &[u8]| {
        let head = head.first_chunk();
        head.is_some_and(|head| data_len(head, Checksums::Verify, limits).is_ok())
    };
    let found = all.windows(HEAD).position(fits);
    let skipped = found.unwrap_or(all.len().saturating_sub(HEAD - 1));
    input.skip_to(input.at() + skipped as u64);
    found.is_some()
}

/// The payload of a block whose bytes were read again, if its records are `records` and fill it.
///
/// # Errors
/// [`ErrorKind::BlockChanged`], at `offset` of the file and in record `first_record`.
pub fn check_block(
    payload: &[u8],
    (offset, first_record, records): (u64, u64, u64),
    options: &FramerOptions,
) -> Result<(), Error> {
    let mut rest = payload;
    for _ in 0..records {
        let len = rest
            .first_chunk()
            .and_then(|head| data_len(head, options.checksums, &options.limits).ok());
        let after = len
            .and_then(|len| usize::try_from(len.checked_add(AROUND)?).ok())
            .and_then(|len| rest.get(len..));
        match after {
            Some(after) => rest = after,
            None => return Err(changed(offset, first_record)),
        }
    }
    match rest.is_empty() {
        true => Ok(()),
        false => Err(changed(offset, first_record)),
    }
}

#[cold]
fn changed(offset: u64, record: u64) -> Error {
    Error::new(ErrorKind::BlockChanged, offset, record)
}
