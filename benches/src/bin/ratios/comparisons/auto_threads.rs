//! Automatic threads beside the best fixed number.

use std::thread::available_parallelism;

use atds::{Codec, Threads};
use atds_generate::Preset;

use super::{Comparison, of_each};
use crate::pipeline::{epochs, in_batches};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "auto",
    about: "automatic threads beside the best fixed number, by batch size, for mapped files and plain reads",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    // A plain read copies the files, on cores that the reader shares with the workers.
    let ways = [("mapped", true), ("read", false)];
    of_each(ways, |way| {
        of_each([Codec::Null, Codec::Deflate], |codec| {
            of_each([16, 64, 256, 1_024, 8_192], |batch_size| {
                row(lab, way, codec, batch_size)
            })
        })
    })
}

fn row(lab: &Lab, way: (&str, bool), codec: Codec, batch_size: usize) -> Result<Vec<Row>> {
    let (way, mmap) = way;
    let files = lab.data.of(Preset::Ads, codec)?;
    let numbers = numbers(available_parallelism()?.get());
    let choices = numbers.iter().map(|&n| Threads::Fixed(n));
    let choices = [Threads::Auto].into_iter().chain(choices);
    let sides = choices.map(|threads| {
        let builder = in_batches(&files, batch_size).features(Preset::Ads.features());
        epochs(builder.threads(threads).mmap(mmap))
    });
    lab.rows_of_all(sides.collect::<Result<_>>()?, |times| {
        let (auto, fixed) = times
            .split_first()
            .expect("automatic threads are the first");
        let by_speed = |a: &usize, b: &usize| {
            let speed = |i: usize| fixed[i].median_speed();
            speed(*a).total_cmp(&speed(*b))
        };
        let best = (0..fixed.len())
            .max_by(by_speed)
            .expect("one thread at least");
        let label = format!("fixed to {}", numbers[best]);
        let what = format!("ads, {codec}, {way}, batch {batch_size}");
        vec![Row::speed(what, ("auto", auto), (&label, &fixed[best])).at_least(0.95)]
    })
}

/// The numbers of threads to try on `cores`: powers of two, and all.
fn numbers(cores: usize) -> Vec<usize> {
    let powers = (0..).map(|i| 1 << i).take_while(|&n| n < cores);
    powers.chain([cores]).collect()
}
