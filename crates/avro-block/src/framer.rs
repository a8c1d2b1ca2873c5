//! The push framer: it takes bytes and returns the header, a block, or "need more". No I/O.

use bytes::Bytes;

use crate::after_block::{Judge, TrailingBytes};
use crate::block::{Block, BlockHead, BlockPosition};
use crate::error::{Error, ErrorKind};
use crate::header::{Header, HeaderParser, Progress};
use crate::limits::{Limits, MAX_CARRIED};
use crate::pieces::Pieces;
use crate::sync::SyncMarker;

/// Splits the bytes of a container file into the header and the blocks. The bytes are pushed in
/// pieces of any size.
///
/// Push bytes and call [`next`](Self::next) until it returns [`Frame::NeedMore`]; then push again.
/// At the end of the file call [`finish`](Self::finish). The frames and errors do not depend on how
/// the file is cut into pieces.
///
/// The framer keeps a block's bytes until its sync marker proves the block's size. After an error,
/// [`resync`](Self::resync) can therefore search from the damaged block's first byte on. No false
/// size makes it miss a later block. The price is memory: a false size can make the framer hold up
/// to [`Limits::max_block_bytes`]. [`held`](Self::held) has these bytes.
///
/// ```
/// use avro_block::{Frame, Framer, Writer, WriterOptions};
///
/// let mut writer = Writer::new(Vec::new(), "\"long\"", WriterOptions::default())?;
/// writer.append(&[2])?;
/// let file = writer.finish()?;
///
/// let mut framer = Framer::new();
/// let mut records = 0;
/// for piece in file.chunks(7) {
///     framer.push(bytes::Bytes::copy_from_slice(piece));
///     loop {
///         match framer.next()? {
///             Frame::Block(block) => records += block.count,
///             Frame::NeedMore(_) => break,
///             _ => {}
///         }
///     }
/// }
/// framer.finish()?;
/// assert_eq!(records, 1);
/// # Ok::<(), avro_block::Error>(())
/// ```
#[derive(Debug)]
pub struct Framer {
    limits: Limits,
    /// All bytes from the first byte of the part being framed on.
    pieces: Pieces,
    state: State,
    /// The file's marker; known once the header is read.
    sync: Option<SyncMarker>,
    /// Index of the next block.
    index: u64,
    skipped: u64,
    trailing: TrailingBytes,
    /// Number of bytes left out at the end of the file.
    left_out: u64,
}

/// State of a framer.
#[derive(Debug)]
enum State {
    Header(HeaderParser),
    Blocks(SyncMarker),
    /// Searching for a marker.
    Searching(SyncMarker, Search),
    /// Judging bytes that should begin a block but do not, from this file offset on.
    Judging(Box<Judge>, SyncMarker, u64),
    /// Stopped at an error in the part that begins at this file offset.
    Failed(Error, u64),
}

/// A search for the end of a skipped run.
#[derive(Clone, Copy, Debug)]
struct Search {
    /// File offset of the first byte skipped.
    from: u64,
    /// File offset up to which no marker begins.
    searched: u64,
    /// File offset at which the next block may begin: where the damaged block should end.
    next: Option<u64>,
}

/// One step of a [`Framer`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame {
    /// The file's header; always the first frame.
    Header(Header),
    /// A block.
    Block(Block),
    /// A run of bytes was skipped after [`Framer::resync`]: up to and including the next sync
    /// marker, or up to the end of a block of which only the marker is damaged.
    Skipped {
        /// Offset in the file of the first byte skipped.
        offset: u64,
        /// Bytes skipped.
        len: u64,
    },
    /// At least this many further bytes must be pushed before the next frame.
    NeedMore(u64),
}

impl Framer {
    /// A framer at the beginning of a file, with default [`Limits`].
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// A framer at the beginning of a file.
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            limits,
            pieces: Pieces::default(),
            state: State::Header(HeaderParser::default()),
            sync: None,
            index: 0,
            skipped: 0,
            trailing: TrailingBytes::Error,
            left_out: 0,
        }
    }

    /// Sets the limits for the following frames.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Sets how bytes after the last block are treated; they are an error by default.
    pub fn set_trailing_bytes(&mut self, choice: TrailingBytes) {
        self.trailing = choice;
    }

    /// Sets the marker of the blocks that follow.
    pub(crate) fn set_sync(&mut self, sync: SyncMarker) {
        self.sync = Some(sync);
        if let State::Blocks(known) = &mut self.state {
            *known = sync;
        }
    }

    /// Creates a framer in the middle of a file whose `sync` marker is known. The first byte pushed
    /// is the byte at `offset`, where block `index` begins.
    ///
    /// If a block may not begin at `offset`, call [`resync`](Self::resync) at once.
    pub fn at_block(sync: SyncMarker, offset: u64, index: u64, limits: Limits) -> Self {
        Self {
            limits,
            pieces: Pieces::starting_at(offset),
            state: State::Blocks(sync),
            sync: Some(sync),
            index,
            skipped: 0,
            trailing: TrailingBytes::Error,
            left_out: 0,
        }
    }

    /// Takes the next bytes of the file. No piece is copied; an empty one changes nothing.
    pub fn push(&mut self, piece: Bytes) {
        self.pieces.push(piece);
    }

    /// The next frame of the bytes pushed.
    ///
    /// # Errors
    ///
    /// The first error found, of any kind but `Truncated`. Before an error, the framer may ask for
    /// further bytes, to name their format in the error. The same error is returned again until
    /// [`resync`](Self::resync).
    #[allow(clippy::should_implement_trait)] // "Need more" is no end, so this is no iterator.
    pub fn next(&mut self) -> Result<Frame, Error> {
        let step = match &mut self.state {
            State::Header(parser) => {
                parser
                    .advance(&mut self.pieces, &self.limits)
                    .map(|done| match done {
                        Progress::NeedMore(n) => Frame::NeedMore(n),
                        Progress::Done(header) => {
                            self.sync = Some(header.sync());
                            self.state = State::Blocks(header.sync());
                            Frame::Header(header)
                        }
                    })
            }
            State::Blocks(sync) => {
                let sync = *sync;
                match self.next_block(sync) {
                    Ok(frame) => Ok(frame),
                    Err(error) => {
                        self.begin_judging(error, sync);
                        self.judge()
                    }
                }
            }
            State::Searching(sync, search) => {
                let (sync, search) = (*sync, *search);
                Ok(self.search(sync, search))
            }
            State::Judging(..) => self.judge(),
            State::Failed(error, _) => return Err(error.clone()),
        };
        step.inspect_err(|error| {
            if !matches!(self.state, State::Failed(..)) {
                self.state = State::Failed(error.clone(), self.pieces.start());
            }
        })
    }

    /// Marks the end of the file. Call it when [`next`](Self::next) has asked for more.
    ///
    /// # Errors
    ///
    /// - `Empty` if nothing was pushed.
    /// - `Truncated` if the file ends inside the header or a block.
    /// - The error that `next` returned, if there was one.
    ///
    /// A skipped run that no marker ends is no error: it counts in
    /// [`skipped_bytes`](Self::skipped_bytes). Bytes left out after the last block are no error
    /// either: they count in [`trailing_bytes`](Self::trailing_bytes).
    pub fn finish(&mut self) -> Result<(), Error> {
        let error = match &self.state {
            State::Header(parser) => parser.truncated(&self.pieces),
            State::Blocks(_) if self.pieces.len() == 0 => return Ok(()),
            State::Blocks(sync) => {
                let sync = *sync;
                self.begin_judging(self.truncated_block(), sync);
                // The whole rest of the file is held, so judge it now.
                return match self.judge() {
                    Ok(_) => self.conclude(true),
                    Err(error) => Err(error),
                };
            }
            State::Judging(..) => return self.conclude(true),
            State::Searching(sync, search) => {
                let sync = *sync;
                self.skipped += self.pieces.end() - search.from;
                self.pieces.advance(self.pieces.len());
                self.state = State::Blocks(sync);
                return Ok(());
            }
            State::Failed(error, _) => return Err(error.clone()),
        };
        self.state = State::Failed(error.clone(), self.pieces.start());
        Err(error)
    }

    /// Gives up the damaged block, or the next block if none is damaged, and continues after the
    /// next sync marker. Once the marker is found, [`next`](Self::next) returns [`Frame::Skipped`].
    ///
    /// The search begins at the block's first byte. If the block's own marker is intact, no other
    /// block is lost. If the marker is damaged, the next marker ends the next block. If that block
    /// begins where the damaged one should end, framing continues there, so it is not lost. Otherwise
    /// it is lost too, and always with [`TrailingBytes::LeaveOut`], which keeps no bytes.
    ///
    /// Returns `false` and changes nothing if there is no header, and so no marker to search for.
    pub fn resync(&mut self) -> bool {
        let Some(sync) = self.sync else {
            return false;
        };
        let (from, next) = match self.state {
            State::Searching(..) => return true,
            State::Judging(_, _, from) | State::Failed(_, from) => (from, self.declared_end(from)),
            _ => (self.pieces.start(), None),
        };
        let searched = self.pieces.start();
        self.state = State::Searching(
            sync,
            Search {
                from,
                searched,
                next,
            },
        );
        true
    }

    /// File offset at which the damaged block at `from` should end, if all of its bytes are held.
    fn declared_end(&self, from: u64) -> Option<u64> {
        if self.trailing == TrailingBytes::LeaveOut {
            // How many bytes are held would depend on the pieces.
            return None;
        }
        let end = from + self.head_at(from)?.ok()?.block_len();
        (end <= self.pieces.end()).then_some(end)
    }

    /// The head of a block that may begin at file offset `offset`; `None` if it is not held whole.
    fn head_at(&self, offset: u64) -> Option<Result<BlockHead, Error>> {
        let mut bytes = [0; BlockHead::MAX_LEN];
        let at = offset.checked_sub(self.pieces.start())?;
        let n = self.pieces.peek(at, &mut bytes);
        BlockHead::parse(&bytes[..n], &self.limits, self.position()).transpose()
    }

    /// The bytes held: after an error from the damaged part's first byte on, unless
    /// [`TrailingBytes::LeaveOut`] is set. They tell what has damaged the part.
    pub fn held(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.from(self.pieces.start())
    }

    /// Continues at another position of the same file. The next byte pushed is the byte at
    /// `offset`, where block `index` begins. All bytes held are dropped.
    ///
    /// Returns `false` and changes nothing if there is no header yet.
    pub fn seek(&mut self, offset: u64, index: u64) -> bool {
        let Some(sync) = self.sync else {
            return false;
        };
        self.pieces.restart(offset);
        self.state = State::Blocks(sync);
        self.index = index;
        true
    }

    /// Number of bytes skipped so far by all calls of [`resync`](Self::resync).
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped
    }

    /// Number of bytes left out after the last block, once [`finish`](Self::finish) has returned
    /// `Ok`.
    pub fn trailing_bytes(&self) -> u64 {
        self.left_out
    }

    /// Offset in the file just past the last byte pushed.
    pub fn end_offset(&self) -> u64 {
        self.pieces.end()
    }

    /// Index of the block being framed; `None` in the header.
    pub(crate) fn block(&self) -> Option<u64> {
        self.sync.map(|_| self.index)
    }

    /// Takes the bytes held, so that the caller can push them again in one piece with the bytes
    /// after them. Empty if copying them would cost too much.
    pub(crate) fn take_rest(&mut self) -> Bytes {
        if self.pieces.len() > MAX_CARRIED {
            return Bytes::new();
        }
        self.pieces.take_back()
    }

    fn next_block(&mut self, sync: SyncMarker) -> Result<Frame, Error> {
        let position = self.position();
        let held = self.pieces.len();
        let mut joined = [0; BlockHead::MAX_LEN];
        let bytes = self.pieces.view(0, &mut joined);
        let Some(head) = BlockHead::parse(bytes, &self.limits, position)? else {
            return Ok(Frame::NeedMore(
                BlockHead::MIN_BLOCK.saturating_sub(held).max(1),
            ));
        };
        let len = head.block_len();
        if held < len {
            return Ok(Frame::NeedMore(len - held));
        }

        let sync_at = head.len + head.payload_len;
        let mut joined = [0; SyncMarker::LEN];
        let found = self.pieces.view(sync_at, &mut joined);
        if *found != sync.0 {
            return Err(self.wrong_sync(sync, position, sync_at));
        }

        // The head's parser has checked the length against the address space.
        let (head_len, payload_len) = (head.len as usize, head.payload_len as usize);
        let payload = self.pieces.take_after(head_len, payload_len);
        self.pieces.advance(SyncMarker::LEN as u64);
        self.index += 1;
        Ok(Frame::Block(Block {
            offset: position.offset,
            index: position.index,
            count: head.count,
            payload,
            len,
        }))
    }

    /// Begins to judge bytes that should be a block but gave `error`. `sync` is the file's marker.
    #[cold]
    fn begin_judging(&mut self, error: Error, sync: SyncMarker) {
        let mut bytes = [0; BlockHead::MAX_LEN];
        let n = self.pieces.peek(0, &mut bytes);
        let head = BlockHead::parse(&bytes[..n], &self.limits, self.position());
        let block_len = head.ok().flatten().map(|head| head.block_len());
        let judge = Judge::new(error, self.pieces.start(), block_len, sync, self.trailing);
        self.state = State::Judging(judge.into(), sync, self.pieces.start());
    }

    /// Judges the bytes pushed since the last call.
    #[cold]
    fn judge(&mut self) -> Result<Frame, Error> {
        let State::Judging(judge, _, from) = &mut self.state else {
            unreachable!("only called in this state");
        };
        let next = *from + judge.seen();
        for piece in self.pieces.from(next) {
            judge.feed(piece);
        }
        let wanted = judge.wanted();
        if wanted == 0 {
            return self
                .conclude(false)
                .map(|()| unreachable!("not at the end"));
        }
        if judge.leaves_out() {
            // Keep the last bytes: they may begin a marker, and the search starts with them.
            let keep = self.pieces.len().min(SyncMarker::LEN as u64 - 1);
            self.pieces.advance(self.pieces.len() - keep);
        }
        Ok(Frame::NeedMore(wanted))
    }

    /// Ends the judging, at the end of the file or as soon as the verdict is certain.
    #[cold]
    fn conclude(&mut self, is_end: bool) -> Result<(), Error> {
        let state = std::mem::replace(&mut self.state, State::Header(HeaderParser::default()));
        let State::Judging(judge, sync, from) = state else {
            unreachable!("only called in this state");
        };
        if let (Some(at), true) = (judge.marker_at(), judge.leaves_out()) {
            self.pieces.advance(from + at - self.pieces.start());
        }
        match judge.verdict(is_end) {
            Ok(left_out) => {
                self.left_out += left_out;
                self.pieces.advance(self.pieces.len());
                self.state = State::Blocks(sync);
                Ok(())
            }
            Err(error) => {
                self.state = State::Failed(error.clone(), from);
                Err(error)
            }
        }
    }

    /// The error for a block at `position` whose marker, `at` bytes into the block, is not `expected`.
    #[cold]
    fn wrong_sync(&self, expected: SyncMarker, position: BlockPosition, at: u64) -> Error {
        let mut found = SyncMarker([0; SyncMarker::LEN]);
        self.pieces.peek(at, &mut found.0);
        position.error(ErrorKind::SyncMismatch { expected, found }, at)
    }

    /// Searches the bytes held for the marker, and drops the bytes that can begin neither a marker nor
    /// the next block.
    fn search(&mut self, sync: SyncMarker, mut search: Search) -> Frame {
        let marker_len = SyncMarker::LEN as u64;
        let Some(at) = self.pieces.find(&sync, search.searched) else {
            let keep = self.pieces.len().min(marker_len - 1);
            search.searched = self.pieces.end() - keep;
            search.next = search.next.filter(|&next| match self.head_at(next) {
                None => true,
                // The marker would have been found.
                Some(head) => head.is_ok_and(|head| next + head.block_len() > self.pieces.end()),
            });
            let kept = search.next.unwrap_or(search.searched).min(search.searched);
            self.pieces.advance(kept - self.pieces.start());
            self.state = State::Searching(sync, search);
            return Frame::NeedMore(marker_len - keep);
        };
        let marker_end = at + marker_len;
        let next = search.next.filter(|&next| {
            let head = self.head_at(next).and_then(Result::ok);
            head.is_some_and(|head| next + head.block_len() == marker_end)
        });
        self.pieces
            .advance(next.unwrap_or(marker_end) - self.pieces.start());
        self.index += 1;
        self.state = State::Blocks(sync);
        let (offset, len) = (search.from, self.pieces.start() - search.from);
        self.skipped += len;
        Frame::Skipped { offset, len }
    }

    /// The error for a file that ends inside the block being framed.
    #[cold]
    pub(crate) fn truncated_block(&self) -> Error {
        let position = self.position();
        let mut bytes = [0; BlockHead::MAX_LEN];
        let n = self.pieces.peek(0, &mut bytes);
        match BlockHead::parse(&bytes[..n], &self.limits, position) {
            Ok(Some(head)) => head.truncated(self.pieces.len(), position),
            Ok(None) => BlockHead::cut(&bytes[..n], position),
            Err(error) => error,
        }
    }

    fn position(&self) -> BlockPosition {
        BlockPosition {
            offset: self.pieces.start(),
            index: self.index,
        }
    }
}

impl Default for Framer {
    fn default() -> Self {
        Self::new()
    }
}
