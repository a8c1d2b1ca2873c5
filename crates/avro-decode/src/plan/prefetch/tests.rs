use super::*;

/// The prefetch after records of `len` bytes.
fn after_records_of(len: usize) -> SkipPrefetch {
    let mut prefetch = SkipPrefetch::default();
    (0..3).for_each(|_| prefetch.end_record(len));
    prefetch
}

#[test]
fn the_requests_of_a_record_cover_a_record() {
    let data = vec![0; 16_000];
    for (slow_skips, asks) in [(0, 0), (1, 1), (5, 5), (8, 8)] {
        let mut prefetch = after_records_of(2_000);
        prefetch.begin(&data, 0, 8, slow_skips);
        prefetch.begin_record(&data, 100);
        (0..asks).for_each(|_| prefetch.ask());
        let asked = prefetch.next - data.as_ptr().addr() - 100 - DISTANCE;
        let most = MOST_PAIRS * PAIR * slow_skips.max(1);
        assert!(asked >= most.min(2_000), "{asked} by {slow_skips}");
        assert!(
            asked < 2_000 + slow_skips.max(1) * PAIR,
            "{asked} by {slow_skips}"
        );
    }
}

#[test]
fn requests_end_with_the_records_that_are_read() {
    let data = vec![0; 16_000];
    let here = data.as_ptr().addr();
    for (records, end) in [(1, here + 2_000), (3, here + 6_000), (8, usize::MAX)] {
        let mut prefetch = after_records_of(2_000);
        prefetch.begin(&data, 0, records, 8);
        assert_eq!(prefetch.end, end);
        prefetch.begin_record(&data, 0);
        prefetch.ask();
        let first = here + DISTANCE;
        assert_eq!(prefetch.next > first, end > first);
    }
}

#[test]
fn bytes_that_were_not_asked_for_are_not_taken_for_known() {
    let data = vec![0; 16_000];
    let here = data.as_ptr().addr();
    // A record is read alone, so only its first bytes are prefetched.
    let mut prefetch = after_records_of(2_000);
    prefetch.begin(&data, 0, 1, 8);
    prefetch.begin_record(&data, 0);
    prefetch.ask();
    assert_eq!(prefetch.asked(), here + 2_000);
    // A plan without prefetching requests nothing.
    prefetch.rest();
    prefetch.begin_record(&data, 2_000);
    assert_eq!(prefetch.asked(), 0);
    // With eight records, later bytes are prefetched.
    prefetch.begin(&data, 0, 8, 1);
    prefetch.begin_record(&data, 0);
    prefetch.ask();
    assert_eq!(prefetch.asked(), here + DISTANCE + MOST_PAIRS * PAIR);
}

/// Number of operations that make a request.
fn asking(prefetch: &mut NextBlockPrefetch) -> usize {
    let ask = || {
        let is_left = !prefetch.is_over();
        prefetch.ask();
        is_left.then_some(())
    };
    std::iter::from_fn(ask).count()
}

#[test]
fn an_operation_asks_for_a_few_lines_of_the_next_block() {
    let bytes = [0; 100 * LINE];
    for (len, expected) in [
        (100 * LINE, 50),
        (99 * LINE, 50),
        (2 * LINE, 1),
        (LINE, 1),
        (1, 1),
        (0, 0),
    ] {
        let mut prefetch = NextBlockPrefetch::of(&bytes[..len]);
        assert_eq!(asking(&mut prefetch), expected, "{len}");
    }
}

#[test]
fn lines_that_few_operations_do_not_come_to_are_asked_for_first() {
    let bytes = [0; 100 * LINE];
    for (operations, expected) in [(60, 50), (50, 50), (49, 49), (1, 1), (0, 0)] {
        let mut prefetch = NextBlockPrefetch::of(&bytes);
        prefetch.begin(operations);
        assert_eq!(asking(&mut prefetch), expected, "{operations}");
    }
}

#[test]
fn the_end_asks_for_all_remaining_lines() {
    let mut prefetch = NextBlockPrefetch::of(&[0; 1_000]);
    prefetch.ask();
    assert!(!prefetch.is_over());
    prefetch.end();
    assert!(prefetch.is_over());
}

#[test]
fn only_the_first_lines_of_a_large_block_are_asked_for() {
    let bytes = vec![0; 1_000 * LINE];
    let mut prefetch = NextBlockPrefetch::of(&bytes);
    assert_eq!(asking(&mut prefetch), MOST_LINES / LINES);
}
