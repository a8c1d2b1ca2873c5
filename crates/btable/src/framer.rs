//! The push framer: it takes bytes and returns the header, a block of rows, or "need more". No I/O.

use bytes::{Buf, Bytes, BytesMut};

use crate::error::{Error, ErrorKind};
use crate::header::{Header, START};
use crate::limits::{BLOCK_BYTES, CACHE_LINE, LAST_ROW_BYTES, Limits};
use crate::row::{CELL, COUNT, Rows, count_of};

/// Splits the bytes of a table into its header and blocks of rows. The bytes are pushed in pieces of any
/// size.
///
/// A table has no blocks of its own. The framer ends a block after the row with which it has
/// [`block_bytes`](Self::with_block_bytes) or more, before a row whose length is wrong, and at the end of the
/// file. So the blocks and the errors do not depend on how the file is cut into pieces.
///
/// The columns of cells are not looked at: [`Block::rows`] checks them.
///
/// ```
/// use atds_btable::{Frame, Framer, Writer};
///
/// let mut writer = Writer::new(Vec::new(), &["a", "b"])?;
/// writer.write_dense_row(&[0.0, 2.5])?;
/// let file = writer.finish()?;
///
/// let mut framer = Framer::new();
/// let mut rows = 0;
/// for piece in file.chunks(7) {
///     framer.push(bytes::Bytes::copy_from_slice(piece));
///     while let Frame::Block(block) = framer.next()? {
///         rows += block.rows;
///     }
/// }
/// framer.end();
/// while let Frame::Block(block) = framer.next()? {
///     rows += block.rows;
/// }
/// assert_eq!(rows, 1);
/// # Ok::<(), atds_btable::Error>(())
/// ```
#[derive(Debug)]
pub struct Framer {
    limits: Limits,
    block_bytes: usize,
    /// Bytes of earlier pieces that were not taken.
    held: BytesMut,
    /// The last piece, whose bytes follow.
    piece: Bytes,
    is_ended: bool,
    /// The error that was returned.
    failed: Option<Error>,
    /// Number of columns; `None` before the header.
    columns: Option<u32>,
    /// Offset in the file of the first byte that is held.
    offset: u64,
    /// Index of the block that begins there.
    index: u64,
    /// The number of the block's first row.
    first_row: u64,
    /// Number of rows that are known to be in the block, and of their bytes.
    rows: u64,
    scanned: usize,
}

/// One step of a [`Framer`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame {
    /// The header; always the first frame.
    Header(Header),
    /// A block of rows.
    Block(Block),
    /// At least this many further bytes must be pushed before the next frame.
    NeedMore(u64),
    /// The file ends here.
    End,
}

/// Some consecutive rows of a table; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// The number of the block, counted from 0.
    pub index: u64,
    /// Offset in the file of the first row.
    pub offset: u64,
    /// The number of the first row, counted from 0 in the file.
    pub first_row: u64,
    /// Number of rows.
    pub rows: u64,
    /// The rows as they are in the file.
    pub payload: Bytes,
}

impl Block {
    /// The rows, of a table with `columns` columns.
    pub fn rows(&self, columns: u32) -> Rows<'_> {
        Rows::new(&self.payload, columns, self.offset, self.first_row)
    }
}

impl Default for Framer {
    fn default() -> Self {
        Framer::new()
    }
}

impl Framer {
    /// A framer at the beginning of a file, with default [`Limits`].
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// A framer at the beginning of a file.
    pub fn with_limits(limits: Limits) -> Self {
        Framer {
            limits,
            block_bytes: BLOCK_BYTES,
            held: BytesMut::new(),
            piece: Bytes::new(),
            is_ended: false,
            failed: None,
            columns: None,
            offset: 0,
            index: 0,
            first_row: 0,
            rows: 0,
            scanned: 0,
        }
    }

    /// A framer in the middle of a file with `columns` columns. The first byte pushed is the one at
    /// `offset`, where block `index` begins, with row `first_row`.
    pub fn at_block(columns: u32, index: u64, offset: u64, first_row: u64) -> Self {
        Framer {
            columns: Some(columns),
            index,
            offset,
            first_row,
            ..Framer::new()
        }
    }

    /// Sets the size in bytes at which a block ends; 64 KiB by default. A block has at least one row,
    /// however long.
    #[must_use]
    pub fn with_block_bytes(mut self, bytes: usize) -> Self {
        self.block_bytes = bytes;
        self
    }

    /// Takes the next bytes of the file. They are copied only where a block spans pieces; an empty piece
    /// changes nothing.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            if !self.piece.is_empty() {
                // What is held becomes a block, whose memory is taken at once: growing copies it again.
                let block = self.block_bytes.saturating_add(LAST_ROW_BYTES);
                let block = block.saturating_sub(self.held.len());
                self.held.reserve(
                    block
                        .min(self.piece.len() + piece.len())
                        .max(self.piece.len()),
                );
                self.held.extend_from_slice(&self.piece);
            }
            self.piece = piece;
        }
    }

    /// Says that the file ends after the bytes that were pushed.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// The index of the next block.
    pub fn block_index(&self) -> u64 {
        self.index
    }

    /// The offset in the file at which the next piece begins.
    pub fn end_offset(&self) -> u64 {
        self.offset + self.len() as u64
    }

    /// The next frame of the bytes pushed.
    ///
    /// # Errors
    ///
    /// The header is wrong, a row's number of cells is negative or above the number of columns, or the
    /// file ends inside the header or a row. All rows before it were returned. The same error is returned
    /// again.
    #[allow(clippy::should_implement_trait)] // "Need more" is no end, so this is no iterator.
    pub fn next(&mut self) -> Result<Frame, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let frame = match self.columns {
            Some(columns) => self.next_block(columns),
            None => self.header(),
        };
        frame.inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// The next block, where it is known that it has `rows` rows in `bytes` bytes: [`Block::rows`] finds whether it
    /// has. `None` if further bytes must be pushed before.
    pub fn next_known(&mut self, rows: u64, bytes: usize) -> Option<Block> {
        let is_here = self.failed.is_none() && self.columns.is_some() && bytes <= self.len();
        is_here.then(|| {
            (self.rows, self.scanned) = (rows, bytes);
            self.block()
        })
    }

    fn header(&mut self) -> Result<Frame, Error> {
        let here = self.len();
        let (start, n) = self.start();
        let len = Header::len_of(&start[..n], &self.limits)?;
        let missing = match len {
            Some(len) if len <= here => {
                let header = Header::parse(&self.take(len))?;
                self.columns = Some(header.columns());
                return Ok(Frame::Header(header));
            }
            Some(len) => len - here,
            None => START - here,
        } as u64;
        if !self.is_ended {
            return Ok(Frame::NeedMore(missing));
        }
        let kind = match here {
            0 => ErrorKind::Empty,
            _ => ErrorKind::EndsInHeader { missing },
        };
        Err(Error::new(kind, here as u64, None))
    }

    fn next_block(&mut self, columns: u32) -> Result<Frame, Error> {
        if self.scanned == 0 {
            self.load();
        }
        let missing = loop {
            if self.scanned >= self.block_bytes && self.rows > 0 {
                return Ok(Frame::Block(self.block()));
            }
            let here = self.len() - self.scanned;
            let Some(count) = self.bytes_at(self.scanned) else {
                break COUNT - here;
            };
            let cells = match count_of(count, columns) {
                Ok(cells) => cells,
                Err(_) if self.rows > 0 => return Ok(Frame::Block(self.block())),
                Err(kind) => return Err(Error::new(kind, self.offset, Some(self.first_row))),
            };
            let len = COUNT + CELL * cells;
            if len > here {
                break len - here;
            }
            self.scanned += len;
            self.rows += 1;
        };
        if !self.is_ended {
            Ok(Frame::NeedMore(missing as u64))
        } else if self.rows > 0 {
            Ok(Frame::Block(self.block()))
        } else if self.len() == 0 {
            Ok(Frame::End)
        } else {
            let kind = ErrorKind::EndsInRow {
                missing: missing as u64,
            };
            Err(Error::new(kind, self.end_offset(), Some(self.first_row)))
        }
    }

    /// The block of the rows that were scanned.
    fn block(&mut self) -> Block {
        let (index, offset, first_row) = (self.index, self.offset, self.first_row);
        let rows = std::mem::take(&mut self.rows);
        let len = std::mem::take(&mut self.scanned);
        self.index += 1;
        // Of blocks that are said to be known, the numbers may be false.
        self.first_row = self.first_row.saturating_add(rows);
        Block {
            index,
            offset,
            first_row,
            rows,
            payload: self.take(len),
        }
    }

    /// Has the processor load the next block into its caches, as far as it is here, many bytes at a time. Who goes
    /// from row to row waits for the memory of each count.
    fn load(&self) {
        let block = &self.piece[..self.piece.len().min(self.block_bytes)];
        let lines = block.iter().step_by(CACHE_LINE);
        std::hint::black_box(lines.fold(0, |all, byte| all ^ byte));
    }

    /// Number of bytes that are here.
    fn len(&self) -> usize {
        self.held.len() + self.piece.len()
    }

    /// The first eight bytes, and how many of them are here.
    fn start(&self) -> ([u8; START], usize) {
        let mut start = [0; START];
        let bytes = self.held.iter().chain(&self.piece);
        let n = start
            .iter_mut()
            .zip(bytes)
            .map(|(to, from)| *to = *from)
            .count();
        (start, n)
    }

    /// Four bytes from `at` on, if they are here.
    #[inline]
    fn bytes_at(&self, at: usize) -> Option<[u8; COUNT]> {
        let part = match at.checked_sub(self.held.len()) {
            Some(at) => self.piece.get(at..)?,
            None => &self.held[at..],
        };
        if let Some(bytes) = part.first_chunk() {
            return Some(*bytes);
        }
        let mut bytes = [0; COUNT];
        for (i, to) in bytes.iter_mut().enumerate() {
            let at = at + i;
            *to = match at.checked_sub(self.held.len()) {
                Some(at) => *self.piece.get(at)?,
                None => self.held[at],
            };
        }
        Some(bytes)
    }

    /// Removes the first `len` bytes and returns them. They must be here.
    fn take(&mut self, len: usize) -> Bytes {
        self.offset += len as u64;
        if self.held.is_empty() {
            return self.piece.split_to(len);
        }
        let of_piece = len.saturating_sub(self.held.len());
        self.held.extend_from_slice(&self.piece[..of_piece]);
        self.piece.advance(of_piece);
        self.held.split_to(len).freeze()
    }
}
