//! TFRecord: the crate `tfrecord`, and the framing of `atds-tfrecord` alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use atds_tfrecord::{Frame, Framer, Records};
use bytes::Bytes;
use tfrecord::record_reader::RecordReaderConfig;
use tfrecord::{BytesIter, ExampleIter};

/// Both checksums are verified.
fn config() -> RecordReaderConfig {
    RecordReaderConfig {
        check_integrity: true,
    }
}

/// All records of a file as Examples.
pub(crate) fn examples(path: &Path) -> Result<usize, Box<dyn Error>> {
    let mut records = 0;
    for example in ExampleIter::open(path, config())? {
        black_box(example?);
        records += 1;
    }
    Ok(records)
}

/// All records of a file as bytes.
pub(crate) fn raw(path: &Path) -> Result<usize, Box<dyn Error>> {
    let mut records = 0;
    for record in BytesIter::open(path, config())? {
        black_box(record?);
        records += 1;
    }
    Ok(records)
}

thread_local! {
    static FILES: RefCell<HashMap<PathBuf, Bytes>> = RefCell::default();
}

/// All records of a file that is in memory since the epoch that does not count, with both checksums.
pub(crate) fn framed(path: &Path) -> Result<usize, Box<dyn Error>> {
    let file = FILES.with_borrow(|files| files.get(path).cloned());
    let file = match file {
        Some(file) => file,
        None => {
            let file = Bytes::from(fs::read(path)?);
            FILES.with_borrow_mut(|files| files.insert(path.to_owned(), file.clone()));
            file
        }
    };
    let mut framer = Framer::default();
    framer.push(file);
    framer.end();
    let mut records = 0;
    while let Frame::Block(block) = framer.next()? {
        for record in Records::new(&block.payload) {
            let record = record?;
            record.verify()?;
            black_box(record.data);
            records += 1;
        }
    }
    Ok(records)
}
