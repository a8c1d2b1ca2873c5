//! Runs a plan's programs on the bytes of records.

use tensor_batch::RowSlots;

use super::blocks::next_block;
use super::cursor::{Cursor, Fault};
use super::entries::EntryLists;
use super::fast_skip::SkipRun;
use super::filter::Captured;
use super::item_slice::{ItemSlice, ItemSliceRead};
use super::leaf::bad_branch;
use super::output::{Length, OutputLayout};
use super::program::{Action, Default, Each, List, Operation, Pick, Program, Which};
use super::scratch::Scratch;
use super::state::State;
use super::values::{columns, end_list, no_room, raise, wrong_length};
use super::{Plan, SLOTS};
use crate::limits::{MAX_FILLED_PARTS, MAX_UNCHECKED_BYTES, MAX_UNCHECKED_ITEMS};
use crate::{DecodeError, DecodeErrorKind};

/// The state of a plan that runs on some records.
pub(super) struct Run<'x, 'r, 's> {
    pub(super) plan: &'x Plan,
    pub(super) slots: &'r mut RowSlots<'s>,
    pub(super) state: &'r mut State,
    /// The values that filters compare.
    pub(super) operands: Vec<Captured<'x>>,
    /// Index of the current row in the batch.
    pub(super) batch_row: i64,
}

/// Why a program stopped.
pub(super) enum Stop {
    /// An error at the cursor.
    Fault(Fault),
    /// An error with its position.
    Located(Box<DecodeError>),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Fault(fault)
    }
}

impl<'x, 'r, 's> Run<'x, 'r, 's> {
    #[inline(always)] // Like the functions below: called for each read of a block, perhaps for each record.
    pub(super) fn new(
        plan: &'x Plan,
        scratch: &'r mut Scratch,
        slots: &'r mut RowSlots<'s>,
    ) -> Self {
        let (state, operands) = scratch.begin(plan, slots);
        let batch_row = slots.batch_row() as i64;
        Run {
            plan,
            slots,
            state,
            operands,
            batch_row,
        }
    }

    /// Reads `records` records from `start` on into the next rows; returns the offset after them.
    #[inline(always)]
    pub(super) fn records(
        &mut self,
        data: &'x [u8],
        start: usize,
        records: usize,
    ) -> Result<usize, DecodeError> {
        // A new cursor, so that its fields are in registers and not loaded from the caller's
        // memory.
        let mut cursor = Cursor::new(data, start);
        let asks_ahead = self.plan.asks_ahead;
        if asks_ahead {
            let slow_skips = self.plan.slow_skips;
            let prefetch = &mut self.state.skip_prefetch;
            prefetch.begin(data, start, records, slow_skips);
        } else {
            self.state.skip_prefetch.rest();
        }
        let operations = self.plan.program.len().saturating_mul(records);
        self.state.next_block_prefetch.begin(operations);
        let mut checked = start;
        for record in 0..records {
            let start = cursor.position();
            if start - checked > MAX_UNCHECKED_BYTES {
                checked = start;
                self.check_room()
                    .map_err(|fault| DecodeError::new(*fault, start).in_record(record as u64))?;
            }
            if asks_ahead {
                self.state.skip_prefetch.begin_record(data, start);
            }
            self.record(&mut cursor)
                .map_err(|error| error.in_record(record as u64))?;
            if asks_ahead {
                self.state
                    .skip_prefetch
                    .end_record(cursor.position() - start);
            }
        }
        self.state.next_block_prefetch.end();
        Ok(cursor.position())
    }

    /// Reads the next record into the next row.
    #[inline]
    pub(super) fn record(&mut self, cursor: &mut Cursor<'x>) -> Result<(), Box<DecodeError>> {
        if !self.operands.is_empty() {
            self.forget_operands();
        }
        self.state.filled_parts = 0;
        let program = self.program(&self.plan.program, cursor);
        if let Err(Stop::Located(error)) = program {
            return Err(error);
        }
        self.slots.advance();
        self.batch_row += 1;
        Ok(())
    }

    /// Counts the items of an array. Every so many, an error if columns take more memory than they may:
    /// a record can have any number of arrays.
    #[inline]
    pub(super) fn count_items(&mut self, items: usize) -> Result<(), Fault> {
        let unchecked = &mut self.state.unchecked_items;
        *unchecked += items + 1;
        if *unchecked > MAX_UNCHECKED_ITEMS {
            return self.check_room();
        }
        Ok(())
    }

    /// Finds how much room is left after a value of `bytes` bytes, if it was a long one: a record can
    /// have many.
    #[inline]
    pub(super) fn count_bytes(&mut self, bytes: usize) {
        if bytes > MAX_UNCHECKED_BYTES {
            self.update_room();
        }
    }

    #[cold]
    fn check_room(&mut self) -> Result<(), Fault> {
        self.state.unchecked_items = 0;
        match self.update_room() {
            true => Ok(()),
            false => Err(no_room(0)),
        }
    }

    #[cold]
    fn update_room(&mut self) -> bool {
        let entries = self.state.entries.iter();
        self.slots
            .update_room(entries.map(EntryLists::index_bytes).sum())
    }

    #[inline(never)] // Few plans have operands.
    fn forget_operands(&mut self) {
        self.operands.fill(Captured::Missing);
    }

    /// Runs a program. Its errors are always [`Stop::Located`].
    #[inline]
    fn program(&mut self, program: &'x Program, cursor: &mut Cursor<'x>) -> Result<(), Stop> {
        for operation in program {
            self.state.next_block_prefetch.ask();
            let mut start = cursor.position();
            if let Some(optional) = &operation.optional {
                match optional.nullable.is_value(cursor) {
                    Ok(true) => start = cursor.position(),
                    Ok(false) => {
                        self.branch(&optional.null, start, cursor)?;
                        continue;
                    }
                    Err(fault) => return Err(self.locate(fault.into(), start, cursor, operation)),
                }
            }
            if let Err(stop) = self.run(&operation.action, cursor) {
                return Err(self.locate(stop, start, cursor, operation));
            }
        }
        Ok(())
    }

    #[inline]
    fn run(&mut self, action: &'x Action, cursor: &mut Cursor<'x>) -> Result<(), Stop> {
        match action {
            Action::Skip { all, fast, .. } => {
                let state = &mut *self.state;
                let table = &self.plan.skips;
                let run = SkipRun {
                    skips: fast,
                    table,
                    predicted: &mut state.predicted,
                    prefetch: &mut state.skip_prefetch,
                    cursor,
                };
                if fast.is_empty() || !run.try_skip() {
                    table.run(all, cursor)?;
                }
            }
            Action::Value(read) => self.read(read, None, cursor)?,
            Action::Array(items, read) => self.read(read, Some(items), cursor)?,
            Action::Row(row) => {
                if !self.row(row, cursor) {
                    self.read(&row.read, row.items.as_ref(), cursor)?;
                }
            }
            Action::SparseRecord(sparse) => self.sparse_record(sparse, cursor)?,
            Action::ExpectValue(nullable) => nullable.expect_value(cursor)?,
            Action::Union(branches) => return self.union(branches, cursor),
            Action::Each(each) => return self.each(each, cursor),
            Action::Pick(pick) => return self.pick(pick, cursor),
            Action::Missing(missing) => self.missing(missing)?,
            Action::Present(output) => self.mark_row(*output, true),
            Action::Capture(operand) => operand.capture(cursor, &mut self.operands)?,
            Action::Index(index) => self.index(index, cursor)?,
            Action::EndEntry(entry) => self.end_entry(entry)?,
            Action::EndRow(output) => self.end_row(*output)?,
            Action::Fail(kind) => return Err(Stop::Fault(Box::new(kind.clone()))),
            Action::Peek(program) => {
                let mut peek = *cursor;
                return self.program(program, &mut peek);
            }
            Action::Default(default) => return self.default(default, cursor),
        }
        Ok(())
    }

    fn union(&mut self, branches: &'x [Program], cursor: &mut Cursor<'x>) -> Result<(), Stop> {
        let start = *cursor;
        let branch = cursor.long()?;
        let Some(program) = usize::try_from(branch).ok().and_then(|b| branches.get(b)) else {
            *cursor = start;
            return Err(bad_branch(branch, branches.len()).into());
        };
        self.branch(program, start.position(), cursor)
    }

    /// Runs the program of a branch whose number is at `start`.
    fn branch(
        &mut self,
        program: &'x Program,
        start: usize,
        cursor: &mut Cursor<'x>,
    ) -> Result<(), Stop> {
        let result = self.program(program, cursor);
        if let Err(Stop::Located(mut error)) = result {
            // A missing value is reported at the number of the branch.
            if is_missing(&error.kind) && error.offset == cursor.position() {
                error.offset = start;
            }
            return Err(Stop::Located(error));
        }
        result
    }

    fn each(&mut self, each: &'x Each, cursor: &mut Cursor<'x>) -> Result<(), Stop> {
        let start = *cursor;
        if let (Some(slice), None) = (&each.slice, &each.filter) {
            return self.each_of_slice(each, slice, cursor);
        }
        let (mut count, mut is_cut) = (0, false);
        while let Some(block) = next_block(cursor, each.min_item)? {
            let body = cursor.position();
            if each.filter.is_none() {
                // A list that is too long is an error before the first surplus item is read.
                self.check_most(each, count + block.count, start, cursor)?;
            }
            for _ in 0..block.count {
                if each.is_map {
                    skip_key(cursor)?;
                }
                if let Some(filter) = &each.filter {
                    let item = *cursor;
                    filter.reset(&mut self.operands);
                    self.program(&filter.head, cursor)?;
                    if !filter.holds(&self.operands, &item) {
                        self.program(&filter.rest, cursor)?;
                        continue;
                    }
                    if each.slice.as_ref().is_some_and(|slice| count >= slice.most) {
                        is_cut = true;
                        self.program(&filter.rest, cursor)?;
                        continue;
                    }
                    *cursor = item;
                    self.check_most(each, count + 1, start, cursor)?;
                }
                self.state.registers[each.register] = count as i64;
                self.count_items(0)?;
                self.program(&each.item, cursor)?;
                count += 1;
            }
            block.check_size(body, cursor)?;
        }
        self.end_lists(each, ItemSliceRead { count, is_cut }, start, cursor)
    }

    /// Reads the items of a slice of an array, or of a slice of a map's entries.
    fn each_of_slice(
        &mut self,
        each: &'x Each,
        slice: &'x ItemSlice,
        cursor: &mut Cursor<'x>,
    ) -> Result<(), Stop> {
        let start = *cursor;
        let skips = &self.plan.skips;
        let read = slice.read_items(cursor, each.min_item, skips, |cursor, first, n| {
            self.check_most(each, first + n, start, cursor)?;
            for number in first..first + n {
                if each.is_map {
                    skip_key(cursor)?;
                }
                self.state.registers[each.register] = number as i64;
                self.count_items(0)?;
                self.program(&each.item, cursor)?;
            }
            Ok::<_, Stop>(())
        })?;
        self.end_lists(each, read, start, cursor)
    }

    /// Ends the lists of features that have a dimension for the array that begins at `start`.
    fn end_lists(
        &mut self,
        each: &Each,
        read: ItemSliceRead,
        start: Cursor<'x>,
        cursor: &mut Cursor<'x>,
    ) -> Result<(), Stop> {
        if read.is_cut {
            self.state.truncated += each.lists.len() as u64;
        }
        let count = read.count;
        for list in &each.lists {
            if let Err(fault) = self.end_of(list, count) {
                *cursor = start;
                return Err(fault.into());
            }
        }
        Ok(())
    }

    #[inline]
    fn check_most(
        &self,
        each: &Each,
        count: usize,
        start: Cursor<'x>,
        cursor: &mut Cursor<'x>,
    ) -> Result<(), Fault> {
        for list in &each.lists {
            let most = list.length.most();
            if count > most {
                *cursor = start;
                return Err(wrong_length(most, count));
            }
        }
        Ok(())
    }

    /// Ends a list of a feature.
    fn end_of(&mut self, list: &List, count: usize) -> Result<(), Fault> {
        let output = &self.plan.outputs[list.output];
        match list.length {
            Length::Exactly(length) if length != count => {
                return Err(wrong_length(length, count));
            }
            Length::AtMost(length) if length != count => {
                if let OutputLayout::Dense { strides } = &output.layout {
                    let gap = (length - count) * list.stride;
                    self.fill_dense(list.output, output, strides, gap);
                }
            }
            _ => {}
        }
        let (values, mask) = columns(self.slots.columns(), output);
        match &output.layout {
            OutputLayout::Coo { by_values: false } | OutputLayout::Entries(_) => {
                let segment = values.segment().expect(SLOTS);
                raise(&mut segment.extents[list.depth], count);
            }
            OutputLayout::Ragged => {
                end_list(values.segment().expect(SLOTS), list.depth, count);
                if let Some(mask) = mask {
                    end_list(mask.segment().expect(SLOTS), list.depth, count);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn pick(&mut self, pick: &'x Pick, cursor: &mut Cursor<'x>) -> Result<(), Stop> {
        let mut seen = 0;
        let mut found = false;
        while let Some(block) = next_block(cursor, pick.min_item)? {
            let body = cursor.position();
            let first = seen;
            seen += block.count as u64;
            let here = match &pick.which {
                Which::Index(index) => (first..seen).contains(index),
                Which::Key(_) => !found,
            };
            if let (false, Some(bytes)) = (here, block.bytes) {
                cursor.bytes(bytes)?;
                continue;
            }
            for number in first..seen {
                let is_it = match &pick.which {
                    Which::Index(index) => number == *index,
                    Which::Key(key) => {
                        let length = cursor.length()?;
                        cursor.bytes(length)? == key.as_bytes() && !found
                    }
                };
                if is_it {
                    found = true;
                    self.program(&pick.item, cursor)?;
                } else {
                    self.plan.skips.run(&pick.other, cursor)?;
                }
            }
            block.check_size(body, cursor)?;
        }
        if found {
            return Ok(());
        }
        self.program(&pick.absent, cursor)
    }

    /// Reads a default as if it were data.
    fn default(&mut self, default: &'x Default, cursor: &Cursor<'x>) -> Result<(), Stop> {
        // A few bytes of data may have large defaults, so these are counted.
        self.state.filled_parts += default.parts;
        if self.state.filled_parts > MAX_FILLED_PARTS {
            return Err(defaults_too_large().into());
        }
        let mut inside = Cursor::new(&default.encoded, 0);
        let result = self.program(&default.value, &mut inside);
        if let Err(Stop::Located(mut error)) = result {
            // A position in the default means nothing in the data.
            error.offset = cursor.position();
            return Err(Stop::Located(error));
        }
        result
    }

    /// The error of an operation that began at `start` and stopped at `end`.
    #[cold]
    fn locate(&self, stop: Stop, start: usize, end: &Cursor<'x>, operation: &Operation) -> Stop {
        let fault = match stop {
            Stop::Located(_) => return stop,
            Stop::Fault(fault) => fault,
        };
        if let Action::Skip { each, .. } = &operation.action {
            let mut cursor = end.at(start);
            for (field, skip) in each {
                if let Err(fault) = self.plan.skips.run(skip, &mut cursor) {
                    let error = DecodeError::new(*fault, cursor.position()).in_field(field);
                    return Stop::Located(Box::new(error));
                }
            }
        }
        let error = DecodeError::new(*fault, end.position()).in_field(&operation.field);
        Stop::Located(Box::new(error))
    }
}

#[cold]
fn defaults_too_large() -> Fault {
    Box::new(DecodeErrorKind::DefaultsTooLarge)
}

/// Moves past the key of an entry of a map.
fn skip_key(cursor: &mut Cursor<'_>) -> Result<(), Fault> {
    let length = cursor.length()?;
    cursor.bytes(length).map(drop)
}

/// Whether an error reports a missing value.
fn is_missing(kind: &DecodeErrorKind) -> bool {
    matches!(
        kind,
        DecodeErrorKind::Null | DecodeErrorKind::NullIndex | DecodeErrorKind::OtherBranch { .. }
    )
}
