//! One stream being inflated.

use crate::Error;
use crate::bits::{Bits, Position, Window, window};
use crate::copy;
use crate::entry::{EXTRA, HALT, LITLEN, TABLE_LEN, TABLES, consumed, extra_alone, lead};
use crate::header::{self, BlockType};
use crate::kernel::{Kernel, STEPS, Steps};
use crate::stream::Stream;

/// The state of one stream. It is large, and only ever made once.
#[derive(Clone)]
pub(crate) struct Lane {
    /// All tables, one behind another.
    pub(crate) tables: [u32; TABLES * TABLE_LEN],
    /// The first index of the next lookup's table.
    pub(crate) table: u32,
    pub(crate) position: Position,
    pub(crate) steps: Steps,
    tokens: Tokens,
    /// Whether the tables are those of the fixed codes.
    is_fixed: bool,
    is_last_block: bool,
    /// Bytes inflated.
    written: usize,
    /// Bits of the payload left when the steps began.
    left: usize,
}

/// Room for what the steps amount to, and for a token left over: a power of two, so that a mask is
/// all the bounds checking there is.
pub(crate) const TOKENS: usize = (STEPS + 1).next_power_of_two();

/// What the steps amount to.
#[derive(Clone)]
pub(crate) struct Tokens {
    /// The literals.
    pub(crate) literals: [u8; TOKENS + 16],
    /// Lengths and distances by turns, in the low half; how many of the literals come before, in
    /// the high half.
    pub(crate) tokens: [u32; TOKENS + 8],
    pub(crate) literal_count: usize,
    pub(crate) token_count: usize,
}

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The lane wants lookups.
    Running,
    /// The stream has ended.
    Ended,
}

const HALTED: u32 = HALT * TABLE_LEN as u32;

impl Lane {
    pub(crate) fn new() -> Self {
        let halt = lead(0, HALT);
        let mut tables = [halt; TABLES * TABLE_LEN];
        for number in EXTRA..EXTRA + 6 {
            let start = number as usize * TABLE_LEN;
            tables[start..start + TABLE_LEN].fill(extra_alone(number));
        }
        Lane {
            tables,
            table: HALTED,
            position: Position::at(0),
            steps: Steps::default(),
            tokens: Tokens {
                literals: [0; TOKENS + 16],
                tokens: [0; TOKENS + 8],
                literal_count: 0,
                token_count: 0,
            },
            is_fixed: false,
            is_last_block: false,
            written: 0,
            left: 0,
        }
    }

    /// Turns to a stream.
    pub(crate) fn start(
        &mut self,
        stream: &mut Stream<'_>,
        tail: &mut Window,
    ) -> Result<Progress, Error> {
        self.position = Position::at(0);
        self.written = 0;
        self.is_last_block = false;
        self.tokens.literal_count = 0;
        self.tokens.token_count = 0;
        self.next_block(stream, tail)
    }

    /// Does nothing from now on.
    pub(crate) fn park(&mut self) {
        self.table = HALTED;
        self.position = Position::at(0);
    }

    /// Bytes inflated.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// Whether further lookups are of no use.
    #[inline(always)]
    pub(crate) fn is_halted(table: u32) -> bool {
        table == HALTED
    }

    /// The window of the stream's payload for the next lookups.
    pub(crate) fn window<'a>(&self, payload: &'a [u8], tail: &'a mut Window) -> &'a Window {
        window(payload, self.position.base, tail)
    }

    /// Before the lookups.
    fn prepare(&mut self, stream: &Stream<'_>) -> Result<Progress, Error> {
        self.position.slide();
        self.left = self.position.left(stream.payload)?;
        Ok(Progress::Running)
    }

    /// After `steps` lookups: writes what they amount to.
    pub(crate) fn finish(
        &mut self,
        kernel: Kernel,
        steps: usize,
        stream: &mut Stream<'_>,
        tail: &mut Window,
    ) -> Result<Progress, Error> {
        let sound = match self.position.left(stream.payload) {
            Ok(_) => steps,
            Err(_) => self.steps_within(self.left),
        };
        kernel.split(&self.steps, sound, &mut self.tokens);
        self.written = copy::copy(&mut self.tokens, stream, self.written)?;
        self.position.left(stream.payload)?;
        if Self::is_halted(self.table) {
            return self.next_block(stream, tail);
        }
        self.prepare(stream)
    }

    /// How many of the steps consume no more than `left` bits.
    #[cold]
    fn steps_within(&self, left: usize) -> usize {
        let mut consumed_bits = 0;
        let fits = |entry: &&u32| {
            consumed_bits += consumed(**entry) as usize;
            consumed_bits <= left
        };
        self.steps.entries.as_flattened().iter().take_while(fits).count()
    }

    /// Reads block headers up to one whose block wants lookups, and the blocks that want none.
    fn next_block(
        &mut self,
        stream: &mut Stream<'_>,
        tail: &mut Window,
    ) -> Result<Progress, Error> {
        loop {
            if self.is_last_block {
                return Ok(Progress::Ended);
            }
            self.position.slide();
            let window = window(stream.payload, self.position.base, tail);
            let result = self.header(window);
            // Of a header that goes on behind the payload nothing is worth a mention.
            self.position.left(stream.payload)?;
            if result? != BlockType::Stored {
                self.table = LITLEN * TABLE_LEN as u32;
                return self.prepare(stream);
            }
            self.stored(stream)?;
        }
    }

    fn header(&mut self, window: &Window) -> Result<BlockType, Error> {
        let mut bits = Bits::new(window, self.position.bit);
        let result = self.header_bits(&mut bits);
        self.position.bit = bits.position();
        result
    }

    fn header_bits(&mut self, bits: &mut Bits<'_>) -> Result<BlockType, Error> {
        let (is_last, kind) = header::block(bits)?;
        self.is_last_block = is_last;
        match kind {
            BlockType::Stored => {}
            BlockType::Fixed if self.is_fixed => {}
            BlockType::Fixed => {
                header::fixed(&mut self.tables)?;
                self.is_fixed = true;
            }
            BlockType::Dynamic => {
                self.is_fixed = false;
                header::dynamic(bits, &mut self.tables)?;
            }
        }
        Ok(kind)
    }

    /// A block that is stored as it is (RFC 1951, 3.2.4).
    fn stored(&mut self, stream: &mut Stream<'_>) -> Result<(), Error> {
        let left = self.position.left(stream.payload)? / 8;
        let rest = &stream.payload[stream.payload.len() - left..];
        let Some((&[a, b, c, d], rest)) = rest.split_first_chunk() else {
            return Err(Error::Truncated);
        };
        let (length, complement) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        if length != !complement {
            return Err(Error::StoredLength { length, complement });
        }
        let bytes = rest.get(..length.into()).ok_or(Error::Truncated)?;
        let end = self.written + bytes.len();
        stream.reserve(self.written, bytes.len())?;
        stream.room()[self.written..end].copy_from_slice(bytes);
        self.written = end;
        self.position = Position::at(stream.payload.len() - rest.len() + bytes.len());
        Ok(())
    }
}
