//! Files that change while an iteration of several epochs reads them.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use atds::{Batches, DType, Dataset, DatasetBuilder, Feature, FileFormat, Shuffle, Threads};
use atds_btable::FileWriter;

use crate::layouts::{Indexed, RECORDS, records};

/// A file of other records than there are, in blocks of another size.
fn write_other(format: FileFormat, path: &Path) {
    let ids = 8_000..8_460;
    if format == FileFormat::TfRecord {
        let lens = ids.map(|id| (id, 1_700 + (id as usize * 41) % 500));
        fs::write(path, records(lens)).unwrap();
        return;
    }
    write_table(path, ids, 130);
}

/// A table of rows with `cells` cells and more, the first of which is the number of the row.
fn write_table(path: &Path, ids: impl Iterator<Item = i64>, cells: usize) {
    let labels: Vec<_> = (0..180).map(|column| format!("c{column}")).collect();
    let mut file = FileWriter::create(path, &labels).unwrap();
    for id in ids {
        let mut row = vec![1.5; cells + (id as usize * 7) % 50];
        row.resize(labels.len(), 0.0);
        row[0] = id as f64 + 1.0;
        file.writer().write_dense_row(&row).unwrap();
    }
    file.finish().unwrap();
}

#[test]
fn each_epoch_reads_the_files_that_are_there_when_it_begins() {
    type Arrange = fn(DatasetBuilder) -> DatasetBuilder;
    let orders: [Arrange; 4] = [
        |builder| builder,
        |builder| builder.shuffle_blocks(true),
        |builder| builder.shuffle(Shuffle::Blocks),
        |builder| builder.shuffle(Shuffle::Blocks).run_bytes(1),
    ];
    for format in [FileFormat::TfRecord, FileFormat::BTable] {
        for (order, arrange) in orders.into_iter().enumerate() {
            for has_index in [false, true] {
                let indexed = Indexed::new(format);
                let builder = match has_index {
                    true => indexed.with_index(),
                    false => indexed.plain(),
                };
                let builder = arrange(builder).epochs(4).prefetch(1);
                let dataset = builder.threads(Threads::Fixed(1)).build().unwrap();
                let mut batches = dataset.iter();
                let of_epoch = (RECORDS as usize).div_ceil(7);
                let first = batches.by_ref().take(of_epoch);
                first.for_each(|batch| drop(batch.unwrap()));
                let new = indexed.files[1].with_extension("new");
                write_other(format, &new);
                fs::rename(&new, &indexed.files[1]).unwrap();
                let mut last = indexed.ids(batches).concat();
                // The second and the third epoch may have begun before.
                last.drain(..last.len() - RECORDS as usize - 60);
                last.sort();
                let third = RECORDS / 3;
                let expected = (0..third).chain(2 * third..RECORDS).chain(8_000..8_460);
                let what = format!("{format}, order {order}, index {has_index}");
                assert_eq!(last, expected.collect::<Vec<_>>(), "{what}");
            }
        }
    }
}

fn ids(batches: &mut Batches, most: usize) -> Result<Vec<i64>, atds::Error> {
    let mut found = Vec::new();
    for batch in batches.take(most) {
        let batch = batch?;
        let ids = batch.dense::<f64>("c0").unwrap();
        found.extend(ids.iter().map(|&id| id as i64 - 1));
    }
    Ok(found)
}

/// A file that is not kept open is read at places where its blocks were.
#[test]
fn runs_of_a_file_that_was_replaced_are_not_read() {
    const FILES: i64 = 70;
    const ROWS: i64 = 120;
    let folder = tempfile::tempdir().unwrap();
    let path = |file: i64| folder.path().join(format!("{file:02}.btable"));
    let write = |cells: usize| {
        for file in 0..FILES {
            let new = folder.path().join("new");
            write_table(&new, file * ROWS..(file + 1) * ROWS, cells);
            fs::rename(&new, path(file)).unwrap();
        }
    };
    let build = || {
        let id = Feature::dense("c0", &[], DType::Float64);
        let builder = Dataset::builder(folder.path(), 16).features([id]);
        let builder = builder.shuffle(Shuffle::Blocks).run_bytes(1).prefetch(1);
        builder.threads(Threads::Fixed(1)).build().unwrap()
    };
    write(120);
    let dataset = build();
    let expected = ids(&mut dataset.epoch(0), usize::MAX).unwrap();
    assert_eq!(expected.len() as i64, FILES * ROWS);
    // Its time alone: the blocks are the same.
    let mut batches = dataset.epoch(0);
    let mut found = ids(&mut batches, 20).unwrap();
    for file in 0..FILES {
        let file = File::options().write(true).open(path(file)).unwrap();
        file.set_modified(SystemTime::now()).unwrap();
    }
    found.extend(ids(&mut batches, usize::MAX).unwrap());
    assert_eq!(found, expected);
    let mut batches = dataset.epoch(0);
    ids(&mut batches, 20).unwrap();
    write(125);
    let error = ids(&mut batches, usize::MAX).unwrap_err().to_string();
    assert!(error.contains("changed while it was read"), "{error}");
}
