//! Random delays where one thread hands something over to another: a test option of builds with debug
//! assertions. Other builds have none of it.

use std::cell::Cell;
use std::panic::Location;
use std::thread;
use std::time::Duration;

thread_local! {
    /// The seed, and the number drawn last.
    static DELAYS: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// Delays this thread from now on, with a `seed`.
pub(crate) fn begin(seed: Option<u64>, thread: usize) {
    DELAYS.set(seed.map(|seed| (seed, mixed(seed ^ thread as u64))));
}

/// Perhaps delays this thread. Each seed has other places where delays are frequent and long: one
/// thread then falls behind the others there.
#[track_caller]
#[inline(always)]
pub(crate) fn hand_over() {
    if cfg!(debug_assertions) {
        delay(Location::caller().line());
    }
}

fn delay(line: u32) {
    let Some((seed, last)) = DELAYS.get() else {
        return;
    };
    let random = mixed(last);
    DELAYS.set(Some((seed, random)));
    let place = mixed(seed ^ u64::from(line) << 32);
    let odds = if place.is_multiple_of(4) { 2 } else { 64 };
    if random.is_multiple_of(odds) {
        thread::sleep(Duration::from_micros((random >> 32) % 300));
    } else if random % 8 == 1 {
        thread::yield_now();
    }
}

/// SplitMix64's step: numbers that look random.
fn mixed(from: u64) -> u64 {
    let mut z = from.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
