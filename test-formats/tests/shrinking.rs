//! A file that becomes shorter between two epochs of an iteration. It ends between two blocks, so that its
//! framing is whole.

#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use atds_format::{ByteSource, Format, Location};
use atds_pipeline::{ErrorKind, Files, Options, Pipeline, Slice};
use atds_test_formats::{InMemory, Row, TestFormat, ToyFiles};
use bytes::Bytes;

/// Number of records of each block of each of the three files.
const BLOCK: i64 = 5;
const BLOCKS: i64 = 4;
const RECORDS: i64 = 3 * BLOCKS * BLOCK;

/// The second file loses its last block.
const LOST: std::ops::Range<i64> = 7 * BLOCK..8 * BLOCK;

#[derive(Debug)]
struct Shrinking {
    files: Vec<Bytes>,
    /// The second file after it was opened once, or more often.
    shorter: Bytes,
    opened: AtomicUsize,
    format: Arc<dyn Format>,
}

impl Files for Shrinking {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn location(&self, file: usize) -> Location {
        Location::Path(file.to_string().into())
    }

    fn source(&self, file: usize) -> io::Result<Arc<dyn ByteSource>> {
        let is_shorter = file == 1 && self.opened.fetch_add(1, Relaxed) > 0;
        let bytes = match is_shorter {
            true => &self.shorter,
            false => &self.files[file],
        };
        let name = file.to_string();
        Ok(Arc::new(InMemory::new(&name, bytes.clone())))
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }
}

fn files(toy: &ToyFiles) -> Arc<Shrinking> {
    let block = |block: i64| {
        let rows = block * BLOCK..(block + 1) * BLOCK;
        rows.map(|label| Row {
            label,
            numbers: Vec::new(),
        })
        .collect()
    };
    let file = |blocks: std::ops::Range<i64>| -> Bytes {
        toy.write(&blocks.map(block).collect::<Vec<Vec<Row>>>())
            .into()
    };
    Arc::new(Shrinking {
        files: vec![file(0..4), file(4..8), file(8..12)],
        shorter: file(4..7),
        opened: AtomicUsize::new(0),
        format: toy.format(),
    })
}

fn options(change: fn(&mut Options)) -> Options {
    let mut options = Options::new(4);
    options.threads = 2;
    change(&mut options);
    options
}

const WAYS: [fn(&mut Options); 3] = [
    |_| {},
    |options| options.shuffle_blocks = true,
    |options| (options.shuffle_buffer_size, options.shuffle_files) = (30, true),
];

#[test]
fn it_is_an_error() {
    let toy = ToyFiles { is_packed: false };
    for way in WAYS {
        let files = files(&toy);
        let (before, now) = (files.files[1].len() as u64, files.shorter.len() as u64);
        let mut batches = Pipeline::new(toy.spec(), files, options(way)).iter(0..3);
        let (mut labels, mut error) = (Vec::new(), None);
        for batch in batches.by_ref() {
            match batch {
                Ok(batch) => labels.extend(toy.rows(&batch).iter().map(|row| row.label)),
                Err(found) => error = Some(found),
            }
        }
        let error = error.unwrap();
        assert!(
            matches!(error.kind, ErrorKind::FileShrank { before: b, now: n } if (b, n) == (before, now)),
            "{error}"
        );
        assert_eq!(
            (&error.place.location, error.place.offset),
            (&Some(Location::Path("1".into())), Some(now))
        );
        // The first epoch is whole, and the second has no record that it should not have.
        let mut first = labels[..RECORDS as usize].to_vec();
        first.sort_unstable();
        assert!(first.into_iter().eq(0..RECORDS));
        let second = &labels[RECORDS as usize..];
        assert!(second.len() < RECORDS as usize);
        assert!(second.iter().all(|label| !LOST.contains(label)));
    }
}

#[test]
fn it_is_left_out_by_choice() {
    let toy = ToyFiles { is_packed: false };
    for way in WAYS {
        let files = files(&toy);
        let lost = (files.files[1].len() - files.shorter.len()) as u64;
        let mut options = options(way);
        options.skip_damage = true;
        let mut batches = Pipeline::new(toy.spec(), files, options).iter(0..3);
        let mut labels: Vec<i64> = Vec::new();
        for batch in batches.by_ref() {
            labels.extend(toy.rows(&batch.unwrap()).iter().map(|row| row.label));
        }
        let (first, rest) = labels.split_at_mut(RECORDS as usize);
        first.sort_unstable();
        assert!(first.iter().copied().eq(0..RECORDS));
        for epoch in rest.chunks_mut((RECORDS - BLOCK) as usize) {
            epoch.sort_unstable();
            let healthy = (0..RECORDS).filter(|label| !LOST.contains(label));
            assert!(epoch.iter().copied().eq(healthy));
        }
        assert_eq!(rest.len() as i64, 2 * (RECORDS - BLOCK));
        let stats = batches.stats();
        assert_eq!((stats.skipped_records, stats.skipped_bytes), (0, 2 * lost));
        // The estimate: the records of as many bytes before.
        assert_eq!(stats.epoch_skipped.records, BLOCK as u64);
        let [skipped] = &batches.skipped(0)[..] else {
            panic!("{:?}", batches.skipped(0));
        };
        assert_eq!((skipped.records, skipped.bytes), (None, Some(lost)));
    }
}

/// Where blocks were listed or counted before, also by choice: other readers rely on the counts.
#[test]
fn it_is_an_error_where_records_were_counted() {
    let toy = ToyFiles { is_packed: false };
    let runs: fn(&mut Options) = |options| (options.shuffle_runs, options.run_bytes) = (true, 1);
    let slice: fn(&mut Options) = |options| {
        options.slice = Some(Slice {
            records: 10..50,
            file_records: [20, 20, 20].into(),
        });
    };
    // The file is opened for its runs before it is read.
    for (way, whole) in [(runs, 0..0), (slice, 10..50)] {
        for skip_damage in [false, true] {
            let mut options = options(way);
            options.skip_damage = skip_damage;
            let files = files(&toy);
            let mut batches = Pipeline::new(toy.spec(), files, options).iter(0..3);
            let (mut labels, mut error) = (Vec::new(), None);
            for batch in batches.by_ref() {
                match batch {
                    Ok(batch) => labels.extend(toy.rows(&batch).iter().map(|row| row.label)),
                    Err(found) => error = Some(found),
                }
            }
            let error = error.expect("the counts are wrong");
            let location = Some(Location::Path("1".into()));
            assert_eq!(error.place.location, location, "{error}");
            let (first, later) = labels.split_at_mut((whole.end - whole.start) as usize);
            first.sort_unstable();
            assert!(first.iter().copied().eq(whole.clone()));
            // No other record stands for a lost one, and none comes twice.
            later.sort_unstable();
            assert!(later.windows(2).all(|pair| pair[0] < pair[1]), "{later:?}");
            assert!(later.iter().all(|label| !LOST.contains(label)), "{later:?}");
        }
    }
}
