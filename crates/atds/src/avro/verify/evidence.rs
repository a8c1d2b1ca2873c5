//! What the bytes of a damaged part tell about the cause.

use avro_block::{
    Block, BlockHead, Codec, ErrorKind, Found, Frame, Framer, Limits, SyncMarker, find_sync,
};
use bytes::Bytes;

use super::block::BlockChecker;
use crate::verify::Cause;

/// Maximum number of a damaged part's bytes that are looked at.
pub(super) const MOST_BYTES: usize = 4 << 20;

/// Minimum number of zeros in a row that no compressed payload has.
const ZEROS_COMPRESSED: usize = 64;
/// Minimum number of zeros that a disk leaves out: a sector.
const ZEROS_PLAIN: usize = 512;
/// Minimum number of zeros in uncompressed data, if the fault is in them.
const ZEROS_AT_FAULT: usize = 16;
/// Minimum number of occurrences of a pattern that are no chance.
const FEW: u64 = 3;
/// Maximum number of bytes that something inserts into a block.
const MOST_ADDED: u64 = 64;

/// Maximum number of bytes by which deflate makes a small payload larger.
const MOST_OVERHEAD: u64 = 16;

/// Maximum number of line feeds before which a carriage return is tried.
const MOST_TRIED: usize = 256;

/// A part of a file that frames no block.
pub(super) struct Part<'b> {
    pub(super) error: &'b avro_block::Error,
    /// Offset in the file of the part's first byte.
    pub(super) start: u64,
    /// Its first bytes, and bytes after it.
    pub(super) bytes: &'b [u8],
    pub(super) sync: SyncMarker,
    pub(super) codec: Codec,
}

impl Part<'_> {
    /// What is where the marker should be, if the block has a head.
    pub(super) fn marker_found(&self) -> Option<SyncMarker> {
        let kind = match &self.error.kind {
            ErrorKind::NotABlock { cause, .. } => cause,
            kind => kind,
        };
        match *kind {
            ErrorKind::SyncMismatch { found, .. } => Some(found),
            _ => None,
        }
    }

    /// The bytes up to the next marker.
    fn span(&self) -> &[u8] {
        let marker = find_sync(self.bytes, &self.sync, 0);
        &self.bytes[..marker.map_or(self.bytes.len(), |at| at + SyncMarker::LEN)]
    }

    /// The line ends in the part.
    pub(super) fn line_ends(&self) -> LineEnds {
        LineEnds::of(self.span())
    }

    /// The cause of the damage, and the number of records in the part.
    pub(super) fn cause(&self, checker: &mut BlockChecker<'_>) -> (Cause, Option<u64>) {
        let kind = match &self.error.kind {
            ErrorKind::NotABlock { found, cause } => match found {
                Found::SecondFile => return (Cause::SecondFile, None),
                Found::Zeros if self.bytes.len() >= ZEROS_AT_FAULT => {
                    return (self.zeros(0, self.bytes.len()), Some(0));
                }
                Found::Unknown => &**cause,
                &found => return (Cause::AfterTheEnd { found }, Some(0)),
            },
            kind => kind,
        };
        let marker = find_sync(self.bytes, &self.sync, 0);
        let limits = unlimited();
        let head = BlockHead::read(self.bytes, &limits);
        let whole = |head: BlockHead, end: usize, checker: &mut BlockChecker<'_>| {
            let payload = self.bytes.get(head.len as usize..end)?;
            let is_whole = checker.is_whole(head.count, payload);
            is_whole.then_some((head, payload.len() as u64))
        };
        // If the payload up to the marker that was found is whole, the size before it is wrong. But the
        // marker may be that of the next block, and deflate ignores bytes after its own.
        let inner = head.zip(marker).and_then(|(head, at)| {
            let declared = usize::try_from(head.len + head.payload_len).ok()?;
            let is_longer = declared < at && whole(head, declared, checker).is_none();
            let is_wrong = declared > at || is_longer;
            is_wrong.then(|| whole(head, at, checker)).flatten()
        });
        if let Some((head, found)) = inner {
            let declared = head.payload_len;
            return (Cause::WrongSize { declared, found }, Some(head.count));
        }
        let at_fault = self.error.offset.saturating_sub(self.start) as usize;
        let seen = of_bytes(self.span(), self.codec, Some(at_fault)).map(|cause| match cause {
            Cause::ZeroFilled { offset, bytes } => self.zeros(offset as usize, bytes as usize),
            cause => cause,
        });
        match kind {
            &ErrorKind::SyncMismatch { expected, found } => {
                self.of_marker(head, marker, (expected, found), seen, checker)
            }
            &ErrorKind::Truncated { missing, .. } if marker.is_none() => {
                let count = head.filter(|head| checker.can_hold(head.payload_len, head.count));
                let cause = seen.unwrap_or(Cause::Cut { missing });
                (cause, count.map(|head| head.count))
            }
            ErrorKind::TooLarge { .. } => match head.filter(|head| {
                checker.can_hold(head.payload_len, head.count) && self.ends_block(*head)
            }) {
                Some(head) => (Cause::NotChecked, Some(head.count)),
                None => (seen.unwrap_or(Cause::Overwritten), None),
            },
            _ => (seen.unwrap_or_else(|| self.unknown(marker)), None),
        }
    }

    /// The block without damage that ends with the marker after the part, if its start can be found: what
    /// is before it is so damaged that no size leads there. Without compression any bytes may look like
    /// records, so none is found then.
    pub(super) fn last_block(
        &self,
        cause: &Cause,
        checker: &mut BlockChecker<'_>,
    ) -> Option<Block> {
        let end = find_sync(self.bytes, &self.sync, 0)? + SyncMarker::LEN;
        if self.codec.is_null() || matches!(cause, Cause::WrongSize { .. }) {
            return None;
        }
        let limits = Limits::default();
        let index = self.error.block.unwrap_or(0) + 1;
        (1..end).find_map(|at| {
            let bytes = &self.bytes[at..end];
            let head = BlockHead::read(bytes, &limits)?;
            if head.block_len() != bytes.len() as u64 || head.count == 0 {
                return None;
            }
            let payload = &bytes[head.len as usize..bytes.len() - SyncMarker::LEN];
            let healthy = checker.check(head.count, payload).ok()?;
            // A few bytes may be a deflate stream by chance, before others that are ignored.
            let is_small = healthy.decompressed_bytes + MOST_OVERHEAD < head.payload_len;
            if self.codec == Codec::Deflate && is_small {
                return None;
            }
            let offset = self.start + at as u64;
            let mut framer = Framer::at_block(self.sync, offset, index, limits.clone());
            framer.push(Bytes::copy_from_slice(bytes));
            match framer.next() {
                Ok(Frame::Block(block)) => Some(block),
                _ => None,
            }
        })
    }

    /// The cause if the bytes where the marker should be are not the marker.
    fn of_marker(
        &self,
        head: Option<BlockHead>,
        marker: Option<usize>,
        (expected, found): (SyncMarker, SyncMarker),
        seen: Option<Cause>,
        checker: &mut BlockChecker<'_>,
    ) -> (Cause, Option<u64>) {
        let Some(head) = head else {
            return (seen.unwrap_or(Cause::Overwritten), None);
        };
        let declared = (head.len + head.payload_len) as usize;
        let end = declared + SyncMarker::LEN;
        let payload = self.bytes.get(head.len as usize..declared);
        let is_whole = payload.is_some_and(|payload| checker.is_whole(head.count, payload));
        let next = self.bytes.get(end..).unwrap_or_default();
        let next = BlockHead::read(next, &unlimited()).and_then(|head| {
            let next_end = usize::try_from(head.block_len()).ok()?.checked_add(end)?;
            let marker = self.bytes.get(..next_end)?.last_chunk()?;
            Some(SyncMarker(*marker))
        });
        let is_alone = next == Some(expected) || marker.is_none() && end == self.bytes.len();
        let count = (is_whole && is_alone).then_some(head.count);
        if let Some(cause) = seen {
            return (cause, count);
        }
        if next == Some(found) {
            // How many blocks follow is not known.
            return (Cause::OtherFile { marker: found }, None);
        }
        let cause = match marker {
            Some(at) if at < declared => {
                let (bytes, payload) = (declared - at, self.bytes.get(head.len as usize..at));
                match payload {
                    Some(payload) if bytes == 1 && lost_return(head.count, payload, checker) => {
                        Cause::Newlines
                    }
                    _ => Cause::Missing {
                        bytes: bytes as u64,
                    },
                }
            }
            _ if is_similar(expected, found) => Cause::Overwritten,
            None if is_whole => Cause::OtherFile { marker: found },
            Some(_) if next == Some(expected) => match is_whole {
                true => Cause::Marker,
                false => Cause::Overwritten,
            },
            Some(at) if at - declared <= MOST_ADDED as usize => Cause::Added {
                bytes: (at - declared) as u64,
            },
            _ => self.unknown(marker),
        };
        (cause, count)
    }

    /// The cause if the bytes tell nothing.
    fn unknown(&self, marker: Option<usize>) -> Cause {
        match &self.error.kind {
            &ErrorKind::NotABlock { found, .. } if marker.is_none() => Cause::AfterTheEnd { found },
            _ => Cause::Overwritten,
        }
    }

    /// Whether the marker ends a block with this head.
    fn ends_block(&self, head: BlockHead) -> bool {
        let end = usize::try_from(head.block_len()).ok();
        let block = end.and_then(|end| self.bytes.get(..end));
        match block {
            Some(block) => block.ends_with(&self.sync.0),
            // It is longer than what was looked at.
            None => self.bytes.len() >= MOST_BYTES,
        }
    }

    fn zeros(&self, at: usize, bytes: usize) -> Cause {
        Cause::ZeroFilled {
            offset: self.start + at as u64,
            bytes: bytes as u64,
        }
    }
}

/// Whether the payload is whole with a carriage return before one of its line feeds.
fn lost_return(count: u64, payload: &[u8], checker: &mut BlockChecker<'_>) -> bool {
    let feeds = payload
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n');
    feeds.take(MOST_TRIED).any(|(at, _)| {
        let (before, after) = payload.split_at(at);
        checker.is_whole(count, &[before, b"\r", after].concat())
    })
}

/// Limits that refuse no size.
fn unlimited() -> Limits {
    let mut limits = Limits::default();
    limits.max_block_records = u64::MAX;
    limits.max_block_bytes = u64::MAX;
    limits
}

/// Whether most bytes of the two are equal.
fn is_similar(expected: SyncMarker, found: SyncMarker) -> bool {
    let equal = expected.0.iter().zip(&found.0).filter(|(a, b)| a == b);
    equal.count() >= SyncMarker::LEN / 2
}

/// The cause that `bytes` alone tell, with an offset in them. `at_fault` is the index of the byte that
/// is known to be wrong.
pub(crate) fn of_bytes(bytes: &[u8], codec: Codec, at_fault: Option<usize>) -> Option<Cause> {
    let (at, zeros) = longest_zeros(bytes);
    let is_at_fault = at_fault.is_some_and(|fault| (at..=at + zeros).contains(&fault));
    let enough = match codec {
        _ if is_at_fault => ZEROS_AT_FAULT,
        Codec::Null => ZEROS_PLAIN,
        _ => ZEROS_COMPRESSED,
    };
    if zeros >= enough {
        return Some(Cause::ZeroFilled {
            offset: at as u64,
            bytes: zeros as u64,
        });
    }
    let replaced = bytes
        .windows(3)
        .filter(|three| *three == "\u{fffd}".as_bytes());
    if replaced.count() as u64 >= FEW {
        return Some(Cause::Text);
    }
    LineEnds::of(bytes)
        .were_converted()
        .then_some(Cause::Newlines)
}

/// The first longest run of zeros: its index and its length.
fn longest_zeros(bytes: &[u8]) -> (usize, usize) {
    let (mut best, mut start) = ((0, 0), None);
    for (at, byte) in bytes.iter().enumerate() {
        match (byte, start) {
            (0, None) => start = Some(at),
            (0, Some(_)) => {}
            (_, Some(from)) => {
                best = longer(best, (from, at - from));
                start = None;
            }
            _ => {}
        }
    }
    start.map_or(best, |from| longer(best, (from, bytes.len() - from)))
}

fn longer(a: (usize, usize), b: (usize, usize)) -> (usize, usize) {
    if b.1 > a.1 { b } else { a }
}

/// The line feeds in bytes, and how many of them follow a carriage return.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineEnds {
    line_feeds: u64,
    with_return: u64,
}

impl LineEnds {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let is_pair = |pair: &&[u8]| **pair == *b"\r\n";
        LineEnds {
            line_feeds: bytes.iter().filter(|byte| **byte == b'\n').count() as u64,
            with_return: bytes.windows(2).filter(is_pair).count() as u64,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.line_feeds += other.line_feeds;
        self.with_return += other.with_return;
    }

    /// Whether there are some, and all follow a carriage return. In other bytes one of 256 does.
    pub(super) fn were_converted(self) -> bool {
        self.line_feeds >= FEW && self.with_return == self.line_feeds
    }

    pub(super) fn is_any(self) -> bool {
        self.line_feeds > 0
    }
}
