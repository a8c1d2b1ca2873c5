//! Files that take turns: what is beside their order, which the conformance suite has.

use atds::{Codec, ErrorKind};

use crate::common::{Folder, read_all};

/// A part of an epoch ends in the middle of blocks.
#[test]
fn blocks_of_an_epoch_that_was_left_do_not_stay_in_the_window() {
    let folder = Folder::of_rows(4, 300, 100, Codec::Null);
    let dataset = folder.rows(8).interleave(4, 1).memory_limit(1 << 20);
    let dataset = dataset.build().unwrap();
    let shard = dataset.shard(0, 3).unwrap();
    let batches = read_all(shard.epochs(0..300));
    assert_eq!(batches.concat().len(), 300 * 402);
}

/// The window has a block of each file that has turns.
#[test]
fn a_shorter_cycle_needs_less_memory_and_the_error_says_so() {
    let folder = Folder::of_rows(16, 2000, 2000, Codec::Null);
    // What is needed, if the limit does not suffice, and the options to lower.
    let missing = |cycle: usize, limit: u64| {
        let dataset = folder.rows(8).interleave(cycle, 1).memory_limit(limit);
        let error = dataset.build().unwrap().iter().find_map(Result::err)?;
        let ErrorKind::MemoryLimit { needed, .. } = error.kind else {
            panic!("{error}");
        };
        let said = error.to_string();
        let (_, advice) = said.split_once(": raise it, or lower ").unwrap();
        Some((needed, advice.to_owned()))
    };
    let mut limit = 100;
    while let Some((needed, _)) = missing(2, limit) {
        limit = needed;
    }
    let (_, advice) = missing(16, limit).expect("16 files need more than 2");
    assert_eq!(
        advice,
        "`shuffle_buffer_size`, `batch_size` or the cycle length of `interleave`"
    );
    let (_, advice) = missing(1, 100).unwrap();
    assert_eq!(advice, "`shuffle_buffer_size` or `batch_size`");
}

/// Of all files in turns, records of others would have its places.
#[test]
fn a_file_that_has_changed_since_it_was_counted_is_an_error() {
    let folder = Folder::of_rows(3, 40, 7, Codec::Deflate);
    let dataset = folder.rows(8).interleave(2, 3).build().unwrap();
    let said = |counted: [u64; 3], records: std::ops::Range<u64>| {
        let slice = dataset.slice(records, counted).unwrap();
        let last = slice.iter().find_map(Result::err);
        let error = last.unwrap_or_else(|| panic!("{counted:?}"));
        assert!(matches!(error.kind, ErrorKind::RecordsChanged { .. }));
        folder.message(&error)
    };
    for records in [0..123, 50..100] {
        assert_eq!(
            said([40, 42, 41], records),
            "01.avro: the file has 41 records now, but had 42 when they were counted"
        );
    }
    assert_eq!(
        said([40, 40, 42], 0..122),
        "01.avro: the file has 41 records now, but had 40 when they were counted"
    );
}
