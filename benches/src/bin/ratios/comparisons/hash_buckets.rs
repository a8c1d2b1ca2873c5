//! Strings as hash buckets beside the strings themselves.

use atds::{Codec, Convert, DType, Feature};
use atds_generate::Preset;

use super::{Comparison, of_each};
use crate::pipeline::{BATCH_SIZE, epochs, in_batches};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "hash",
    about: "a column of strings as hash buckets beside the strings, codec null, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let files = lab.data.of(Preset::Strings, Codec::Null)?;
    let column = |(name, shape): (&str, &[usize])| -> Result<Vec<Row>> {
        let read_as = |dtype| Feature::dense(name, shape, dtype);
        let hashed = read_as(DType::Int64).with_convert(Convert::HashBuckets(BUCKETS));
        let epochs = |feature| epochs(in_batches(&files, BATCH_SIZE).features([feature]));
        let sides = [epochs(hashed)?, epochs(read_as(DType::String))?];
        lab.rows(sides, |[hashed, strings]| {
            let (a, b) = (("hash buckets", hashed), ("strings", strings));
            vec![Row::time(format!("strings, {name}"), a, b).at_most(1.3)]
        })
    };
    let columns: [(&str, &[usize]); 2] = [("s_title", &[]), ("d_words", &[4])];
    of_each(columns, column)
}

const BUCKETS: u64 = 10_000;
