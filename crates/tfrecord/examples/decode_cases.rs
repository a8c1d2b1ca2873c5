//! Decodes cases of features and records for `scripts/tfrecord_against_tensorflow.py`, which compares the
//! batches with TensorFlow's.
//!
//! Standard input has a case in a line of JSON: `{"features": [..], "records": ["hex", ..]}`. A line of
//! standard output is its batch, `{"columns": {name: ..}}`, or `{"error": text, "record": number}`.

use std::io::{self, BufRead, Write};

use serde_json::Value;

#[path = "../tests/common/cases.rs"]
mod cases;

fn main() -> io::Result<()> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let case: Value = serde_json::from_str(&line?)?;
        writeln!(output, "{}", cases::decode(&case))?;
    }
    output.flush()
}
