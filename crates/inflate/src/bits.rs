//! Where a stream is being read.

use crate::Error;

/// Bytes of a payload that are at hand at a time: more than all lanes' lookups between two calls
/// of [`Reader::stage`], or a block's header, consume.
const STAGE: usize = 1024;

/// The next bits of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    /// The next bits, the lowest first. Above `count` of them there may be more.
    pub(crate) word: u64,
    /// How many of them count, in the lowest six bits; what is above has no meaning.
    pub(crate) count: u64,
    /// Where the bytes behind them are in the stage.
    at: usize,
}

impl Bits {
    /// No bits, and never any: a refill reads nothing.
    const FULL: Self = Bits {
        word: 0,
        count: 63,
        at: 0,
    };

    /// Makes it 56 bits at least.
    #[inline(always)]
    pub(crate) fn refill(&mut self, stage: &Stage) {
        self.word |= stage.load(self.at) << (self.count & 63);
        self.at += ((self.count & 63) ^ 63) as usize >> 3;
        self.count |= 56;
    }

    /// Consumes `n` bits, which are there.
    #[inline(always)]
    pub(crate) fn take(&mut self, n: u32) -> u32 {
        let bits = self.word & ((1 << n) - 1);
        self.word >>= n;
        self.count = self.count.wrapping_sub(u64::from(n));
        bits as u32
    }
}

/// A part of a payload; zeros behind its end.
#[derive(Clone)]
pub(crate) struct Stage([u8; STAGE + 8]);

impl Stage {
    #[inline(always)]
    fn load(&self, at: usize) -> u64 {
        let at = at % STAGE;
        let bytes = self.0[at..at + 8].try_into().expect("eight bytes");
        u64::from_le_bytes(bytes)
    }
}

/// The state of reading a payload.
#[derive(Clone)]
pub(crate) struct Reader {
    pub(crate) bits: Bits,
    pub(crate) stage: Stage,
    /// Where in the payload the stage begins.
    base: usize,
}

impl Reader {
    /// One that has no payload.
    pub(crate) fn idle() -> Self {
        Reader {
            bits: Bits::FULL,
            stage: Stage([0; STAGE + 8]),
            base: 0,
        }
    }

    /// At the beginning of a payload, or at some other of its bytes.
    pub(crate) fn seek(&mut self, byte: usize) {
        self.base = byte;
        self.bits = Bits {
            word: 0,
            count: 0,
            at: 0,
        };
    }

    /// Stops reading.
    pub(crate) fn park(&mut self) {
        self.bits = Bits::FULL;
    }

    /// Brings the next of `payload` in.
    pub(crate) fn stage(&mut self, payload: &[u8]) {
        self.base += self.bits.at;
        self.bits.at = 0;
        let rest = payload.get(self.base..).unwrap_or_default();
        let stage = &mut self.stage.0;
        if let Some(next) = rest.first_chunk() {
            *stage = *next;
        } else {
            stage[..rest.len()].copy_from_slice(rest);
            stage[rest.len()..].fill(0);
        }
    }

    /// Bits of `payload` that are not consumed.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] if more are than it has.
    pub(crate) fn left(&self, payload: &[u8]) -> Result<u64, Error> {
        let read = (self.base + self.bits.at) as u64 * 8 - (self.bits.count & 63);
        (payload.len() as u64 * 8)
            .checked_sub(read)
            .ok_or(Error::Truncated)
    }
}
