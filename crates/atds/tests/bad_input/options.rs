//! Options out of their range.

use atds::{Codec, Threads};

use crate::Messages;
use crate::common::{Folder, read_all};

#[test]
fn out_of_range() {
    let mut messages = Messages::default();
    let folder = Folder::of_rows(1, 3, 1, Codec::Null);
    let mut case = |what: &str, dataset: atds::DatasetBuilder, expected: &str| {
        let error = dataset.build().unwrap_err();
        messages.check(what, folder.message(&error), expected);
    };
    case("batch size", folder.rows(0), "`batch_size` must be above 0");
    case(
        "buffer size",
        folder.rows(1).reader_buffer_size(0),
        "`reader_buffer_size` must be above 0",
    );
    case(
        "no thread",
        folder.rows(1).threads(Threads::Fixed(0)),
        "`threads` must be from 1 to 1024, or automatic",
    );
    let most = Threads::Fixed(usize::MAX);
    case(
        "too many threads",
        folder.rows(1).threads(most),
        "`threads` must be from 1 to 1024, or automatic",
    );
}

/// The largest allowed values are accepted, and allocate nothing.
#[test]
fn the_largest_values() {
    let folder = Folder::of_rows(1, 30, 7, Codec::Deflate);
    let ids: Vec<i64> = (0..30).collect();
    let dataset = folder
        .rows(usize::MAX)
        .memory_limit(u64::MAX)
        .reader_buffer_size(1 << 24);
    assert_eq!(
        read_all(dataset.clone().build().unwrap().iter()),
        std::slice::from_ref(&ids)
    );
    let shuffled = dataset.shuffle_buffer_size(usize::MAX).seed(u64::MAX);
    let mut found = read_all(shuffled.build().unwrap().iter()).concat();
    found.sort();
    assert_eq!(found, ids);
}
