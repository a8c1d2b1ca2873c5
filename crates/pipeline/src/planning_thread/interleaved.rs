//! Files that take turns. To slices, layers and positions, an epoch of them is one file, whose blocks are what a
//! block gives to a turn.

use std::io;
use std::sync::Arc;

use atds_format::Location;

use super::PlanningThread;
use super::blocks::File;
use super::framing::Framing;
use crate::block::Block;
use crate::error::Stop;
use crate::interleave::Turns;
use crate::replay::{Replay, Wanted};
use crate::slice::FilePart;
use crate::{Error, ErrorKind};

/// A file that has turns.
struct Seated {
    number: usize,
    /// Number of records of each of its blocks, where not all of the epoch is read: it is opened once something
    /// is read of it.
    counts: Option<Arc<[u64]>>,
    /// Number of its blocks that were framed, and of those that had all their turns.
    framed: usize,
    done: usize,
    /// Number of blocks whose damage was noted before the iteration went on.
    noted: usize,
    /// Number of its records when they were counted, if they were.
    counted: Option<u64>,
    block: Option<Current>,
}

/// The block whose records come next in the turns of a file.
struct Current {
    records: u64,
    /// Number of records that had their turn.
    given: u64,
    /// The block, which this keeps in the window, once something is read of it.
    held: Option<Arc<Block>>,
}

impl PlanningThread {
    /// Whether files take turns.
    pub(super) fn are_in_turns(&self) -> bool {
        self.flow.options.turns().is_some()
    }

    /// Reads the files of an epoch in turns, as far as they are in `part`. `counted` has the number of records of
    /// each file, if they were counted.
    pub(super) fn read_in_turns(
        &mut self,
        mut turns: Turns,
        order: &[usize],
        part: &FilePart,
        counted: &[u64],
    ) -> Result<(), Stop> {
        let mut framing = Framing::new(0, part);
        let mut files: Vec<Option<Seated>> = order.iter().map(|_| None).collect();
        while framing.goes_on()
            && let Some(turn) = turns.next()
        {
            let number = order[turn.file];
            let file = &mut files[turn.file];
            let counted = counted.get(number).copied();
            let given = self.take_turn((number, counted), file, &mut framing, turn.records);
            match given.map_err(|stop| stop.in_file(&self.files.location(number)))? {
                0 => {
                    files[turn.file] = None;
                    turns.end_file();
                }
                records => turns.give(records),
            }
        }
        // Where a part ends, files may be in the middle of blocks, which would stay in the window.
        let blocks = files.into_iter().flatten().filter_map(|file| file.block);
        for held in blocks.filter_map(|block| block.held) {
            self.planner.let_go(&held);
        }
        Ok(())
    }

    /// Has at most `most` records of a file have their turn. Their number; 0 at the end of the file.
    fn take_turn(
        &mut self,
        of: (usize, Option<u64>),
        seated: &mut Option<Seated>,
        framing: &mut Framing<'_>,
        most: u64,
    ) -> Result<u64, Stop> {
        let file = match seated {
            Some(file) => file,
            none => none.insert(self.seat(of, framing.part)?),
        };
        let Some(block) = self.block_of_turn(file, framing)? else {
            return Ok(0);
        };
        let records = (block.records - block.given).min(most);
        self.read_turn(file, block, framing, records)?;
        Ok(records)
    }

    /// A file that gets its first turn. An error if it has other records than were counted: those of other files
    /// would have other places.
    fn seat(
        &mut self,
        (number, counted): (usize, Option<u64>),
        part: &FilePart,
    ) -> Result<Seated, Stop> {
        let counts = match part.is_whole() && self.resumed.given == 0 {
            true => None,
            false => Some(self.block_records(number)?),
        };
        if let Some(counts) = &counts
            && let Err(changed) = check_counted(counted, sum(counts))
        {
            match self.list(number, |_| ()) {
                Ok(()) => return Err(changed),
                Err(Stop::Cancelled) => return Err(Stop::Cancelled),
                // The counts end before damage, which is found where it is read.
                Err(Stop::Failed(_)) => {}
            }
        }
        Ok(Seated {
            number,
            counted,
            counts,
            framed: 0,
            done: 0,
            noted: 0,
            block: None,
        })
    }

    /// Takes the block at hand, of which records had no turn, or else the next one with records. `None` at the
    /// end of the file.
    fn block_of_turn(
        &mut self,
        file: &mut Seated,
        framing: &Framing<'_>,
    ) -> Result<Option<Current>, Stop> {
        loop {
            if let Some(block) = file.block.take() {
                return Ok(Some(block));
            }
            let Some(counts) = &file.counts else {
                if !self.next_read(file)? {
                    return Ok(None);
                }
                continue;
            };
            let is_before = framing.blocks < self.resumed.blocks_passed(0);
            match counts.get(file.done) {
                None => {
                    self.counted.remove(&file.number);
                    // Damage is found where it is read: the counts end before it.
                    let from = framing.part.records.first().map_or(0, |first| first.start);
                    if !is_before && framing.records >= from {
                        self.frame_to(file, None)?;
                    }
                    return Ok(None);
                }
                Some(&0) => file.done += 1,
                Some(&records) => {
                    file.block = Some(Current {
                        records,
                        given: 0,
                        held: None,
                    });
                }
            }
            if is_before {
                file.noted = file.done + usize::from(file.block.is_some());
            }
        }
    }

    /// Goes on to the next block of a file that is read whole. False at the end of the file.
    fn next_read(&mut self, file: &mut Seated) -> Result<bool, Stop> {
        let split = self.flow.options.split.clone();
        let leaves_out = !self.flow.options.skip_damage
            && (split.as_ref()).is_some_and(|split| split.leaves_blocks_out());
        let mut opened = self.opened(file.number, !leaves_out)?;
        let framed = self.next_block(&mut opened);
        self.planner.note_skipped(&mut opened.skipped);
        let Some(framed) = framed? else {
            self.note_trailing(file.number, opened.blocks.trailing_bytes());
            check_counted(file.counted, opened.members)?;
            return Ok(false);
        };
        file.done += 1;
        let records = framed.members.count();
        let is_own = |split: &crate::Split| split.has_empty_block(file.number, framed.first_record);
        if records > 0 || framed.desc.records == 0 && split.is_none_or(|split| is_own(&split)) {
            self.add(&mut opened, framed, Wanted::all(records))?;
            self.finish_awaited(&mut opened)?;
        }
        if records > 0 {
            let held = opened.last_shared.take();
            file.block = Some(Current {
                records,
                given: 0,
                held: Some(held.ok_or_else(|| not_held(&opened.location))?),
            });
        }
        self.ahead.opened.push_back(opened);
        Ok(true)
    }

    /// Has `records` records of a file's block have their turn: those that are read are planned. The block is the
    /// file's again if others of its records are left.
    fn read_turn(
        &mut self,
        file: &mut Seated,
        mut block: Current,
        framing: &mut Framing<'_>,
        records: u64,
    ) -> Result<(), Stop> {
        let found = framing.add(records);
        let wanted = self.resumed.unread(found.at, records, found.records)?;
        if let Some(mut wanted) = wanted.filter(|wanted| !wanted.records.is_empty()) {
            let held = match block.held.take() {
                Some(held) => held,
                None => self.hold_block(file)?,
            };
            wanted.records.move_by(block.given);
            self.planner.push(held.clone(), wanted);
            block.held = Some(held);
        }
        block.given += records;
        if block.given < block.records {
            file.block = Some(block);
        } else {
            if let Some(held) = block.held {
                self.planner.let_go(&held);
            }
            // Of files that are read whole, it was counted as it was framed.
            file.done += usize::from(file.counts.is_some());
        }
        while self.planner.is_full() {
            self.plan_batch()?;
        }
        match self.flow.is_stopped() {
            true => Err(Stop::Cancelled),
            false => Ok(()),
        }
    }

    /// Frames a file that was counted up to the block whose turn it is, which this reads and keeps in the window.
    fn hold_block(&mut self, file: &mut Seated) -> Result<Arc<Block>, Stop> {
        let number = file.done;
        let held = self.frame_to(file, Some(number))?;
        held.ok_or_else(|| not_held(&self.files.location(file.number)))
    }

    /// Frames a file that was counted up to block `number`, and reads this; or up to its end. An error if the
    /// counts do not hold.
    fn frame_to(
        &mut self,
        file: &mut Seated,
        number: Option<usize>,
    ) -> Result<Option<Arc<Block>>, Stop> {
        let counts = file.counts.clone().unwrap_or_default();
        let mut opened = self.opened(file.number, false)?;
        loop {
            let framed = self.next_block(&mut opened);
            if file.framed < file.noted {
                opened.skipped.clear();
            }
            self.planner.note_skipped(&mut opened.skipped);
            let framed = framed?;
            let at = file.framed;
            file.framed += 1;
            let found = framed.as_ref().map(|framed| framed.members.count());
            if found != counts.get(at).copied() {
                let found = sum(&counts[..at.min(counts.len())]).saturating_add(found.unwrap_or(0));
                let counted = sum(&counts);
                return Err(Error::new(ErrorKind::RecordsChanged { counted, found }).into());
            }
            let Some(framed) = framed else {
                self.note_trailing(file.number, opened.blocks.trailing_bytes());
                return Ok(None);
            };
            if Some(at) == number {
                let records = framed.members.count();
                self.add(&mut opened, framed, Wanted::all(records))?;
                self.finish_awaited(&mut opened)?;
                let held = opened.last_shared.take();
                self.ahead.opened.push_back(opened);
                return Ok(held);
            }
        }
    }

    /// The file, open. Files whose turn it is not wait among those that are read ahead.
    fn opened(&mut self, number: usize, payloads: bool) -> Result<File, Stop> {
        let mut waiting = self.ahead.opened.iter();
        if let Some(at) = waiting.position(|file| file.number == number)
            && let Some(file) = self.ahead.opened.remove(at)
        {
            return Ok(file);
        }
        self.open(number, payloads)
    }

    /// Draws batches of an epoch again, whose files take turns.
    pub(super) fn replay_turns(
        &mut self,
        mut turns: Turns,
        order: &[usize],
        part: &FilePart,
        replay: &mut Replay,
        note: &mut dyn FnMut(u64),
    ) -> Result<(), Stop> {
        let mut framing = Framing::new(0, part);
        let mut files = vec![(None::<Arc<[u64]>>, 0, 0); order.len()];
        while !replay.is_done()
            && framing.has_more()
            && let Some(turn) = turns.next()
        {
            let (counts, block, given) = &mut files[turn.file];
            let counts = match counts {
                Some(counts) => counts,
                none => none.insert(self.block_records(order[turn.file])?),
            };
            while counts.get(*block) == Some(given) {
                (*block, *given) = (*block + 1, 0);
            }
            let Some(of) = counts.get(*block) else {
                files[turn.file].0 = None;
                turns.end_file();
                continue;
            };
            let records = turn.records.min(of - *given);
            *given += records;
            let found = framing.add(records);
            replay.push(found.at, found.start, records, found.records);
            turns.give(records);
            note(replay.drawn());
            if self.flow.is_stopped() {
                return Err(Stop::Cancelled);
            }
        }
        Ok(())
    }
}

/// An error if a file has another number of records than were counted.
fn check_counted(counted: Option<u64>, found: u64) -> Result<(), Stop> {
    match counted {
        Some(counted) if counted != found => {
            Err(Error::new(ErrorKind::RecordsChanged { counted, found }).into())
        }
        _ => Ok(()),
    }
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().copied().fold(0, u64::saturating_add)
}

/// A block with records to take turns is not kept in the window, which only a mistake of the pipeline explains:
/// its records would be passed over.
#[cold]
fn not_held(location: &Location) -> Stop {
    let text = "a block whose records take turns was not kept: please report this";
    Error::io(io::Error::other(text), location).into()
}
