//! Compares the automatic number of threads with fixed ones.

use std::error::Error;

use atds_sched::Threads;

use crate::Args;
use crate::case::Case;
use crate::measure::measure;

/// The least share of the throughput of the best fixed number.
const LEAST: f64 = 0.9;

/// Compares all cases. Returns whether all hold, where that is asked for.
pub(crate) fn compare(args: &Args, cases: &[Case]) -> Result<bool, Box<dyn Error>> {
    println!("| case, cores in place of threads | best fixed number | automatic over best | |");
    println!("|---|---:|---:|---|");
    let mut failed = 0;
    for case in cases {
        let mut share = 0.0;
        for _ in 0..=args.again {
            let (best, number) = best_fixed(case, args.seconds)?;
            share = measure(case, args.seconds, Threads::Auto)?.worth / best;
            let verdict = if share < LEAST { "below" } else { "" };
            println!("| {} | {number} | {share:.2} | {verdict} |", case.name());
            if share >= LEAST {
                break;
            }
        }
        failed += usize::from(share < LEAST);
    }
    println!("{failed} of {} cases are below {LEAST}.", cases.len());
    Ok(!args.check || failed == 0)
}

/// The best throughput of a fixed number of threads, as a share of what a thread for each core could
/// make, and that number.
fn best_fixed(case: &Case, seconds: f64) -> Result<(f64, usize), Box<dyn Error>> {
    let (mut best, mut best_number) = (0.0, 0);
    for number in (0..4).map(|halves| case.threads >> halves) {
        // Fewer threads make their share at most.
        if best >= number as f64 / case.threads as f64 {
            break;
        }
        let worth = measure(case, seconds, Threads::Fixed(number))?.worth;
        if worth > best {
            (best, best_number) = (worth, number);
        }
    }
    Ok((best, best_number))
}
