//! The checks that every format must pass in the pipeline, each with a fault that makes it fail.

mod any;
mod by_hand;
mod damage;
mod delays;
mod fault;
mod layers;
mod left_out;
mod memory;
mod order;
mod probe;
mod provenance;
mod resume;
mod running;
mod sizes;
mod slices;
mod sources;
mod splits;
mod suite;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::TestFormat;
pub use fault::Fault;
pub use suite::Suite;

/// A check of the suite.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// The name, as in the macro [`conformance`](crate::conformance!).
    pub name: &'static str,
    /// What is checked. Returns what is wrong.
    pub run: fn(&Suite<'_>) -> Result<(), String>,
    /// A fault that the check must find.
    pub fault: Fault,
    /// Whether a format can show the fault.
    pub applies: fn(&dyn TestFormat) -> bool,
}

const fn check(
    name: &'static str,
    run: fn(&Suite<'_>) -> Result<(), String>,
    fault: Fault,
) -> Check {
    Check {
        name,
        run,
        fault,
        applies: |_| true,
    }
}

/// All checks.
pub const CHECKS: &[Check] = &[
    check("in_order", order::in_order, Fault::RepeatBlock),
    check("shuffled", order::shuffled, Fault::IgnoreShuffleBuffer),
    check("window", order::window, Fault::DoubleShuffleBuffer),
    check("same_seed", order::same_seed, Fault::ForgetSeed),
    check("other_seed", order::other_seed, Fault::ConstantSeed),
    check("other_stream", order::other_stream, Fault::ConstantStream),
    check("other_epoch", order::other_epoch, Fault::IgnoreEpoch),
    check(
        "shuffled_files",
        order::shuffled_files,
        Fault::KeepFileOrder,
    ),
    check(
        "shuffled_blocks",
        order::shuffled_blocks,
        Fault::KeepBlockOrder,
    ),
    check("shuffled_runs", order::shuffled_runs, Fault::KeepRunOrder),
    check("turns", any::turns, Fault::IgnoreTurns),
    check("epochs", order::epochs, Fault::LoseEpoch),
    check("goes_on", resume::goes_on, Fault::ForgetGiven),
    check("goes_on_there", resume::goes_on_there, Fault::ForgetGiven),
    check("layers", layers::layers, Fault::ForgetLayer),
    check("shards", slices::shards, Fault::ShiftSlice),
    check("ranks", slices::ranks, Fault::IgnoreSlice),
    check("splits", splits::splits, Fault::ForgetSplit),
    check("threads", sizes::threads, Fault::SwapBatches),
    check("batch_sizes", sizes::batch_sizes, Fault::ShrinkBatches),
    check("blocks", sizes::blocks, Fault::StopAtEmptyBlock),
    check(
        "drop_remainder",
        sizes::drop_remainder,
        Fault::InvertDropRemainder,
    ),
    check("any_options", any::any_options, Fault::SwapBatches),
    check("provenance", provenance::provenance, Fault::ShiftProvenance),
    check("delays", delays::delays, Fault::SwapBatches),
    check("little_memory", delays::little_memory, Fault::DoubleLimit),
    check("memory_limit", memory::memory_limit, Fault::IgnoreLimit),
    check("named_limit", memory::named_limit, Fault::NameLessMemory),
    check("cancel", running::cancel, Fault::LeakThread),
    check("stop", running::stop, Fault::NeverStop),
    check("stop_reading", running::stop_reading, Fault::ForgetCancel),
    check(
        "slow_consumer",
        running::slow_consumer,
        Fault::IgnorePrefetch,
    ),
    check("slow_memory", running::slow_memory, Fault::IgnoreLimit),
    check("damage_rows", damage::damage_rows, Fault::KeepBadRow),
    check("damage_error", damage::damage_error, Fault::ForgetRecord),
    check("damage_end", damage::damage_end, Fault::GoOnAfterError),
    check("left_out", left_out::left_out, Fault::ForgetChoice),
    check("truncation", damage::truncation, Fault::DamageIsEnd),
    check("changed_bytes", damage::changed_bytes, Fault::LoseDamage),
    check("late_source", sources::late_source, Fault::ShortAnswerIsEnd),
    check(
        "source_errors",
        sources::source_errors,
        Fault::LoseSourceError,
    ),
    Check {
        applies: |format| format.has_ranges(),
        ..check("ranges", sources::ranges, Fault::SwapRanges)
    },
    check("pieces", by_hand::pieces, Fault::SmallPieceIsEnd),
    check("positions", by_hand::positions, Fault::SeekNowhere),
    check("rows_before", by_hand::rows_before, Fault::LoseLastRow),
    Check {
        applies: |format| format.resyncs(),
        ..check("resync", by_hand::resync, Fault::NeverResync)
    },
];

/// Runs the check `name` for a format.
///
/// # Panics
/// If the check fails.
pub fn holds(name: &str, format: &dyn TestFormat) {
    let (check, suite) = (find(name), Suite::new(format, None));
    if !(check.applies)(format) {
        return;
    }
    if let Err(wrong) = (check.run)(&suite) {
        panic!("{name} of {format:?}: {wrong}");
    }
}

/// Runs the check `name` for a format, with the fault that it must find.
///
/// # Panics
/// If the check finds nothing.
pub fn can_fail(name: &str, format: &dyn TestFormat) {
    let check = find(name);
    if !(check.applies)(format) || makes_blocks(format) && check.fault == Fault::StopAtEmptyBlock {
        return;
    }
    let suite = Suite::new(format, Some(check.fault));
    let found = catch_unwind(AssertUnwindSafe(|| (check.run)(&suite)));
    if let Ok(Ok(())) = found {
        panic!("{name} of {format:?} does not find {:?}", check.fault);
    }
}

/// Whether the framing makes the blocks of files: none of them is empty.
fn makes_blocks(format: &dyn TestFormat) -> bool {
    format.framed(&[Vec::new()]).is_empty()
}

fn find(name: &str) -> &'static Check {
    let check = CHECKS.iter().find(|check| check.name == name);
    check.unwrap_or_else(|| panic!("there is no check '{name}'"))
}

/// Makes two tests for each check: it holds for the format, and it finds its fault.
///
/// ```text
/// conformance!(toy, &ToyFiles { is_packed: false });
/// ```
#[macro_export]
macro_rules! conformance {
    ($module:ident, $format:expr) => {
        mod $module {
            #[allow(unused_imports)]
            use super::*;

            $crate::conformance! { @tests ($format)
                in_order shuffled window same_seed other_seed other_stream other_epoch shuffled_files
                shuffled_blocks shuffled_runs turns epochs goes_on goes_on_there layers shards ranks splits threads batch_sizes blocks
                drop_remainder any_options provenance delays little_memory memory_limit named_limit cancel stop
                stop_reading slow_consumer
                slow_memory damage_rows damage_error damage_end left_out truncation changed_bytes late_source source_errors
                ranges
                pieces positions rows_before resync
            }
        }
    };
    (@tests ($format:expr) $($name:ident)*) => {
        #[test]
        fn all_checks_are_run() {
            let names: Vec<_> = $crate::conformance::CHECKS.iter().map(|check| check.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }

        $(mod $name {
            use super::*;

            #[test]
            fn holds() {
                $crate::conformance::holds(stringify!($name), $format);
            }

            #[test]
            fn finds_its_fault() {
                $crate::conformance::can_fail(stringify!($name), $format);
            }
        })*
    };
}
