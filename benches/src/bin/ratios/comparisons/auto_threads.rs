//! Automatic threads against the best fixed number.

use std::thread::available_parallelism;

use atds::generate::Preset;
use atds::{Codec, Threads};

use super::Comparison;
use crate::measure::all_in_turn;
use crate::pipeline::{epochs, in_batches};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "auto",
    about: "automatic threads against the best fixed number of them, by batch size",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for codec in [Codec::Null, Codec::Deflate] {
        for batch_size in [16, 64, 256, 1_024, 8_192] {
            rows.push(row(lab, codec, batch_size)?);
        }
    }
    Ok(rows)
}

fn row(lab: &Lab, codec: Codec, batch_size: usize) -> Result<Row> {
    let files = lab.data.of(Preset::Ads, codec)?;
    let numbers = numbers(available_parallelism()?.get());
    let choices = numbers.iter().map(|&n| Threads::Fixed(n));
    let choices = [Threads::Auto].into_iter().chain(choices);
    let sides = choices.map(|threads| {
        let builder = in_batches(&files, batch_size).features(Preset::Ads.features());
        epochs(builder.threads(threads))
    });
    let times = all_in_turn(lab.effort, sides.collect::<Result<_>>()?)?;
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
    let what = format!("ads, {codec}, batch {batch_size}");
    Ok(Row::speed(what, ("auto", auto), (&label, &fixed[best])).at_least(0.95))
}

/// The numbers of threads to try on `cores`: powers of two, and all.
fn numbers(cores: usize) -> Vec<usize> {
    let powers = (0..).map(|i| 1 << i).take_while(|&n| n < cores);
    powers.chain([cores]).collect()
}
