//! The window of blocks from which batches are drawn.

/// Number of unread records that the window must hold before a batch is drawn, unless
/// no more are left: `batch_size + shuffle_buffer_size`, saturating.
pub fn window_target(batch_size: u64, shuffle_buffer_size: u64) -> u64 {
    batch_size.saturating_add(shuffle_buffer_size)
}

/// Takes `draws` records from the front of the window, or all if there are fewer: the
/// rule without shuffling. `counts[i]` becomes the number of records taken from the
/// `unread[i]` records of block `i`.
///
/// # Panics
/// If `unread` and `counts` differ in length.
///
/// ```
/// let mut counts = [0; 3];
/// atds_shuffle::take_in_order(&[4, 5, 6], 7, &mut counts);
/// assert_eq!(counts, [4, 3, 0]);
/// ```
pub fn take_in_order(unread: &[u64], draws: u64, counts: &mut [u64]) {
    assert_eq!(unread.len(), counts.len(), "one count for each block");
    let mut left = draws;
    for (count, &unread) in counts.iter_mut().zip(unread) {
        *count = unread.min(left);
        left -= *count;
    }
}
