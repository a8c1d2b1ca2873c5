use proptest::prelude::*;
use rand_core::Rng;

use super::*;

/// A window without sums, which looks at all slots in each draw: it draws what [`Window`] draws.
struct Twin {
    rng: Xoshiro256PlusPlus,
    unread: Vec<u64>,
    free: Vec<usize>,
}

impl Twin {
    fn new(seed: u64) -> Self {
        Twin {
            rng: words(seed, 0, Purpose::Window(Stream::default())),
            unread: Vec::new(),
            free: Vec::new(),
        }
    }

    fn records(&self) -> u64 {
        self.unread.iter().sum()
    }

    fn push(&mut self, records: u64) -> usize {
        let records = records.min(MAX_WINDOW_RECORDS - self.records());
        if let Some(slot) = self.free.pop() {
            self.unread[slot] = records;
            return slot;
        }
        self.unread.push(records);
        self.unread.len() - 1
    }

    fn draw(&mut self, rows: u64) -> Vec<(usize, u64)> {
        let mut slots = GROUP;
        while slots < self.unread.len() {
            slots *= GROUP;
        }
        let mut unread = self.unread.clone();
        unread.resize(slots, 0);
        let counts = counts(&unread, rows.min(self.records()), &mut self.rng);
        let mut reads = Vec::new();
        for (slot, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            reads.push((slot, count));
            self.unread[slot] -= count;
            if self.unread[slot] == 0 {
                self.free.push(slot);
            }
        }
        reads
    }
}

/// The number of rows among each of `unread`, whose length is a power of the size of a group.
fn counts(unread: &[u64], rows: u64, rng: &mut Xoshiro256PlusPlus) -> Vec<u64> {
    if rows == 0 || unread.len() == 1 {
        return vec![rows; unread.len()];
    }
    let parts: Vec<&[u64]> = unread.chunks(unread.len() / GROUP).collect();
    let mut left: Vec<u64> = parts.iter().map(|part| part.iter().sum()).collect();
    let mut rows_of = [0; GROUP];
    if rows <= MAX_PICKED {
        for _ in 0..rows {
            let mut record = below(left.iter().sum(), rng);
            let mut at = 0;
            while record >= left[at] {
                record -= left[at];
                at += 1;
            }
            left[at] -= 1;
            rows_of[at] += 1;
        }
    } else {
        for at in 0..GROUP {
            let others: u64 = rows_of.iter().sum();
            rows_of[at] = hypergeometric(left[at..].iter().sum(), left[at], rows - others, rng);
        }
    }
    let parts = parts.into_iter().zip(rows_of);
    parts
        .flat_map(|(part, rows)| counts(part, rows, rng))
        .collect()
}

fn draw(window: &mut Window, rows: u64) -> Vec<(usize, u64)> {
    let mut reads = Vec::new();
    window.draw(rows, |slot, records| reads.push((slot, records)));
    reads
}

/// Blocks that are added, and rows that are drawn after that.
fn steps() -> impl Strategy<Value = Vec<(Vec<u64>, u64)>> {
    let block = prop_oneof![4 => 1u64..30, 2 => 0u64..3, 1 => 0u64..3_000, 1 => 0u64..1 << 40];
    let blocks = proptest::collection::vec(block, 0..120);
    let rows = prop_oneof![4 => 0u64..80, 2 => 0u64..2_000, 1 => 0u64..1 << 42];
    proptest::collection::vec((blocks, rows), 1..12)
}

proptest! {
    #[test]
    fn the_twin_draws_the_same(steps in steps(), seed: u64) {
        let mut window = Window::new(seed, 0, Stream::default());
        let mut twin = Twin::new(seed);
        for (blocks, rows) in steps {
            for records in blocks {
                prop_assert_eq!(window.push(records), twin.push(records));
            }
            prop_assert_eq!(draw(&mut window, rows), twin.draw(rows));
            prop_assert_eq!(window.records(), twin.records());
        }
    }
}

/// A window of `slots` blocks of `records` records.
fn window(slots: usize, records: u64) -> Window {
    let mut window = Window::new(1, 0, Stream::default());
    for slot in 0..slots {
        assert_eq!(window.push(records), slot);
    }
    window
}

/// Number of random words of a draw.
fn words_of_draw(window: &mut Window, rows: u64) -> u64 {
    let mut before = window.rng.clone();
    draw(window, rows);
    let mut words = 0;
    while before != window.rng {
        before.next_u64();
        words += 1;
    }
    words
}

#[test]
fn work_grows_with_rows_and_not_with_slots() {
    for rows in [1, 2, 64, 1_024] {
        // The tree has as many levels as slots have octal digits, and a row takes a word of each.
        for (slots, levels) in [
            (8, 1),
            (9, 2),
            (500, 3),
            (32_768, 5),
            (32_769, 6),
            (200_000, 6),
        ] {
            let words = words_of_draw(&mut window(slots, 1_000), rows);
            // Eight counts, for each of which the rows that are left take a word.
            let most = 5 * rows * levels;
            assert!(words <= most, "{words} words: {rows} of {slots} slots");
        }
    }
}

#[test]
fn work_does_not_grow_with_records() {
    for records in [1_000, 1_000_000, 1_000_000_000, 1 << 42] {
        for rows in [10_000, 64 * records / 10, 64 * records - 10] {
            let words = words_of_draw(&mut window(64, records), rows);
            let counts = 8 + 64;
            let most = counts * crate::limits::MAX_SIMULATED;
            assert!(words <= most, "{words} words: {rows} of 64 * {records}");
        }
    }
}

#[test]
fn trivial_draws_take_no_words() {
    assert_eq!(words_of_draw(&mut window(10, 8), 0), 0);
    assert_eq!(words_of_draw(&mut window(8, 8), 64), 0);
    assert_eq!(words_of_draw(&mut window(64, 8), u64::MAX), 0);
    assert_eq!(words_of_draw(&mut window(10, 0), 5), 0);
    assert_eq!(words_of_draw(&mut window(1, 1 << 61), 1 << 60), 0);
}

#[test]
fn records_beyond_the_limit_are_left_out() {
    let mut window = Window::new(0, 0, Stream::default());
    for records in [3, u64::MAX, 7, u64::MAX] {
        window.push(records);
    }
    assert_eq!(window.records(), MAX_WINDOW_RECORDS);
    let reads = draw(&mut window, MAX_WINDOW_RECORDS / 2);
    let all: u64 = reads.iter().map(|(_, records)| records).sum();
    assert_eq!(all, MAX_WINDOW_RECORDS / 2);
    let reads = draw(&mut window, u64::MAX);
    assert_eq!(reads.last().map(|(slot, _)| *slot), Some(1));
    assert_eq!(window.records(), 0);
    assert_eq!(draw(&mut window, 1), []);
    // Slots without records are never free.
    assert_eq!([5, 5, 5].map(|records| window.push(records)), [1, 0, 4]);
    assert_eq!(draw(&mut window, 20), [(0, 5), (1, 5), (4, 5)]);
}
