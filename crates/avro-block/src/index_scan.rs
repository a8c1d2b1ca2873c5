//! The push scan behind a block index: it takes bytes and returns the blocks' positions, or the range
//! of the file that it needs next. No I/O.

use std::ops::Range;

use bytes::{Buf, Bytes};

use crate::after_block::{Judge, TrailingBytes};
use crate::block::{BlockHead, BlockPosition};
use crate::error::{Error, ErrorKind};
use crate::framer::{Frame, Framer};
use crate::header::{Header, HeaderParser, Progress};
use crate::index::IndexEntry;
use crate::limits::{Limits, MAX_READ, REST_LOOKED_AT};
use crate::pieces::Pieces;
use crate::sync::SyncMarker;

/// Lists the blocks of a file whose length is known, without reading their payloads.
///
/// Call [`next`](Self::next) until it returns [`Scan::End`] or an error. After [`Scan::Need`], call
/// [`push`](Self::push) with bytes from the start of that range, and call `next` again. The results
/// and the errors do not depend on how many bytes each answer has. If one answer has the whole file,
/// the scan asks for nothing more.
///
/// The scan needs the header, then 36 bytes a block: the block's sync marker and the head of the next
/// block. At damage it needs the rest of the file, or the first 64 KiB of it, to name the format of
/// these bytes.
///
/// ```
/// use avro_block::{IndexScan, Limits, Scan, TrailingBytes, Writer, WriterOptions};
///
/// let mut writer = Writer::new(Vec::new(), "\"long\"", WriterOptions::default())?;
/// writer.append(&[2])?;
/// let file = bytes::Bytes::from(writer.finish()?);
///
/// let len = file.len() as u64;
/// let mut scan = IndexScan::new(len, Limits::default(), TrailingBytes::Error);
/// let mut records = 0;
/// loop {
///     match scan.next()? {
///         Scan::Header(_) => {}
///         Scan::Block(entry) => records += entry.count,
///         Scan::Need(range) => {
///             let bytes = file.slice(range.start as usize..range.end as usize);
///             scan.push(range.start, bytes);
///         }
///         Scan::End { .. } => break,
///     }
/// }
/// assert_eq!(records, 1);
/// # Ok::<(), avro_block::Error>(())
/// ```
#[derive(Debug)]
pub struct IndexScan {
    file_len: u64,
    /// Offset in the file past which there are no bytes: `file_len`, or less if the file has become
    /// shorter.
    end: u64,
    limits: Limits,
    trailing: TrailingBytes,
    /// The bytes pushed and not yet scanned.
    pieces: Pieces,
    state: State,
    /// The block being scanned; the first block while the header is scanned.
    position: BlockPosition,
    /// The file's marker; known once the header is read.
    sync: Option<SyncMarker>,
    /// Number of bytes that were skipped.
    skipped: u64,
}

/// State of a scan.
#[derive(Debug)]
enum State {
    Header(HeaderParser),
    /// Scanning the block at the scan's position. The pieces begin there until the head is read.
    Block(SyncMarker, Option<BlockHead>),
    /// Judging the rest of the file from the scan's position on, where no whole block begins.
    Judging(Box<Judge>),
    /// Searching for the block after the damaged one. The framer gets all bytes from the damage on.
    Searching(Box<Framer>),
    /// At the end of the file with the number of bytes left out, or at an error.
    Over(Result<u64, Error>),
}

/// One step of an [`IndexScan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scan {
    /// The file's header; always the first result that is not [`Need`](Scan::Need).
    Header(Header),
    /// The next block, in file order. Its head and its sync marker are checked, its payload is not.
    Block(IndexEntry),
    /// Bytes from the start of this range on must be pushed before the next result. The range is not
    /// empty and lies within the file's length.
    Need(Range<u64>),
    /// All blocks are listed.
    End {
        /// Number of bytes left out after the last block.
        trailing_bytes: u64,
    },
}

/// Bytes of the first read of the header. Most headers are smaller.
const HEADER_READ: u64 = 16 << 10;

/// Bytes that a later read has beyond what is wanted: the end of the header often follows.
const AFTER_VALUE: u64 = 64;

/// Bytes per read of a sync marker and the head of the next block, which are adjacent.
const MARKER_AND_HEAD: u64 = (SyncMarker::LEN + BlockHead::MAX_LEN) as u64;

impl IndexScan {
    /// A scan of a file of `file_len` bytes, from its first byte. `trailing` tells how bytes after
    /// the last block are treated.
    pub fn new(file_len: u64, limits: Limits, trailing: TrailingBytes) -> Self {
        Self {
            file_len,
            end: file_len,
            limits,
            trailing,
            pieces: Pieces::default(),
            state: State::Header(HeaderParser::default()),
            position: BlockPosition {
                offset: 0,
                index: 0,
            },
            sync: None,
            skipped: 0,
        }
    }

    /// A scan from block `index` on, which begins at `offset` of a file with the marker `sync`. It gives no header. The
    /// other arguments are those of [`new`](Self::new).
    pub fn at_block(
        sync: SyncMarker,
        (offset, index): (u64, u64),
        file_len: u64,
        limits: Limits,
        trailing: TrailingBytes,
    ) -> Self {
        Self {
            pieces: Pieces::starting_at(offset),
            state: State::Block(sync, None),
            position: BlockPosition { offset, index },
            sync: Some(sync),
            ..Self::new(file_len, limits, trailing)
        }
    }

    /// The next step of the scan.
    ///
    /// # Errors
    ///
    /// - The header's error, if no header was returned before.
    /// - The error of the first damaged block: the error that a [`Framer`](crate::Framer) returns
    ///   for the same file. A file that is shorter than `file_len` is truncated.
    ///
    /// The same error is returned again by later calls.
    #[allow(clippy::should_implement_trait)] // "Need" is no end, so this is no iterator.
    pub fn next(&mut self) -> Result<Scan, Error> {
        let step = match &mut self.state {
            State::Header(_) => self.header(),
            &mut State::Block(sync, head) => match self.block(sync, head) {
                Ok(step) => Ok(step),
                Err(error) => {
                    self.begin_judging(error, sync);
                    self.judge()
                }
            },
            State::Judging(_) => self.judge(),
            State::Searching(_) => self.search(),
            State::Over(result) => {
                let trailing_bytes = result.clone()?;
                return Ok(Scan::End { trailing_bytes });
            }
        };
        let result = match &step {
            &Ok(Scan::End { trailing_bytes }) => Ok(trailing_bytes),
            Err(error) => Err(error.clone()),
            Ok(_) => return step,
        };
        self.pieces = Pieces::default();
        self.state = State::Over(result);
        step
    }

    /// Gives up the damaged block and continues as [`Framer::resync`] does, with the same blocks. This
    /// needs all bytes from the damage to the next marker.
    ///
    /// Returns `false` and changes nothing if no block is damaged, or if there is no header.
    pub fn resync(&mut self) -> bool {
        let (State::Over(Err(_)), Some(sync)) = (&self.state, self.sync) else {
            return false;
        };
        let BlockPosition { offset, index } = self.position;
        let mut framer = Framer::at_block(sync, offset, index, self.limits.clone());
        framer.set_trailing_bytes(self.trailing);
        self.state = State::Searching(framer.into());
        true
    }

    /// Number of bytes skipped so far by all calls of [`resync`](Self::resync).
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped
    }

    /// Takes the bytes of the file from `offset` on, without a copy: at least the first byte of the
    /// range that [`next`](Self::next) asked for, possibly bytes before and after that range. Empty
    /// `bytes` mean that the file ends at `offset`.
    ///
    /// Bytes beyond the file's length are ignored. So are bytes that do not join the bytes pushed
    /// before: `next` then asks again.
    pub fn push(&mut self, offset: u64, mut bytes: Bytes) {
        let held_end = match &self.state {
            State::Searching(framer) => framer.end_offset(),
            _ => self.pieces.end(),
        };
        let Some(known) = held_end.checked_sub(offset) else {
            return;
        };
        if bytes.is_empty() {
            self.end = self.end.min(held_end);
            return;
        }
        let within = self.end.saturating_sub(offset);
        bytes.truncate(usize::try_from(within).unwrap_or(usize::MAX));
        if let Ok(known) = usize::try_from(known)
            && known < bytes.len()
        {
            bytes.advance(known);
            match &mut self.state {
                State::Searching(framer) => framer.push(bytes),
                _ => self.pieces.push(bytes),
            }
        }
    }

    /// Index of the next block, in which damaged blocks that were skipped count; `None` in the header.
    pub fn block_index(&self) -> Option<u64> {
        match self.state {
            State::Header(_) => None,
            _ => Some(self.position.index),
        }
    }

    fn header(&mut self) -> Result<Scan, Error> {
        let State::Header(parser) = &mut self.state else {
            unreachable!("only called in this state");
        };
        match parser.advance(&mut self.pieces, &self.limits)? {
            Progress::Done(header) => {
                self.position.offset = header.len();
                self.sync = Some(header.sync());
                self.state = State::Block(header.sync(), None);
                Ok(Scan::Header(header))
            }
            Progress::NeedMore(wanted) => {
                // A size in the header may be false, so no read is longer than all before it.
                let given = self.pieces.end();
                let len = wanted.min(given).min(MAX_READ as u64) + AFTER_VALUE;
                let to = given.saturating_add(len).max(HEADER_READ);
                need(given, to, self.end).ok_or_else(|| parser.truncated(&self.pieces))
            }
        }
    }

    /// Scans the block at the scan's position, whose head may be known. The error is not judged yet.
    fn block(&mut self, sync: SyncMarker, head: Option<BlockHead>) -> Result<Scan, Error> {
        let position = self.position;
        let offset = position.offset;
        if offset >= self.file_len {
            return Ok(Scan::End { trailing_bytes: 0 });
        }
        let head = match head {
            Some(head) => head,
            None => {
                let mut joined = [0; BlockHead::MAX_LEN];
                let bytes = self.pieces.view(0, &mut joined);
                match BlockHead::parse(bytes, &self.limits, position)? {
                    Some(head) => head,
                    None => {
                        let to = offset.saturating_add(BlockHead::MAX_LEN as u64);
                        return need(self.pieces.end(), to, self.end)
                            .ok_or_else(|| BlockHead::cut(bytes, position));
                    }
                }
            }
        };
        self.state = State::Block(sync, Some(head));

        let available = self.end.saturating_sub(offset);
        if available < head.block_len() {
            return Err(head.truncated(available, position));
        }
        let sync_at = head.len + head.payload_len;
        let (marker_at, block_end) = (offset + sync_at, offset + head.block_len());
        if self.pieces.end() < marker_at {
            self.pieces.restart(marker_at);
        }
        if self.pieces.end() < block_end {
            let to = marker_at.saturating_add(MARKER_AND_HEAD);
            return need(self.pieces.end(), to, self.end)
                .ok_or_else(|| head.truncated(available, position));
        }
        let mut found = SyncMarker([0; SyncMarker::LEN]);
        self.pieces
            .peek(marker_at - self.pieces.start(), &mut found.0);
        if found != sync {
            let expected = sync;
            return Err(position.error(ErrorKind::SyncMismatch { expected, found }, sync_at));
        }

        self.pieces.advance(block_end - self.pieces.start());
        self.state = State::Block(sync, None);
        self.position = BlockPosition {
            offset: block_end,
            index: position.index + 1,
        };
        Ok(Scan::Block(IndexEntry {
            offset,
            len: head.block_len(),
            count: head.count,
            payload_len: head.payload_len,
        }))
    }

    /// Begins to judge the rest of the file from the scan's position on, where a block should begin
    /// but `error` was found. `sync` is the file's marker.
    #[cold]
    fn begin_judging(&mut self, error: Error, sync: SyncMarker) {
        let block_len = match self.state {
            State::Block(_, Some(head)) => Some(head.block_len()),
            _ => None,
        };
        let offset = self.position.offset;
        if self.pieces.start() > offset {
            self.pieces.restart(offset);
        }
        let judge = Judge::new(error, offset, block_len, sync, self.trailing);
        self.state = State::Judging(judge.into());
    }

    /// Judges the bytes pushed since the last call.
    #[cold]
    fn judge(&mut self) -> Result<Scan, Error> {
        let State::Judging(judge) = &mut self.state else {
            unreachable!("only called in this state");
        };
        for piece in self.pieces.from(self.pieces.start()) {
            judge.feed(piece);
        }
        self.pieces.restart(self.pieces.end());
        let is_certain = judge.wanted() == 0;
        if !is_certain {
            let from = self.pieces.end();
            if let Some(need) = need(from, from.saturating_add(REST_LOOKED_AT), self.end) {
                return Ok(need);
            }
        }
        let state = std::mem::replace(&mut self.state, State::Over(Ok(0)));
        let State::Judging(judge) = state else {
            unreachable!("checked above");
        };
        if !is_certain && self.end < self.file_len {
            // The file has become shorter, so the rest says nothing about the bytes after it.
            return Err(judge.into_error());
        }
        let trailing_bytes = judge.verdict(!is_certain)?;
        Ok(Scan::End { trailing_bytes })
    }

    /// Searches the bytes pushed since the last call for the block after the damage.
    #[cold]
    fn search(&mut self) -> Result<Scan, Error> {
        loop {
            let State::Searching(framer) = &mut self.state else {
                return self.next();
            };
            let frame = match framer.next() {
                Ok(Frame::NeedMore(more)) => {
                    let from = framer.end_offset();
                    let to = from.saturating_add(more.max(REST_LOOKED_AT));
                    if let Some(need) = need(from, to, self.end) {
                        return Ok(need);
                    }
                    match framer.finish() {
                        Ok(()) => {
                            self.skipped += framer.skipped_bytes();
                            let trailing_bytes = framer.trailing_bytes();
                            return Ok(Scan::End { trailing_bytes });
                        }
                        Err(error) => Err(error),
                    }
                }
                frame => frame,
            };
            match frame {
                // The framer finds the same damage first, and others while it searches.
                Err(error) => {
                    if !framer.resync() {
                        return Err(error);
                    }
                }
                Ok(Frame::Skipped { offset, len }) => self.goes_on(offset + len),
                Ok(Frame::Block(block)) => {
                    // The file was shorter before.
                    let entry = IndexEntry {
                        offset: block.offset,
                        len: block.len,
                        count: block.count,
                        payload_len: block.payload.len() as u64,
                    };
                    self.goes_on(block.offset + block.len);
                    return Ok(Scan::Block(entry));
                }
                Ok(_) => {}
            }
        }
    }

    /// Goes on where the search has found that a block begins.
    fn goes_on(&mut self, offset: u64) {
        if let (State::Searching(framer), Some(sync)) = (&self.state, self.sync) {
            self.skipped += framer.skipped_bytes();
            let index = framer.block().unwrap_or(self.position.index);
            self.position = BlockPosition { offset, index };
            self.pieces.restart(offset);
            self.state = State::Block(sync, None);
        }
    }
}

/// Asks for the bytes from `from` up to `to`, or up to the file's `end`; `None` if there are none.
fn need(from: u64, to: u64, end: u64) -> Option<Scan> {
    let range = from..to.min(end);
    (!range.is_empty()).then_some(Scan::Need(range))
}
