//! The Arrow project's reader: columns of Arrow.

use std::error::Error;
use std::hint::black_box;
use std::io::BufRead;

use arrow_avro::reader::ReaderBuilder;

/// All records of a file, in record batches of `batch_size` rows.
pub(crate) fn read(file: impl BufRead, batch_size: usize) -> Result<usize, Box<dyn Error>> {
    let reader = ReaderBuilder::new()
        .with_batch_size(batch_size)
        .build(file)?;
    let mut records = 0;
    for batch in reader {
        records += black_box(batch?).num_rows();
    }
    Ok(records)
}
