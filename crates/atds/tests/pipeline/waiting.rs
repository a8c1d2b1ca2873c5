//! Taking batches with a timeout, and counting records without reading them.

use std::task::Poll;
use std::time::Duration;

use atds::{Batches, Codec, Dataset, ErrorKind, avro};

use crate::common::Folder;

/// All items of an iteration; each is polled until it is ready.
fn polled(batches: &mut Batches, timeout: Duration) -> (Vec<usize>, Option<ErrorKind>) {
    let mut rows = Vec::new();
    loop {
        match batches.next_within(timeout) {
            Poll::Pending => std::thread::yield_now(),
            Poll::Ready(Some(Ok(batch))) => rows.push(batch.rows()),
            Poll::Ready(Some(Err(error))) => return (rows, Some(error.kind)),
            Poll::Ready(None) => return (rows, None),
        }
    }
}

#[test]
fn asking_in_slices_gives_what_waiting_gives() {
    let folder = Folder::of_rows(2, 50, 8, Codec::Deflate);
    for timeout in [Duration::ZERO, Duration::from_millis(50)] {
        let dataset = folder.rows(30).build().unwrap();
        let mut batches = dataset.iter();
        let handle = batches.stats_handle();
        let (rows, error) = polled(&mut batches, timeout);
        assert_eq!(rows, [30, 30, 30, 11]);
        assert!(error.is_none());
        assert!(matches!(batches.next_within(timeout), Poll::Ready(None)));
        assert!(batches.next().is_none());
        drop(batches);
        let stats = handle.stats();
        assert_eq!((stats.records, stats.steps), (101, 4));
    }
}

#[test]
fn the_first_error_is_the_last_item_here_too() {
    let folder = Folder::of_rows(2, 50, 8, Codec::Null);
    let dataset = folder.rows(30).build().unwrap();
    std::fs::remove_file(&dataset.files()[1]).unwrap();
    let mut batches = dataset.iter();
    let (rows, error) = polled(&mut batches, Duration::ZERO);
    assert_eq!(rows, [30, 20]);
    assert!(matches!(error, Some(ErrorKind::Io(_))));
    assert!(matches!(
        batches.next_within(Duration::ZERO),
        Poll::Ready(None)
    ));
}

#[test]
fn records_are_counted_without_reading_them() {
    let folder = Folder::of_rows(3, 50, 8, Codec::Deflate);
    let dataset = folder.rows(30).build().unwrap();
    assert_eq!(dataset.num_records().unwrap(), 50 + 51 + 52);

    let file = &dataset.files()[1];
    let mut bytes = std::fs::read(file).unwrap();
    let len = bytes.len();
    bytes[len - 1] ^= 1;
    std::fs::write(file, bytes).unwrap();
    let error = Dataset::num_records(&dataset).unwrap_err();
    assert!(matches!(
        error.kind.avro(),
        Some(avro::ErrorKind::Container(_))
    ));
    assert_eq!(error.place.location, Some(file.as_path().into()));
}
