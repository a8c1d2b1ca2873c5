//! Damage that is left out, by choice.

use std::collections::BTreeSet;

use atds_pipeline::{Options, Skipped};

use super::any::{Random, any_files, any_source_of, options};
use super::damage::place_in;
use super::slices::slice;
use super::splits::three_splits;
use super::suite::{FileRows, Outcome, Suite, all, ensure, same_rows};
use crate::Row;

/// Number of combinations that are tried.
const CASES: u64 = 60;

/// What is wrong with a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// A row of a block cannot be decoded.
    Row { block: usize, row: usize },
    /// The byte at a place in 1/1000 of the file has another value.
    Byte(usize),
    /// The file ends at a place in 1/1000 of it.
    Cut(usize),
}

/// Batches without what damage costs: the same rows are left out for any options, each once a list says
/// so, and all others are given out.
pub(super) fn left_out(suite: &Suite<'_>) -> Result<(), String> {
    let mut shorter = 0;
    for seed in 0..CASES {
        let mut random = Random(5_000 + seed);
        let written = any_files(&mut random);
        let damages: Vec<_> = written
            .iter()
            .map(|file| damage(file, &mut random))
            .collect();
        let files = written.iter().zip(&damages);
        let bytes: Vec<_> = files
            .map(|(file, damage)| damaged(suite, file, *damage))
            .collect();
        let (mut options, epochs) = options(&mut random, &written);
        (options.skip_damage, options.drop_remainder) = (true, false);
        options.slice = None;
        let of = format!("case {seed}: {damages:?}, {options:?}");

        let mut plain = Options::new(1_000);
        plain.skip_damage = true;
        let files = suite.files_of(bytes.clone());
        let expected = suite.run(&files, &plain, 0..1)?;
        if let Some(error) = &expected.error {
            // A format that cannot find the blocks after damage of its framing.
            let is_framing = error.place.record.is_none();
            ensure!(is_framing && has_other(&damages), "{error}: {of}");
            continue;
        }
        let healthy = expected.rows();
        shorter += expected.skipped_records;
        check_healthy(suite, &healthy, &expected, &written, &damages)
            .map_err(|wrong| format!("{wrong}: {of}"))?;

        // Any options.
        let epochs = epochs.max(1);
        let files = any_source_of(suite, &bytes, &options, &mut random);
        let found = suite.run(&files, &options, 0..epochs)?;
        ensure!(found.error.is_none(), "{:?}: {of}", found.error);
        let planned = healthy.len() as u64 + expected.skipped_records;
        let batches = planned.div_ceil(options.batch_size as u64);
        ensure!(
            found.batches.len() as u64 == epochs * batches,
            "{} batches, not {epochs} times {batches}: {of}",
            found.batches.len()
        );
        for epoch in found.batches.chunks(batches.max(1) as usize) {
            ensure!(
                same_rows(&epoch.concat(), &healthy),
                "{} rows, not {}: {of}",
                epoch.concat().len(),
                healthy.len()
            );
        }
        let (here, there) = (places(&found.skipped), places(&expected.skipped));
        ensure!(here == there, "left out {here:?}, not {there:?}: {of}");
        let lost = (found.skipped_records, found.skipped_bytes);
        let expected_lost = (
            epochs * expected.skipped_records,
            epochs * expected.skipped_bytes,
        );
        ensure!(lost == expected_lost, "{lost:?} lost: {of}");

        // Rows of zeros in the places of those that are left out.
        let mut masked = options.clone();
        masked.mask = Some("mask".into());
        let in_place = suite.run(&files, &masked, 0..epochs)?;
        ensure!(
            in_place.batches == found.batches,
            "other rows under a mask: {of}"
        );
        let sizes = in_place.batch_rows.chunks(batches.max(1) as usize);
        for sizes in sizes {
            let (whole, last) = sizes.split_at(sizes.len() - 1);
            let rest = planned - (options.batch_size * whole.len()) as u64;
            ensure!(
                whole.iter().all(|&rows| rows == options.batch_size) && last == [rest as usize],
                "batches of {sizes:?} rows under a mask: {of}"
            );
        }

        // Going on in the middle.
        let k = random.below(found.batches.len() + 1) as u64;
        if batches > 0 && k < epochs * batches {
            let position = (k % batches, k / batches..epochs);
            let mut running = suite.start_after(&files, &options, position.0, position.1);
            for batch in &found.batches[k as usize..] {
                let next = running.next()?.ok_or("no batch")?;
                let next = next.map_err(|error| format!("{error}: {of}"))?;
                ensure!(next == *batch, "another batch after {k}: {of}");
            }
            ensure!(running.next()?.is_none(), "a batch after the last: {of}");
        }

        // In splits, each of which loses its own records.
        let (mut rows, mut lost) = (Vec::new(), 0);
        for split in three_splits(&mut random, written.len()) {
            options.split = Some(split);
            let files = any_source_of(suite, &bytes, &options, &mut random);
            let found = suite.run(&files, &options, 0..1)?;
            ensure!(found.error.is_none(), "{:?}: {options:?}", found.error);
            rows.extend(found.rows());
            lost += found.skipped_records;
        }
        ensure!(same_rows(&rows, &healthy), "other rows in splits: {of}");
        ensure!(
            lost == expected.skipped_records,
            "{lost} lost in splits: {of}"
        );

        // In parts, where the counts are those that were written.
        if !has_other(&damages) {
            let (mut rows, total) = (Vec::new(), all(&written).len() as u64);
            let middle = random.below(total as usize + 1) as u64;
            for records in [0..middle, middle..total] {
                let mut part = plain.clone();
                part.slice = Some(slice(&written, records));
                part.threads = options.threads;
                let files = suite.files_of(bytes.clone());
                rows.extend(suite.run(&files, &part, 0..1)?.whole()?);
            }
            ensure!(rows == healthy, "other rows in two parts: {of}");
        }
    }
    ensure!(shorter > 0, "nothing was left out");
    Ok(())
}

/// Whether damage is not of one record.
fn has_other(damages: &[Option<Damage>]) -> bool {
    let mut others = damages.iter().flatten();
    others.any(|damage| !matches!(damage, Damage::Row { .. }))
}

fn check_healthy(
    suite: &Suite<'_>,
    healthy: &[Row],
    outcome: &Outcome,
    written: &[FileRows],
    damages: &[Option<Damage>],
) -> Result<(), String> {
    for (file, damage) in written.iter().zip(damages) {
        let at = match damage {
            None => None,
            Some(Damage::Row { block, row }) => Some(file[..*block].concat().len() + row),
            Some(_) => continue,
        };
        let file = suite.format.framed(file);
        let bad_block = at.map(|at| place_in(&file, at).0);
        let rows = file.iter().enumerate();
        let rows = rows.flat_map(|(block, rows)| rows.iter().map(move |row| (block, row)));
        for (number, (block, row)) in rows.enumerate() {
            // Damage may spoil two records after it, too, and the rest of its block.
            let may_be_lost = bad_block.zip(at).is_some_and(|(bad_block, at)| {
                number > at && (block == bad_block || number <= at + 2)
            });
            let is_bad = at == Some(number);
            ensure!(
                may_be_lost || healthy.contains(row) != is_bad,
                "row {number}, of which it is {is_bad} that it is bad, is not treated so"
            );
        }
    }
    if !has_other(damages) {
        let lost = all(written).len() - healthy.len();
        ensure!(
            outcome.skipped_records == lost as u64,
            "{lost} rows are lost, {} counted",
            outcome.skipped_records
        );
        ensure!(
            (lost > 0) != outcome.skipped.is_empty(),
            "{lost} rows are lost, listed are {:?}",
            outcome.skipped
        );
    }
    Ok(())
}

/// Where damage is, and what it costs, in any order.
fn places(skipped: &[Skipped]) -> BTreeSet<String> {
    let place = |skipped: &Skipped| {
        let place = &skipped.error.place;
        let location = place.location.as_ref().map(ToString::to_string);
        let name = location.and_then(|text| text.rsplit('/').next().map(str::to_owned));
        format!(
            "{name:?} block {:?} record {:?}: {:?} records",
            place.block, place.record, skipped.records
        )
    };
    skipped.iter().map(place).collect()
}

fn damage(file: &FileRows, random: &mut Random) -> Option<Damage> {
    let blocks: Vec<_> = (0..file.len()).filter(|&i| !file[i].is_empty()).collect();
    match random.below(5) {
        0 => None,
        1 => Some(Damage::Byte(random.below(1_000))),
        2 if random.below(2) == 0 => Some(Damage::Cut(random.below(1_000))),
        _ if blocks.is_empty() => None,
        _ => {
            let block = blocks[random.below(blocks.len())];
            let row = random.below(file[block].len());
            Some(Damage::Row { block, row })
        }
    }
}

fn damaged(suite: &Suite<'_>, file: &FileRows, damage: Option<Damage>) -> Vec<u8> {
    let mut bytes = match damage {
        Some(Damage::Row { block, row }) => suite.format.write_damaged(file, block, row),
        _ => suite.format.write(file),
    };
    let at = |place: usize| bytes.len() * place / 1_000;
    match damage {
        Some(Damage::Byte(place)) => {
            let at = at(place);
            // A file without records may have no bytes.
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0x55;
            }
        }
        Some(Damage::Cut(place)) => bytes.truncate(at(place)),
        _ => {}
    }
    bytes
}
