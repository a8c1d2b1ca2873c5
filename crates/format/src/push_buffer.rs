use bytes::{Buf, Bytes, BytesMut};

/// The bytes of a file that were pushed to a framing, and that it has not taken yet.
///
/// Bytes that are taken from one pushed piece are a slice of it. Only what lies across two pieces is
/// copied.
#[derive(Debug, Default)]
pub struct PushBuffer {
    /// The byte offset in the file of the first byte.
    at: u64,
    /// The bytes of earlier pieces.
    held: BytesMut,
    /// The last piece, whose bytes follow.
    piece: Bytes,
    is_ended: bool,
}

impl PushBuffer {
    /// An empty buffer, whose first byte is the one at `at` in the file.
    pub fn new(at: u64) -> Self {
        PushBuffer {
            at,
            ..PushBuffer::default()
        }
    }

    /// The byte offset in the file of the first byte that was not taken.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Number of bytes that were pushed and not taken.
    pub fn len(&self) -> usize {
        self.held.len() + self.piece.len()
    }

    /// Whether no bytes are there.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the file ends after these bytes.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Takes the bytes of the file from `at` on, as
    /// [`Blocks::push`](crate::Blocks::push) gets them. Bytes that are here already, or that were
    /// taken, are left out; so is a piece that does not join the bytes before it.
    pub fn push(&mut self, at: u64, mut bytes: Bytes) {
        let end = self.at + self.len() as u64;
        if bytes.is_empty() {
            self.is_ended |= at <= end;
            return;
        }
        let known = end.checked_sub(at).and_then(|n| usize::try_from(n).ok());
        let Some(known) = known.filter(|&known| known < bytes.len()) else {
            return;
        };
        bytes.advance(known);
        self.held.extend_from_slice(&self.piece);
        self.piece = bytes;
    }

    /// The first `len` bytes, or all if there are fewer. They stay in the buffer.
    pub fn peek(&mut self, len: usize) -> &[u8] {
        if self.held.is_empty() {
            return &self.piece[..len.min(self.piece.len())];
        }
        self.hold(len);
        &self.held[..len.min(self.held.len())]
    }

    /// Removes the first `len` bytes and returns them; `None` if there are fewer.
    pub fn take(&mut self, len: usize) -> Option<Bytes> {
        if len > self.len() {
            return None;
        }
        self.at += len as u64;
        if self.held.is_empty() {
            return Some(self.piece.split_to(len));
        }
        self.hold(len);
        Some(self.held.split_to(len).freeze())
    }

    /// Removes all bytes before the one at `at` in the file, also those that are not here yet: the
    /// next piece may begin there.
    pub fn skip_to(&mut self, at: u64) {
        let skipped = at.saturating_sub(self.at);
        let here = usize::try_from(skipped).map_or(self.len(), |n| n.min(self.len()));
        let of_held = here.min(self.held.len());
        self.held.advance(of_held);
        self.piece.advance(here - of_held);
        self.at = self.at.max(at);
    }

    /// Moves bytes of the piece to the held bytes, until these are `len`.
    fn hold(&mut self, len: usize) {
        let more = len.saturating_sub(self.held.len()).min(self.piece.len());
        self.held.extend_from_slice(&self.piece.split_to(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_any_pieces_are_taken_alike() {
        let data: Vec<u8> = (0..100).collect();
        for piece in 1..=100 {
            for len in 1..=7 {
                let mut buffer = PushBuffer::new(1000);
                let mut pieces = data.chunks(piece);
                let (mut at, mut taken) = (1000, Vec::new());
                loop {
                    assert_eq!(buffer.at(), 1000 + taken.len() as u64);
                    if let Some(bytes) = buffer.take(len) {
                        taken.extend_from_slice(&bytes);
                    } else if let Some(piece) = pieces.next() {
                        buffer.push(at, Bytes::copy_from_slice(piece));
                        at += piece.len() as u64;
                    } else {
                        break;
                    }
                }
                assert_eq!(taken, data[..100 - 100 % len]);
                assert_eq!(buffer.peek(50), &data[100 - 100 % len..]);
                assert_eq!(buffer.len(), 100 % len);
            }
        }
    }

    #[test]
    fn what_lies_in_one_piece_is_not_copied() {
        let piece = Bytes::from(vec![7; 64]);
        let mut buffer = PushBuffer::new(0);
        buffer.push(0, piece.clone());
        assert_eq!(buffer.peek(4), [7; 4]);
        let taken = buffer.take(10).expect("there are 64 bytes");
        assert_eq!(taken.as_ptr(), piece.as_ptr());
    }

    #[test]
    fn a_piece_may_overlap_but_not_leave_a_gap() {
        let mut buffer = PushBuffer::new(10);
        buffer.push(10, Bytes::from_static(b"abc"));
        buffer.push(11, Bytes::from_static(b"bcde"));
        buffer.push(10, Bytes::from_static(b"ab"));
        buffer.push(20, Bytes::from_static(b"x"));
        assert_eq!(buffer.peek(10), b"abcde");
        buffer.push(20, Bytes::new());
        assert!(!buffer.is_ended());
        buffer.push(15, Bytes::new());
        assert!(buffer.is_ended());
    }

    #[test]
    fn skipping_goes_beyond_what_is_here() {
        let mut buffer = PushBuffer::new(0);
        buffer.push(0, Bytes::from_static(b"abc"));
        buffer.push(3, Bytes::from_static(b"def"));
        buffer.skip_to(4);
        assert_eq!(buffer.peek(9), b"ef");
        buffer.skip_to(2);
        assert_eq!(buffer.at(), 4);
        buffer.skip_to(100);
        assert_eq!((buffer.at(), buffer.len()), (100, 0));
        buffer.push(100, Bytes::from_static(b"g"));
        assert_eq!(buffer.take(1).as_deref(), Some(&b"g"[..]));
    }
}
