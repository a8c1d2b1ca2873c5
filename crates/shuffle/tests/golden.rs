//! Pins what seed, epoch and stream give: the same on every platform and in every release, since saved
//! positions rely on it.

use atds_shuffle::{Stream, Window, block_order, file_order, run_order};

#[test]
fn orders_are_pinned() {
    // From an implementation in Python.
    assert_eq!(file_order(42, 3, 10), [7, 0, 4, 1, 2, 5, 6, 8, 9, 3]);
    assert_eq!(block_order(42, 3, 5, 10), [6, 3, 5, 2, 8, 7, 9, 4, 1, 0]);
    assert_eq!(
        block_order(u64::MAX, u64::MAX, u64::MAX, 6),
        [5, 0, 3, 2, 4, 1]
    );
    assert_eq!(run_order(42, 3, 10), [8, 0, 9, 6, 1, 5, 4, 2, 3, 7]);
    assert_eq!(run_order(u64::MAX, u64::MAX, 6), [4, 0, 2, 1, 5, 3]);
}

/// A window of blocks with `unread` records.
fn window(seed: u64, stream: Stream, unread: impl IntoIterator<Item = u64>) -> Window {
    let mut window = Window::new(seed, 3, stream);
    for records in unread {
        window.push(records);
    }
    window
}

/// The numbers of records that the first `N` slots give.
fn draw<const N: usize>(window: &mut Window, rows: u64) -> [u64; N] {
    let mut counts = [0; N];
    window.draw(rows, |slot, records| counts[slot] = records);
    counts
}

#[test]
fn draws_from_few_blocks_are_pinned() {
    // From an implementation in Python.
    let mut window = window(42, Stream::default(), [8, 1, 20, 0, 5, 30, 2]);
    assert_eq!(draw(&mut window, 12), [0, 0, 4, 0, 0, 8, 0]);
    assert_eq!(draw(&mut window, 12), [1, 0, 5, 0, 0, 6, 0]);
    assert_eq!(draw(&mut window, 12), [2, 0, 3, 0, 2, 5, 0]);
}

#[test]
fn draws_of_a_worker_are_pinned() {
    // From an implementation in Python.
    let (layer, rank, worker) = (1, 2, 3);
    let unread = (0..80).map(|i| i * 7 % 11);
    let mut window = window(
        42,
        Stream {
            layer,
            rank,
            worker,
        },
        unread,
    );
    for expected in [
        "02353232051021531410210324314504201143041032012320301410415103102103033032131012",
        "04012061112042330330620215114011103233011031041521240330122315303002151252041031",
    ] {
        let counts: [u64; 80] = draw(&mut window, 150);
        let digits: String = counts.iter().map(u64::to_string).collect();
        assert_eq!(digits, expected);
    }
}

#[test]
fn slots_that_are_given_again_are_pinned() {
    // From an implementation in Python.
    let mut window = Window::new(7, 1, Stream::default());
    let mut blocks = 0;
    for _ in 0..199 {
        fill(&mut window, &mut blocks);
        window.draw(20, |_, _| {});
    }
    fill(&mut window, &mut blocks);
    let mut reads = Vec::new();
    window.draw(20, |slot, records| reads.push((slot, records)));
    let slots = [
        1, 2, 15, 23, 25, 30, 39, 40, 41, 44, 45, 48, 49, 52, 53, 55, 56,
    ];
    assert_eq!(
        reads,
        slots.map(|slot| (slot, if [23, 41, 53].contains(&slot) { 2 } else { 1 }))
    );
}

fn fill(window: &mut Window, blocks: &mut u64) {
    while window.records() < 120 {
        window.push(1 + *blocks * 5 % 9);
        *blocks += 1;
    }
}

#[test]
fn draws_from_large_blocks_are_pinned() {
    let mut small = window(42, Stream::default(), [1_000, 20_000, 3, 500, 100_000]);
    assert_eq!(draw(&mut small, 30_000), [239, 5_010, 0, 133, 24_618]);
    let unread = [1 << 40, 1 << 20, 1 << 47, 1 << 30, 1 << 44];
    let mut window = window(42, Stream::default(), unread);
    assert_eq!(
        draw(&mut window, 1 << 45),
        [
            242_648_956_822,
            231_949,
            31_059_096_932_057,
            236_984_396,
            3_882_388_983_608
        ]
    );
}
