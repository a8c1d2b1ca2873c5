//! One stream being inflated.

use crate::Error;
use crate::bits::{Bits, Position, Window, window};
use crate::copy;
use crate::entry::{
    EXTRA, HALT, LITLEN, TABLE_LEN, TABLES, consumed, extra_alone, first_index, lead,
};
use crate::header::{self, BlockType};
use crate::kernel::{Kernel, Steps};
use crate::room::Task;
use crate::tokens::Tokens;

/// The state of one stream. It is large, and made once.
#[derive(Clone)]
pub(crate) struct Lane {
    /// All tables, one behind another.
    pub(crate) tables: [u32; TABLES * TABLE_LEN],
    /// Where the table of the next lookup begins.
    pub(crate) table: u32,
    /// Where the next lookup reads.
    pub(crate) position: Position,
    /// The lookups made since the last ones were written.
    pub(crate) steps: Steps,
    /// A length whose distance is still to be looked up.
    length: Option<u32>,
    /// Bits of the payload left before them.
    left: usize,
    /// Bytes written.
    written: usize,
    is_last_block: bool,
    /// Whether the tables are those of the fixed codes.
    is_fixed: bool,
}

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The stream wants lookups.
    Running,
    /// It has ended.
    Ended,
}

/// Where the table begins that a lane halts in.
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
            steps: Steps::NONE,
            length: None,
            left: 0,
            written: 0,
            is_last_block: false,
            is_fixed: false,
        }
    }

    /// Turns to a stream, up to where it wants lookups.
    pub(crate) fn start(
        &mut self,
        task: &mut Task<'_>,
        tail: &mut Window,
    ) -> Result<Progress, Error> {
        self.position = Position::at(0);
        self.written = 0;
        self.is_last_block = false;
        self.length = None;
        self.next_block(task, tail)
    }

    /// Makes lookups do nothing.
    pub(crate) fn park(&mut self) {
        self.table = HALTED;
        self.position = Position::at(0);
    }

    /// Bytes written.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// Whether further lookups in this table do nothing.
    #[inline(always)]
    pub(crate) fn is_halted(table: u32) -> bool {
        table == HALTED
    }

    /// What the next lookups read.
    pub(crate) fn window<'w>(&self, payload: &'w [u8], tail: &'w mut Window) -> &'w Window {
        window(payload, self.position.base, tail)
    }

    /// Writes what the last `steps` lookups amount to, and goes on to where the stream wants more.
    pub(crate) fn finish(
        &mut self,
        kernel: Kernel,
        steps: usize,
        tokens: &mut Tokens,
        task: &mut Task<'_>,
        tail: &mut Window,
    ) -> Result<Progress, Error> {
        let is_sound = self.position.left(task.payload);
        let sound = match is_sound {
            Ok(_) => steps,
            Err(_) => self.steps_within_payload(),
        };
        tokens.begin(self.length);
        kernel.split(&self.steps, sound, tokens);
        self.written = copy::copy(tokens, &mut task.room, self.written)?;
        self.length = tokens.left_over();
        is_sound?;
        match Self::is_halted(self.table) {
            true => self.next_block(task, tail),
            false => self.go_on(task),
        }
    }

    /// How many of the lookups were made before the payload's end.
    #[cold]
    fn steps_within_payload(&self) -> usize {
        let mut bits = 0;
        let is_within = |entry: &&u32| {
            bits += consumed(**entry) as usize;
            bits <= self.left
        };
        let entries = self.steps.entries.as_flattened().iter();
        entries.take_while(is_within).count()
    }

    fn go_on(&mut self, task: &Task<'_>) -> Result<Progress, Error> {
        self.position.slide();
        self.left = self.position.left(task.payload)?;
        Ok(Progress::Running)
    }

    /// Reads block headers up to one whose block wants lookups, and the blocks that want none.
    fn next_block(&mut self, task: &mut Task<'_>, tail: &mut Window) -> Result<Progress, Error> {
        while !self.is_last_block {
            self.position.slide();
            let window = window(task.payload, self.position.base, tail);
            let mut bits = Bits::new(window, self.position.bit);
            let block_type = self.header(&mut bits);
            self.position.bit = bits.position();
            // What was read behind the end is worth no mention.
            self.position.left(task.payload)?;
            if block_type? != BlockType::Stored {
                self.table = first_index(LITLEN);
                return self.go_on(task);
            }
            self.stored(task)?;
        }
        Ok(Progress::Ended)
    }

    /// Reads a header and makes the tables of its codes.
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

    /// A block that is stored as it is (RFC 1951, 3.2.4), from the next whole byte on.
    fn stored(&mut self, task: &mut Task<'_>) -> Result<(), Error> {
        let left = self.position.left(task.payload)? / 8;
        let rest = &task.payload[task.payload.len() - left..];
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
        self.written = task.room.write(self.written, bytes)?;
        self.position = Position::at(task.payload.len() - rest.len());
        Ok(())
    }
}
