//! Splits: which records are read, by a hash of their places.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use atds_pipeline::{Options, Slice, Split, StoredHashes};

use super::any::{Random, any_files, any_source, in_turns, options};
use super::slices::parts;
use super::suite::{FileRows, Suite, all, ensure, name, same_rows};
use crate::Row;

/// Number of combinations that are tried.
const CASES: u64 = 10;

/// The column lies between those of the decoder.
const PLACE: &str = "middle";

/// Each row is in one of several splits, which its place tells alone. A split is read as if the files had its
/// records only: by ranks, in any order, and after batches that were given out before.
pub(super) fn splits(suite: &Suite<'_>) -> Result<(), String> {
    for seed in 0..CASES {
        let mut random = Random(9_000 + seed);
        let written = any_files(&mut random);
        let (mut options, _) = options(&mut random, &written);
        (options.slice, options.drop_remainder) = (None, false);
        let mut read = Vec::new();
        for split in three_splits(&mut random, written.len()) {
            options.split = Some(split.clone());
            let of = format!("case {seed}: {options:?}");
            let (members, prepared) = members(suite, &written, &split);
            check(suite, &written, &members, &options, &mut random)
                .map_err(|wrong| format!("{wrong}, {of}"))?;
            if split.by_block {
                let found = prepared_records(suite, &written, &options)?;
                ensure!(
                    found <= prepared,
                    "{found} records prepared, not {prepared}, {of}"
                );
            }
            read.extend(members.concat());
        }
        ensure!(
            same_rows(&read, &all(&written)),
            "splits are not the whole, case {seed}"
        );
    }
    Ok(())
}

/// Three splits of files, which are named as in [`name`].
pub(super) fn three_splits(random: &mut Random, files: usize) -> [Arc<Split>; 3] {
    let all = 1_u128 << 64;
    let mut ends = [0, 0].map(|_| all / 100 * random.below(100) as u128);
    ends.sort_unstable();
    let (by_block, by_field) = random.one_of([(true, false), (false, false), (false, true)]);
    [0..ends[0], ends[0]..ends[1], ends[1]..all].map(|hashes| {
        let mut split = split_of(hashes, by_block, files);
        if by_field {
            split.stored = Some(Arc::new(FieldHashes));
        }
        Arc::new(split)
    })
}

/// The hashes of a field that each seven records in turn have in common.
#[derive(Debug)]
struct FieldHashes;

impl FieldHashes {
    fn hash(file: usize, record: u64) -> u64 {
        Split::hash(file as u64, record / 7)
    }
}

impl StoredHashes for FieldHashes {
    fn read(&self, file: usize, first: u64, records: u64) -> io::Result<Vec<u64>> {
        let records = first..first + records;
        Ok(records.map(|record| Self::hash(file, record)).collect())
    }
}

/// A split of files that are named as in [`name`].
pub(super) fn split_of(hashes: Range<u128>, by_block: bool, files: usize) -> Split {
    let keys = (0..files).map(|i| Split::file_key(name(i).as_bytes()));
    Split {
        hashes,
        by_block,
        stored: None,
        file_keys: keys.collect(),
    }
}

/// The rows of each file that are in a split, and the number of records in blocks that have some.
fn members(suite: &Suite<'_>, written: &[FileRows], split: &Split) -> (Vec<Vec<Row>>, u64) {
    let (mut members, mut in_blocks) = (Vec::new(), 0);
    for (number, (file, &key)) in written.iter().zip(&*split.file_keys).enumerate() {
        let (mut rows, mut first) = (Vec::new(), 0);
        for block in suite.format.framed(file) {
            let is_in = |record: &u64| {
                let place = if split.by_block { first } else { *record };
                let hash = match split.stored {
                    Some(_) => FieldHashes::hash(number, *record),
                    None => Split::hash(key, place),
                };
                split.hashes.contains(&u128::from(hash))
            };
            let before = rows.len();
            let records = (first..).zip(&block);
            rows.extend(
                records
                    .filter(|(record, _)| is_in(record))
                    .map(|(_, row)| row.clone()),
            );
            first += block.len() as u64;
            if rows.len() > before {
                in_blocks += block.len() as u64;
            }
        }
        members.push(rows);
    }
    (members, in_blocks)
}

fn check(
    suite: &Suite<'_>,
    written: &[FileRows],
    members: &[Vec<Row>],
    options: &Options,
    random: &mut Random,
) -> Result<(), String> {
    let rows = in_turns(members, options);
    let mut options = options.clone();
    options.provenance = Some(PLACE.to_owned());
    // The whole, with the places of rows.
    let files = any_source(suite, written, &options, random);
    let mut running = suite.start(&files, &options, 1..2);
    let (mut batches, mut places) = (Vec::new(), Vec::new());
    while let Some(item) = running.next()? {
        batches.push(item.map_err(|error| error.to_string())?);
        places.extend_from_slice(&running.provenance);
    }
    let mixes_files = options.shuffle_files || options.shuffle_blocks || options.shuffle_runs;
    let is_in_order = options.shuffle_buffer_size == 0 && !mixes_files;
    let lens = |rows: usize| rows.div_ceil(options.batch_size);
    ensure!(
        batches.len() == lens(rows.len()),
        "{} batches",
        batches.len()
    );
    ensure!(same_rows(&batches.concat(), &rows), "other rows");
    ensure!(!is_in_order || batches.concat() == rows, "another order");
    for (row, [file, record]) in batches.concat().iter().zip(places) {
        let file = written[file as usize].concat();
        ensure!(
            file.get(record as usize) == Some(row),
            "a wrong place of {row:?}"
        );
    }
    // Going on.
    let given = random.below(batches.len() + 1);
    let mut other = options.clone();
    other.threads = if options.threads > 1 { 1 } else { 4 };
    let files = any_source(suite, written, &other, random);
    let mut running = suite.start_after(&files, &other, given as u64, 1..2);
    for batch in &batches[given..] {
        let next = running.next()?.ok_or("no batch after those given out")?;
        let next = next.map_err(|error| error.to_string())?;
        ensure!(next == *batch, "another batch after {given}");
    }
    ensure!(running.next()?.is_none(), "a batch after the last");
    // Three ranks.
    let mut read = Vec::new();
    let file_records: Arc<[u64]> = members.iter().map(|rows| rows.len() as u64).collect();
    for (rank, records) in (0..).zip(parts(rows.len(), 3)) {
        let len = records.end - records.start;
        options.slice = Some(Slice {
            records,
            file_records: file_records.clone(),
        });
        options.stream.rank = rank;
        let files = any_source(suite, written, &options, random);
        let found = suite.run(&files, &options, 1..2)?;
        ensure!(found.error.is_none(), "{:?}", found.error);
        ensure!(
            found.batches.len() == lens(len as usize),
            "{} batches of rank {rank}",
            found.batches.len()
        );
        read.extend(found.rows());
    }
    ensure!(same_rows(&read, &rows), "ranks do not share the rows");
    ensure!(!is_in_order || read == rows, "another order of ranks");
    Ok(())
}

/// Number of records in the blocks that are prepared, where each is prepared once.
fn prepared_records(
    suite: &Suite<'_>,
    written: &[FileRows],
    options: &Options,
) -> Result<u64, String> {
    let mut plain = Options::new(options.batch_size);
    plain.split = options.split.clone();
    let mut running = suite.start(&suite.files(written), &plain, 0..1);
    while running.next()?.is_some() {}
    Ok(running.prepared_records())
}
