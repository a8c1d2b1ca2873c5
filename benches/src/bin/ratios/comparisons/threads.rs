//! Two threads against one.

use std::path::PathBuf;
use std::thread;

use atds::generate::Preset;
use atds::{Codec, Dataset, Threads};

use super::Comparison;
use crate::data::Files;
use crate::measure::{Epoch, in_turn};
use crate::pipeline::{BATCH_SIZE, epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "threads",
    about: "two threads, and two pipelines of one thread each, against one",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    // Null is bound by memory.
    let codecs = [(Codec::Deflate, 1.85), (Codec::Null, 1.6)];
    let rows = codecs.map(|(codec, least)| -> Result<_> {
        let files = lab.data.of(Preset::Ads, codec)?;
        let with = |threads| epochs(pipeline(&files, Preset::Ads).threads(Threads::Fixed(threads)));
        let [two, one, apart] = in_turn(lab.effort, [with(2)?, with(1)?, apart(&files)?])?;
        let row = |a| Row::speed(format!("ads, {codec}"), a, ("one", &one));
        Ok([
            row(("two", &two)).at_least(least),
            row(("two pipelines of one", &apart)),
        ])
    });
    let rows: Vec<_> = rows.into_iter().collect::<Result<_>>()?;
    Ok(rows.concat())
}

/// Two pipelines of one thread at the same time, that have nothing to do with one another, half of
/// the files in each: about what the machine gives to two threads at the time.
fn apart(files: &Files) -> Result<Epoch<'static>> {
    let (one, other) = files.paths.split_at(files.paths.len() / 2);
    let half = |paths: &[PathBuf]| {
        let builder = Dataset::builder(paths, BATCH_SIZE).mmap(true);
        let builder = builder.features(Preset::Ads.features());
        builder.threads(Threads::Fixed(1)).build()
    };
    let halves = [half(one)?, half(other)?];
    Ok(Box::new(move || {
        let records = |half: &Dataset| -> std::result::Result<u64, atds::Error> {
            half.iter().map(|batch| Ok(batch?.rows() as u64)).sum()
        };
        let [one, other] = &halves;
        let (one, other) = thread::scope(|scope| {
            let one = scope.spawn(|| records(one));
            let other = records(other);
            (one.join(), other)
        });
        Ok(one.map_err(|_| "a pipeline panicked")?? + other?)
    }))
}
