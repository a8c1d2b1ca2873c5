//! The state of one stream in progress.

use crate::Error;
use crate::bits::{Bits, Position, Span, span};
use crate::copy;
use crate::entry::{
    EXTRA, HALT, LITLEN, TABLE_LEN, TABLES, consumed, extra_alone, first_index, lead,
};
use crate::header::{self, BlockType};
use crate::kernel::{Kernel, Lookups};
use crate::output::ActiveStream;
use crate::tokens::Tokens;

/// The state of one stream. It is large, so it is reused.
#[derive(Clone)]
pub(crate) struct Lane {
    /// All tables, one after another.
    pub(crate) tables: [u32; TABLES * TABLE_LEN],
    /// Index of the first entry of the table of the next lookup.
    pub(crate) table: u32,
    /// Position of the next lookup.
    pub(crate) position: Position,
    /// Lookups whose bytes are not written yet.
    pub(crate) lookups: Lookups,
    /// A length whose distance has not been looked up yet.
    length: Option<u32>,
    /// Bits of the payload that were left before these lookups.
    left: usize,
    /// Bytes written.
    written: usize,
    is_last_block: bool,
    /// Whether the tables are those of the fixed codes.
    is_fixed: bool,
}

/// The state of a stream after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The stream needs lookups.
    Running,
    /// The stream has ended.
    Ended,
}

/// Index of the first entry of the table in which a lane halts.
const HALTED: u32 = first_index(HALT);

impl Lane {
    /// A lane without a stream.
    pub(crate) fn new() -> Self {
        let mut tables = [lead(0, HALT); TABLES * TABLE_LEN];
        for number in EXTRA..EXTRA + 6 {
            let start = number as usize * TABLE_LEN;
            tables[start..start + TABLE_LEN].fill(extra_alone(number));
        }
        Lane {
            tables,
            table: HALTED,
            position: Position::at(0),
            lookups: Lookups::NONE,
            length: None,
            left: 0,
            written: 0,
            is_last_block: false,
            is_fixed: false,
        }
    }

    /// Starts a stream, and reads it up to the first lookup.
    pub(crate) fn start(
        &mut self,
        stream: &mut ActiveStream<'_>,
        tail: &mut Span,
    ) -> Result<Progress, Error> {
        self.position = Position::at(0);
        self.written = 0;
        self.is_last_block = false;
        self.length = None;
        self.next_block(stream, tail)
    }

    /// Sets the lane to a state in which lookups have no effect.
    pub(crate) fn park(&mut self) {
        self.table = HALTED;
        self.position = Position::at(0);
    }

    /// Bytes written.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// Whether lookups in this table have no effect.
    #[inline(always)]
    pub(crate) fn is_halted(table: u32) -> bool {
        table == HALTED
    }

    /// The span that the next lookups read.
    pub(crate) fn span<'w>(&self, payload: &'w [u8], tail: &'w mut Span) -> &'w Span {
        span(payload, self.position.base, tail)
    }

    /// Writes the bytes of the last `lookups` lookups, and reads on to the next lookup.
    pub(crate) fn finish(
        &mut self,
        kernel: Kernel,
        lookups: usize,
        tokens: &mut Tokens,
        stream: &mut ActiveStream<'_>,
        tail: &mut Span,
    ) -> Result<Progress, Error> {
        let is_sound = self.position.left(stream.payload);
        let sound = match is_sound {
            Ok(_) => lookups,
            Err(_) => self.lookups_within_payload(),
        };
        tokens.begin(self.length);
        kernel.split(&self.lookups, sound, tokens);
        self.written = copy::copy(tokens, &mut stream.output, self.written)?;
        self.length = tokens.left_over();
        is_sound?;
        if Self::is_halted(self.table) {
            self.next_block(stream, tail)
        } else {
            self.go_on(stream)
        }
    }

    /// The number of lookups that end within the payload.
    #[cold]
    fn lookups_within_payload(&self) -> usize {
        let mut bits = 0;
        let is_within = |entry: &&u32| {
            bits += consumed(**entry) as usize;
            bits <= self.left
        };
        let entries = self.lookups.entries.as_flattened().iter();
        entries.take_while(is_within).count()
    }

    fn go_on(&mut self, stream: &ActiveStream<'_>) -> Result<Progress, Error> {
        self.position.slide();
        self.left = self.position.left(stream.payload)?;
        Ok(Progress::Running)
    }

    /// Reads block headers up to a block that needs lookups, and the stored blocks before it.
    fn next_block(
        &mut self,
        stream: &mut ActiveStream<'_>,
        tail: &mut Span,
    ) -> Result<Progress, Error> {
        while !self.is_last_block {
            self.position.slide();
            let span = span(stream.payload, self.position.base, tail);
            let mut bits = Bits::new(span, self.position.bit);
            let block_type = self.header(&mut bits);
            self.position.bit = bits.position();
            // A truncated payload is the error, whatever its missing bits would have said.
            self.position.left(stream.payload)?;
            if block_type? != BlockType::Stored {
                self.table = first_index(LITLEN);
                return self.go_on(stream);
            }
            self.stored(stream)?;
        }
        Ok(Progress::Ended)
    }

    /// Reads a header and builds the tables of its codes.
    fn header(&mut self, bits: &mut Bits<'_>) -> Result<BlockType, Error> {
        let (is_last, block_type) = header::block(bits)?;
        self.is_last_block = is_last;
        match block_type {
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
        Ok(block_type)
    }

    /// Reads a stored block (RFC 1951, 3.2.4), which begins at the next whole byte.
    fn stored(&mut self, stream: &mut ActiveStream<'_>) -> Result<(), Error> {
        let left = self.position.left(stream.payload)? / 8;
        let rest = &stream.payload[stream.payload.len() - left..];
        let Some((&[a, b, c, d], rest)) = rest.split_first_chunk() else {
            return Err(Error::Truncated);
        };
        let (length, complement) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        if length != !complement {
            return Err(Error::StoredLength { length, complement });
        }
        let Some((bytes, rest)) = rest.split_at_checked(length.into()) else {
            return Err(Error::Truncated);
        };
        self.written = stream.output.write(self.written, bytes)?;
        self.position = Position::at(stream.payload.len() - rest.len());
        Ok(())
    }
}
