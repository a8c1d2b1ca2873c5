//! Provenance: the column that says which record of which file each row is.

use std::collections::HashMap;

use super::any::{Random, any_files, any_source, options};
use super::suite::{Suite, ensure};

/// Number of combinations that are tried.
const CASES: u64 = 40;

/// The column lies between those of the decoder.
const COLUMN: &str = "middle";

/// Whatever the options, and after whatever batch an iteration goes on, each row has the place of its
/// record.
pub(super) fn provenance(suite: &Suite<'_>) -> Result<(), String> {
    for seed in 0..CASES {
        let mut random = Random(2_000 + seed);
        let written = any_files(&mut random);
        let mut places = HashMap::new();
        for (file, blocks) in (0..).zip(&written) {
            let records = (0..).zip(blocks.iter().flatten());
            places.extend(records.map(|(record, row)| (row.label, [file, record])));
        }
        let (mut options, epochs) = options(&mut random, &written);
        options.provenance = Some(COLUMN.into());
        let of = format!("case {seed}: {options:?}");
        let files = any_source(suite, &written, &options, &mut random);
        let mut counter = suite.start(&files, &options, 0..1);
        let mut batches = 0;
        while let Some(item) = counter.next()? {
            item.map_err(|error| format!("{error}, {of}"))?;
            batches += 1;
        }
        let given = random.below(batches + 1) as u64;
        let files = any_source(suite, &written, &options, &mut random);
        let mut running = suite.start_after(&files, &options, given, 0..epochs.max(1));
        while let Some(item) = running.next()? {
            let batch = item.map_err(|error| format!("{error}, {of}"))?;
            let expected = batch.iter().map(|row| places[&row.label]);
            let found = &running.provenance;
            ensure!(
                expected.eq(found.iter().copied()),
                "rows are said to be the records {found:?} after {given} batches, {of}"
            );
        }
    }
    Ok(())
}
