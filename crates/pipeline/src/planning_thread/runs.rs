//! Runs of blocks of all files, in a random order: how files are cut into runs, and how these are read.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::slice;
use std::sync::Arc;

use atds_format::{Access, Payload};

use super::blocks::{File, Framed};
use super::reads::{Asked, Turn};
use super::{Framing, PlanningThread};
use crate::damage::Skipped;
use crate::error::Stop;
use crate::flow::Denied;
use crate::memory::Lease;
use crate::need::exceeded;
use crate::slice::FilePart;
use crate::split::Split;
use crate::tuning::OPEN_FILES;
use crate::watch::LIST;
use crate::{Error, ErrorKind};

/// Consecutive blocks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) file: usize,
    /// The number of the first block in the file, and that among the blocks that can be framed.
    index: u64,
    pub(super) ordinal: usize,
    /// The byte offsets at which the first block begins, and the last ends.
    offset: u64,
    end: u64,
    pub(super) blocks: usize,
    /// The number of the first record in the file.
    first_record: u64,
    /// Number of records in the split.
    records: u64,
    /// Whether a block without records is in the split: it is checked.
    has_empty: bool,
    bytes: u64,
    /// Number of bytes after the last block of the file that are left out; 0 for other runs.
    trailing_bytes: u64,
}

/// Bytes that a run takes in lists, in the order of an epoch and in what allocators add.
const LISTED_BYTES: u64 = (2 * size_of::<Run>() + 2 * size_of::<FilePart>() + 128) as u64;

/// The runs of all files that are read, file after file.
#[derive(Debug)]
pub(crate) struct RunList {
    pub(super) runs: Vec<Run>,
    /// Number of records of each run.
    pub(super) records: Arc<[u64]>,
    /// Number of records of each file; 0 of those that are not read.
    file_records: Vec<u64>,
    /// The version of each file that was listed, if that is known.
    versions: Vec<Option<u64>>,
    /// What framing has left out, each with the number of the run that notes it, in the order of these.
    skipped: Vec<(usize, Skipped)>,
    /// The memory that it takes.
    lease: Lease,
}

impl RunList {
    /// Whether anything of a run is read, or checked, or noted.
    pub(super) fn is_read(&self, number: usize) -> bool {
        let run = &self.runs[number];
        run.records > 0 || run.has_empty || run.trailing_bytes > 0
    }

    /// What framing has left out that a run notes.
    fn skipped_before(&self, number: usize) -> Vec<Skipped> {
        let first = self.skipped.partition_point(|(run, _)| *run < number);
        let of_run = self.skipped[first..].iter();
        let of_run = of_run.take_while(|(run, _)| *run == number);
        of_run.map(|(_, skipped)| skipped.clone()).collect()
    }
}

/// The runs of a file.
#[derive(Clone, Debug)]
pub(super) struct FileRuns {
    runs: Arc<[Run]>,
    /// What framing has left out, each with the number of the run that comes after it.
    skipped: Arc<[(usize, Skipped)]>,
}

/// The runs that are read next, and what is read of them ahead.
#[derive(Default)]
pub(crate) struct RunsAhead {
    /// Files whose headers were read, the one that was used last at the back. Nothing is read by them.
    heads: VecDeque<File>,
    /// Whether a head is read now.
    is_opening: bool,
    /// The numbers of the runs that were not opened.
    coming: VecDeque<usize>,
    /// Those that were opened; without runs, the files whose turn it is not.
    pub(super) opened: VecDeque<File>,
    /// Bytes of reads and of what is not framed of the file whose turn it is, while others are read ahead.
    current: u64,
}

impl RunsAhead {
    /// Bytes of the reads that were not taken, and of what is not framed, of all files but the one at hand.
    pub(super) fn under_way(&self) -> u64 {
        let bytes = |file: &File| file.under_way() + file.unframed + file.copied.bytes();
        let opened = self.opened.iter().map(bytes);
        self.current + opened.fold(0, u64::saturating_add)
    }

    /// Number of reads of runs that were opened.
    fn reads(&self) -> usize {
        self.opened.iter().map(|file| file.reads.len()).sum()
    }

    fn clear(&mut self) {
        self.opened.clear();
        self.coming.clear();
    }
}

/// Cuts the blocks of a file into runs. A run ends with the first block that makes it `least` bytes long,
/// or before damage, and never between blocks that share a payload.
struct Cutter {
    least: u64,
    split: Option<Arc<Split>>,
    runs: Vec<Run>,
    skipped: Vec<(usize, Skipped)>,
    /// Whether the next block begins a run.
    begins: bool,
    blocks: usize,
    key: Option<u64>,
}

impl Cutter {
    /// Notes what framing has left out before the next block.
    fn skip(&mut self, skipped: Vec<Skipped>) {
        self.begins |= !skipped.is_empty();
        let number = self.runs.len();
        self.skipped
            .extend(skipped.into_iter().map(|skipped| (number, skipped)));
    }

    fn push(
        &mut self,
        file: usize,
        Framed {
            desc,
            first_record,
            members,
            ..
        }: &Framed,
    ) {
        let key = match desc.payload {
            Payload::Ranges { key, .. } => key,
            _ => None,
        };
        let is_shared = key.is_some() && key == self.key;
        self.key = key;
        let begins = mem::take(&mut self.begins);
        let last = self.runs.last_mut();
        let run = match last.filter(|last| !begins && (last.bytes < self.least || is_shared)) {
            Some(run) => run,
            None => {
                self.runs.push(Run {
                    file,
                    index: desc.index,
                    ordinal: self.blocks,
                    offset: desc.offset,
                    end: desc.offset,
                    blocks: 0,
                    first_record: *first_record,
                    records: 0,
                    has_empty: false,
                    bytes: 0,
                    trailing_bytes: 0,
                });
                let last = self.runs.len() - 1;
                &mut self.runs[last]
            }
        };
        self.blocks += 1;
        run.blocks += 1;
        run.end = desc.offset.saturating_add(desc.file_bytes);
        run.records = run.records.saturating_add(members.count());
        run.has_empty |= desc.records == 0
            && (self.split.as_ref()).is_none_or(|split| split.has_empty_block(file, *first_record));
        run.bytes = run.bytes.saturating_add(desc.file_bytes);
    }

    /// What is left at the end of the file belongs to the run before, if it is too short for one.
    fn finish(mut self, trailing_bytes: u64) -> FileRuns {
        let number = self.runs.len().saturating_sub(1);
        let after_damage = self.skipped.iter().any(|(run, _)| *run == number);
        if let [.., before, last] = &mut *self.runs
            && last.bytes < self.least
            && !after_damage
        {
            before.end = last.end;
            before.blocks += last.blocks;
            before.records = before.records.saturating_add(last.records);
            before.has_empty |= last.has_empty;
            before.bytes = before.bytes.saturating_add(last.bytes);
            self.runs.pop();
        }
        if let Some(last) = self.runs.last_mut() {
            last.trailing_bytes = trailing_bytes;
        }
        FileRuns {
            runs: self.runs.into(),
            skipped: self.skipped.into(),
        }
    }
}

impl PlanningThread {
    /// Has the files be listed again where one has changed: an epoch reads them as they are when it begins.
    pub(super) fn forget_changed_runs(&mut self) {
        let has_changed = |list: &RunList| {
            let mut versions = (0..).zip(&list.versions);
            versions.any(|(file, then)| then.is_some() && self.files.version(file) != *then)
        };
        if let Some(list) = self.runs.take_if(|list| has_changed(list)) {
            self.ahead.heads.clear();
            self.planner.free(list.lease.bytes());
        }
    }

    /// The runs of all files, listed once in an iteration unless they change.
    pub(super) fn list_runs(&mut self) -> Result<Arc<RunList>, Stop> {
        if let Some(list) = &self.runs {
            return Ok(list.clone());
        }
        let mut runs = Vec::new();
        let (mut file_records, mut versions, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = Lease::none(&self.flow.memory);
        for number in 0..self.files.len() {
            if !self.flow.options.has_file(number) {
                file_records.push(0);
                versions.push(None);
                continue;
            }
            versions.push(self.files.version(number));
            let found = self.file_runs(number);
            let found = found.map_err(|stop| stop.in_file(&self.files.location(number)))?;
            all.merge(self.lease_runs(LISTED_BYTES.saturating_mul(found.runs.len() as u64))?);
            let records = found.runs.iter().map(|run| run.records);
            file_records.push(records.fold(0, u64::saturating_add));
            let of_file = found.skipped.iter().cloned();
            skipped.extend(of_file.map(|(run, skipped)| (runs.len() + run, skipped)));
            runs.extend_from_slice(&found.runs);
        }
        let has_records = |run: &Run| run.records > 0;
        for (number, _) in &mut skipped {
            // A run that some reader reads.
            let next = runs.iter().skip(*number).position(has_records);
            let before = || runs.iter().rposition(has_records);
            *number = next.map_or_else(|| before().unwrap_or(0), |next| *number + next);
        }
        let list = Arc::new(RunList {
            records: runs.iter().map(|run| run.records).collect(),
            runs,
            file_records,
            versions,
            skipped,
            lease: all,
        });
        self.runs = Some(list.clone());
        Ok(list)
    }

    /// An error if a file has another number of records than when they were counted for a slice.
    pub(super) fn check_counts(&self, list: &RunList, counted: &[u64]) -> Result<(), Error> {
        let both = counted.iter().zip(&list.file_records).enumerate();
        for (number, (&counted, &found)) in both {
            if counted != found {
                let changed = Error::new(ErrorKind::RecordsChanged { counted, found });
                return Err(changed.in_file(&self.files.location(number)));
            }
        }
        Ok(())
    }

    /// The runs of a file: those that an iteration before has listed, if the file has not changed.
    fn file_runs(&mut self, number: usize) -> Result<FileRuns, Stop> {
        let version = self.files.version(number);
        if let Some(version) = version
            && let Some(runs) = self.known_blocks().runs(number, version)
        {
            return Ok(runs);
        }
        let flow = self.flow.clone();
        let mut file = self.open(number, false)?;
        let _listing = flow.watch.begin(LIST.in_file(&file.location));
        if file.size.is_none() {
            let text = "the blocks of an input whose size is not known cannot be shuffled";
            return Err(Error::io(io::Error::other(text), &file.location).into());
        }
        let mut cutter = Cutter {
            least: self.flow.options.run_bytes,
            split: self.flow.options.split.clone(),
            runs: Vec::new(),
            skipped: Vec::new(),
            begins: false,
            blocks: 0,
            key: None,
        };
        loop {
            let framed = self.next_block(&mut file)?;
            cutter.skip(mem::take(&mut file.skipped));
            match framed {
                Some(framed) => cutter.push(number, &framed),
                None => break,
            }
        }
        let runs = cutter.finish(file.blocks.trailing_bytes());
        if let Some(version) = version {
            self.known_blocks().add_runs(number, version, &runs);
        }
        Ok(runs)
    }

    /// A lease for `bytes` bytes of the list of runs, waited for. They count for the window.
    fn lease_runs(&mut self, bytes: u64) -> Result<Lease, Stop> {
        let window = self.planner.window_bytes().saturating_add(bytes);
        let memory = &self.flow.memory;
        if window > memory.window_limit() {
            return Err(exceeded(memory, window, None).into());
        }
        let lease = self.flow.lease_ahead(self.planner.total(), bytes);
        let lease = lease.map_err(|denied| match denied {
            Denied::Exceeded => exceeded(memory, memory.held().saturating_add(bytes), None).into(),
            _ => Stop::Cancelled,
        })?;
        self.planner.reserve(bytes);
        Ok(lease)
    }

    /// Reads the runs of an epoch, which `parts` names by their numbers in the list.
    pub(super) fn read_runs(&mut self, list: &RunList, parts: &[FilePart]) -> Result<(), Stop> {
        if list.runs.is_empty() || parts.is_empty() && list.records.iter().all(|&n| n == 0) {
            // There is no run that could.
            self.planner.note_skipped(&mut list.skipped_before(0));
        }
        let places = self.resumed.places(parts.len());
        let runs = places.iter().map(|&place| parts[place].file);
        self.ahead.coming = runs.collect();
        let mut read = Ok(());
        for place in places {
            let part = &parts[place];
            let run = &list.runs[part.file];
            read = match self.ahead.opened.pop_front() {
                Some(file) => Ok(file),
                None => {
                    self.ahead.coming.pop_front();
                    self.open_run(run)
                }
            }
            .and_then(|mut file| {
                let read = self.read_run(&mut file, run, list, &mut Framing::new(place, part));
                self.let_go(&mut file);
                read
            })
            .map_err(|stop| stop.in_file(&self.files.location(run.file)));
            if read.is_err() {
                break;
            }
        }
        self.ahead.clear();
        read
    }

    /// Reads a run, as far as it is in a slice.
    fn read_run(
        &mut self,
        file: &mut File,
        run: &Run,
        list: &RunList,
        framing: &mut Framing<'_>,
    ) -> Result<(), Stop> {
        // The reader of the first record notes it, unless it has before.
        let first = framing.part.records.first();
        if first.is_some_and(|records| records.start == 0) && !self.resumed.has_begun(framing.place)
        {
            self.planner
                .note_skipped(&mut list.skipped_before(framing.part.file));
        }
        while framing.blocks < run.blocks && framing.goes_on() {
            let framed = self.next_block_or_awaited(file)?;
            self.planner.note_skipped(&mut file.skipped);
            let Some(framed) = framed else {
                break;
            };
            self.add_part(file, framed, framing)?;
        }
        self.finish_awaited(file)?;
        if !framing.goes_on() {
            return Ok(());
        }
        if framing.blocks < run.blocks || framing.records != run.records {
            let counted = list.file_records[run.file];
            let found = (counted - run.records.min(counted)).saturating_add(framing.records);
            return Err(Error::new(ErrorKind::RecordsChanged { counted, found }).into());
        }
        self.note_trailing(run.file, run.trailing_bytes);
        Ok(())
    }

    /// Opens a run: a file that begins with its first block.
    fn open_run(&mut self, run: &Run) -> Result<File, Stop> {
        let heads = &mut self.ahead.heads;
        if let Some(at) = heads.iter().position(|head| head.number == run.file)
            && let Some(head) = heads.remove(at)
        {
            heads.push_back(head);
        } else if let Some(listing) = self.open_head(run)? {
            return Ok(listing);
        }
        let none = Lease::none(&self.flow.memory);
        let head = self.ahead.heads.back();
        let opened = head.and_then(|head| head.run(run, none));
        opened.ok_or(Stop::Cancelled)
    }

    /// Reads the header of the file of a run, and keeps the file open. If its framing cannot begin at a block,
    /// the file is returned, listed up to the run.
    fn open_head(&mut self, run: &Run) -> Result<Option<File>, Stop> {
        let mut file = self.open(run.file, false)?;
        file.stops_at_decoder = true;
        // Reading ahead of it would open it again.
        self.ahead.is_opening = true;
        let opened = self.list_to(&mut file, run);
        self.ahead.is_opening = false;
        opened?;
        self.check_listed(run.file)?;
        // Without what it has read.
        if let Some(blocks) = file.blocks.at_block(run.index, run.offset) {
            file.blocks = blocks;
            file.reads.clear();
            file.copied.shrink(0);
            let heads = &mut self.ahead.heads;
            if heads.len() == OPEN_FILES {
                heads.pop_front();
            }
            heads.push_back(file);
            return Ok(None);
        }
        Ok(Some(file))
    }

    /// Checks that a file that was opened again has the runs that were listed.
    fn check_listed(&mut self, number: usize) -> Result<(), Stop> {
        let Some(list) = self.runs.clone() else {
            return Ok(());
        };
        if list.versions[number] == self.files.version(number) {
            return Ok(());
        }
        let found = self.file_runs(number)?;
        let listed = list.runs.iter().filter(|run| run.file == number);
        if listed.eq(&*found.runs) {
            // It was touched.
            return Ok(());
        }
        let text =
            "the file has changed while it was read: its blocks are not those that were listed";
        Err(Error::io(io::Error::other(text), &self.files.location(number)).into())
    }

    /// Reads the header of a file, and its blocks up to a run if its framing cannot begin there.
    fn list_to(&mut self, file: &mut File, run: &Run) -> Result<(), Stop> {
        self.next_block(file)?;
        if file.blocks.at_block(run.index, run.offset).is_none() {
            while file.next_block < run.index && self.next_block(file)?.is_some() {}
        }
        Ok(())
    }

    /// Reads runs ahead whose turn comes after `file`, all of which was asked for: `most` reads are under
    /// way in all.
    pub(super) fn read_runs_ahead(&mut self, file: &File, most: usize) -> Result<(), Stop> {
        let Some(list) = self.runs.clone().filter(|_| !self.ahead.is_opening) else {
            return Ok(());
        };
        self.ahead.current = file.unframed + file.under_way();
        let asked = self.ask_for_runs(&list, file.reads.len(), most);
        self.ahead.current = 0;
        asked
    }

    fn ask_for_runs(&mut self, list: &RunList, current: usize, most: usize) -> Result<(), Stop> {
        while current + self.ahead.reads() < most {
            if self.ahead.opened.back().is_none_or(File::is_asked_for) && !self.open_next_run(list)
            {
                break;
            }
            let Some(mut next) = self.ahead.opened.pop_back() else {
                break;
            };
            if next.access == Access::Immediate || next.ahead_to == u64::MAX {
                self.ahead.opened.push_back(next);
                break;
            }
            let start = next.reads.back().map_or(next.framed_to, Asked::end);
            let range = start..start.saturating_add(self.read_size).min(next.ahead_to);
            let under_way = current + self.ahead.reads() + next.reads.len();
            let reader = self.payload_reader(&next);
            let asked = match self.is_scarce(reader, under_way) {
                true => Ok(false),
                false => self.ask_for(&mut next, slice::from_ref(&range), Turn::Ahead, reader),
            };
            self.ahead.opened.push_back(next);
            if !asked? {
                break;
            }
        }
        Ok(())
    }

    /// Opens the next run to read it ahead. Whether there is one. If it fails, the run's turn finds why.
    fn open_next_run(&mut self, list: &RunList) -> bool {
        let Some(&next) = self.ahead.coming.front() else {
            return false;
        };
        let Ok(file) = self.open_run(&list.runs[next]) else {
            return false;
        };
        self.ahead.coming.pop_front();
        self.ahead.opened.push_back(file);
        true
    }
}

impl File {
    /// The file from a run on, if its framing can begin there. `copied` is a lease of nothing.
    fn run(&self, run: &Run, copied: Lease) -> Option<File> {
        let blocks = self.blocks.at_block(run.index, run.offset)?;
        let opened = (self.source.clone(), self.size);
        let mut file = File::new((self.number, self.location.clone()), opened, blocks, copied);
        file.context = self.context.clone();
        file.ahead_to = run.end;
        (file.framed_to, file.next_block) = (run.offset, run.index);
        file.records = run.first_record;
        Some(file)
    }

    /// Whether all that is to be read ahead was asked for.
    fn is_asked_for(&self) -> bool {
        let last = self.reads.back();
        last.is_some_and(|last| last.end() >= self.ahead_to)
    }
}
