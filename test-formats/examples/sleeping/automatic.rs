//! Compares the automatic number of threads with fixed ones.

use std::error::Error;

use atds_sched::Threads;

use crate::Args;
use crate::case::{Case, Kind};
use crate::measure::measure;

/// The least share of the throughput of the best fixed number.
const LEAST: f64 = 0.9;

/// Compares cases with even sleeps and blocks of 100. Returns whether all hold, where that is asked for.
pub(crate) fn compare(args: &Args, cases: &[Case]) -> Result<bool, Box<dyn Error>> {
    println!("| case, cores in place of threads | best fixed number | automatic over best | |");
    println!("|---|---:|---:|---|");
    let mut all_hold = true;
    let is_chosen = |case: &&Case| case.kind == Kind::Even && case.block == 100;
    for case in cases.iter().filter(is_chosen) {
        let mut share = 0.0;
        for _ in 0..=args.again {
            let rate = |workers| {
                // The number of rows a second, as a share of what all threads could make.
                let figure = measure(case, args.seconds, workers)?;
                Ok::<_, Box<dyn Error>>(figure.worth)
            };
            let (mut best, mut best_number) = (0.0, 0);
            for number in [1, 2, 4, 8, 16, 32, 64] {
                // Fewer threads take as much longer: a quarter of the cores is the least of interest.
                if number <= case.threads && number * 4 >= case.threads {
                    let rate = rate(Threads::Fixed(number))?;
                    if rate > best {
                        (best, best_number) = (rate, number);
                    }
                }
            }
            share = rate(Threads::Auto)? / best;
            let verdict = if share < LEAST { "below" } else { "" };
            println!(
                "| {} | {best_number} | {share:.2} | {verdict} |",
                case.name()
            );
            if share >= LEAST {
                break;
            }
        }
        all_hold &= share >= LEAST;
    }
    Ok(!args.check || all_hold)
}
