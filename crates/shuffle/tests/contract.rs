//! Properties of the sampler for any window.

#![allow(clippy::unwrap_used)]

use atds_shuffle::{
    MAX_WINDOW_RECORDS, ParseStateError, Sampler, SamplerState, block_order, file_order,
    take_in_order, window_target,
};
use proptest::prelude::*;

/// Blocks of few to the maximum number of records.
fn unread() -> impl Strategy<Value = Vec<u64>> {
    let block = prop_oneof![0u64..20, 0u64..3_000, 0u64..1 << 48, any::<u64>()];
    proptest::collection::vec(block, 0..40)
}

fn draws() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..2_000, 0u64..1 << 50, any::<u64>()]
}

/// Number of records that a draw considers: those of the window, up to the limit.
fn available(unread: &[u64]) -> u64 {
    let total = unread
        .iter()
        .map(|&unread| u128::from(unread))
        .sum::<u128>();
    total.min(u128::from(MAX_WINDOW_RECORDS)) as u64
}

proptest! {
    #[test]
    fn counts_are_within_blocks_and_add_up(
        unread in unread(), draws in draws(), seed: u64, epoch: u64,
    ) {
        let mut counts = vec![u64::MAX; unread.len()];
        Sampler::new(seed, epoch).draw(&unread, draws, &mut counts);
        prop_assert!(counts.iter().zip(&unread).all(|(count, unread)| count <= unread));
        prop_assert_eq!(counts.iter().sum::<u64>(), draws.min(available(&unread)));
    }

    #[test]
    fn a_restored_sampler_goes_on_alike(
        unread in unread(), batches in proptest::collection::vec(draws(), 1..10),
        seed: u64, epoch: u64, saved_after in 0usize..10,
    ) {
        let run = |restore_after: Option<usize>| {
            let mut sampler = Sampler::new(seed, epoch);
            let mut unread = unread.clone();
            let mut all = Vec::new();
            for (batch, &draws) in batches.iter().enumerate() {
                if restore_after == Some(batch) {
                    let text = sampler.state().to_string();
                    sampler = Sampler::from_state(text.parse().unwrap());
                }
                let mut counts = vec![0; unread.len()];
                sampler.draw(&unread, draws, &mut counts);
                unread.iter_mut().zip(&counts).for_each(|(unread, count)| *unread -= count);
                all.push(counts);
            }
            (all, sampler.state())
        };
        prop_assert_eq!(run(None), run(Some(saved_after)));
    }

    #[test]
    fn without_shuffling_the_front_goes_first(unread in unread(), draws in draws()) {
        let mut counts = vec![u64::MAX; unread.len()];
        take_in_order(&unread, draws, &mut counts);
        let (mut taken, mut cut) = (0u128, false);
        for (&count, &unread) in counts.iter().zip(&unread) {
            prop_assert!(count <= unread);
            prop_assert!(!cut || count == 0, "a block after a block that is not drained");
            cut |= count < unread;
            taken += u128::from(count);
        }
        let total = unread.iter().map(|&unread| u128::from(unread)).sum::<u128>();
        prop_assert_eq!(taken, total.min(u128::from(draws)));
    }

    #[test]
    fn orders_are_permutations(seed: u64, epoch: u64, file: u64, len in 0usize..200) {
        for mut order in [file_order(seed, epoch, len), block_order(seed, epoch, file, len)] {
            order.sort_unstable();
            prop_assert!(order.into_iter().eq(0..len));
        }
    }

    #[test]
    fn states_are_read_back(seed: u64, epoch: u64, draws: u64) {
        let state = SamplerState { seed, epoch, draws };
        prop_assert_eq!(state.to_string().parse(), Ok(state));
        prop_assert_eq!(Sampler::from_state(state).state(), state);
    }

    #[test]
    fn no_text_panics(text in "(seed|epoch|draws|=|[0-9]{1,25}| ){0,9}") {
        let parsed: Result<SamplerState, ParseStateError> = text.parse();
        if let Ok(state) = parsed {
            prop_assert_eq!(state.to_string().parse(), Ok(state));
        }
    }
}

#[test]
fn texts_that_are_no_state_are_told_apart() {
    use ParseStateError::{Missing, NotANumber, Trailing};
    let field = "epoch";
    for (text, error, message) in [
        (
            "",
            Missing { field: "seed" },
            "expected 'seed=' and a number",
        ),
        (
            "seed=1",
            Missing { field },
            "expected 'epoch=' and a number",
        ),
        (
            "seed=1 draws=2",
            Missing { field },
            "expected 'epoch=' and a number",
        ),
        (
            "seed=1 epoch=-2 draws=3",
            NotANumber { field },
            "'epoch' is not a number from 0 to 18446744073709551615",
        ),
        (
            "seed=1 epoch=2 draws=3 x",
            Trailing,
            "something follows 'draws'",
        ),
    ] {
        assert_eq!(text.parse::<SamplerState>(), Err(error.clone()), "{text}");
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn the_window_holds_a_batch_and_the_shuffle_buffer() {
    assert_eq!(window_target(1_024, 8_192), 9_216);
    assert_eq!(window_target(1, u64::MAX), u64::MAX);
}

#[test]
#[should_panic = "one count for each block"]
fn counts_of_another_length_are_a_mistake() {
    Sampler::new(0, 0).draw(&[1, 2], 1, &mut [0]);
}

#[cfg(feature = "serde")]
#[test]
fn states_are_serialised_by_field() {
    let state = SamplerState {
        seed: u64::MAX,
        epoch: 3,
        draws: 17,
    };
    let json = serde_json::to_string(&state).unwrap();
    assert_eq!(
        json,
        r#"{"seed":18446744073709551615,"epoch":3,"draws":17}"#
    );
    assert_eq!(serde_json::from_str::<SamplerState>(&json).unwrap(), state);
}
