//! The Arrow project's reader: columns of Arrow.

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::path::Path;

use arrow_avro::reader::ReaderBuilder;

/// All records of a file, in record batches of `batch_size` rows.
pub(crate) fn read(path: &Path, batch_size: usize) -> Result<usize, Box<dyn Error>> {
    let file = BufReader::new(File::open(path)?);
    let reader = ReaderBuilder::new()
        .with_batch_size(batch_size)
        .build(file)?;
    let mut records = 0;
    for batch in reader {
        records += black_box(batch?).num_rows();
    }
    Ok(records)
}
