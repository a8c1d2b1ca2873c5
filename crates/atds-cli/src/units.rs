//! Numbers for people to read.

/// A count, its digits in groups of three.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count of things: `1 file`, `2 files`.
pub(crate) fn counted(n: u64, thing: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(n))
}

/// Bytes in the unit that suits them: B, kB, MB or GB, each 1,000 of the one before.
pub(crate) fn bytes(n: u64) -> String {
    let scaled = n as f64;
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", scaled / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", scaled / 1e6),
        _ => format!("{:.1} GB", scaled / 1e9),
    }
}

/// Quantity per time; 0 if there was no time.
pub(crate) fn per(quantity: f64, time: f64) -> f64 {
    if time > 0.0 { quantity / time } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(40_960), "40,960");
        assert_eq!(count(123_456_789), "123,456,789");
    }

    #[test]
    fn counted_things_are_one_or_several() {
        assert_eq!(counted(1, "file"), "1 file");
        assert_eq!(counted(0, "file"), "0 files");
        assert_eq!(counted(2_000, "file"), "2,000 files");
    }

    #[test]
    fn bytes_have_their_unit() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_500), "1.5 kB");
        assert_eq!(bytes(81_600_000), "81.6 MB");
        assert_eq!(bytes(4_294_967_296), "4.3 GB");
    }

    #[test]
    fn nothing_per_no_time_is_nothing() {
        assert_eq!(per(0.0, 0.0), 0.0);
        assert_eq!(per(3.0, 2.0), 1.5);
    }
}
