//! What was given out before is drawn again: to go on, and to find what others have left.

use super::{Framing, PlanningThread};
use crate::error::Stop;
use crate::interleave::Turns;
use crate::layers::{LayerPart, Rest};
use crate::progress::Progress;
use crate::replay::{Replay, Resumed};
use crate::slice::{FileOrder, FilePart, Records};

impl PlanningThread {
    /// The records of an epoch that the layers before have left unread.
    pub(super) fn left(&mut self, rest: &Rest, files: &FileOrder<'_>) -> Result<Records, Stop> {
        let mut left = Records::from(files.all());
        let flow = self.flow.clone();
        let parts = rest.layers.iter().flat_map(|layer| &layer.parts);
        if flow.options.is_shuffled() {
            self.add_to_replay(parts.map(|part: &LayerPart| part.batches));
        }
        for (number, layer) in (0..).zip(&rest.layers) {
            let mut next = Records::default();
            for part in &layer.parts {
                let records = left.part(part.records.clone());
                let unread = if part.batches == 0 {
                    records
                } else if flow.options.is_shuffled() {
                    let whose = (rest.epoch, part.stream(number));
                    let replay = Replay::new(&flow.options, layer.batch_size, whose, part.batches);
                    let resumed = self.replay(&files.parts(&records), rest.epoch, replay)?;
                    resumed.left(&records)
                } else {
                    let read = part.batches.saturating_mul(layer.batch_size);
                    records.part(read..u64::MAX)
                };
                unread
                    .ranges()
                    .iter()
                    .for_each(|range| next.push(range.clone()));
            }
            left = next;
        }
        Ok(left)
    }

    /// Adds to the number of batches that are to be drawn again.
    pub(super) fn add_to_replay(&self, batches: impl IntoIterator<Item = u64>) {
        let batches = batches.into_iter().fold(0, u64::saturating_add);
        let add = |to_replay: &mut u64| *to_replay = to_replay.saturating_add(batches);
        self.flow.counters.note(|stats| add(&mut stats.to_replay));
    }

    /// Draws batches of an epoch again that were given out, and notes how many are drawn.
    pub(super) fn replay(
        &mut self,
        parts: &[FilePart],
        epoch: u64,
        mut replay: Replay,
    ) -> Result<Resumed, Stop> {
        let flow = self.flow.clone();
        let (before, total) = flow
            .counters
            .note(|stats| (stats.replayed, stats.to_replay));
        let progress = self.progress.take();
        let mut progress = progress.unwrap_or_else(|| Progress::every(flow.options.logged_every));
        let mut noted = None;
        let mut note = |drawn: u64| {
            if noted.replace(drawn) == Some(drawn) {
                return;
            }
            let drawn = before + drawn;
            flow.counters.note(|stats| stats.replayed = drawn);
            progress.note(drawn, total, || {
                format!("going on: {drawn} of {total} batches are drawn again")
            });
        };
        for (place, part) in parts.iter().enumerate() {
            note(replay.drawn());
            if replay.is_done() {
                break;
            }
            if part.counted.is_some() && replay.pass_file(place, part) {
                continue;
            }
            if let (Some(order), Some(interleave)) =
                (self.in_turns.clone(), flow.options.interleave)
            {
                let turns = Turns::new(interleave, order.len());
                self.replay_turns(turns, &order, part, &mut replay, &mut note)?;
                break;
            }
            let blocks = self.part_blocks(part, epoch)?;
            let mut framing = Framing::new(place, part);
            for &records in framing.pass(&blocks) {
                let found = framing.add(records);
                replay.push(found.at, found.start, records, found.records);
                note(replay.drawn());
                if replay.is_done() || !framing.has_more() {
                    break;
                }
                if self.flow.is_stopped() {
                    return Err(Stop::Cancelled);
                }
            }
        }
        let given = replay.given();
        let resumed = replay.finish(flow.options.drop_remainder)?;
        note(given);
        self.progress = Some(progress);
        Ok(resumed)
    }
}
