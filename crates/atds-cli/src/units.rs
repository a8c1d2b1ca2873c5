//! Formats numbers and sizes for people, and parses sizes.
//!
//! Measured sizes are rounded to B, kB, MB or GB. Limits are printed exactly, in the largest unit
//! that has a whole number.

/// A number with its digits in groups of three.
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

/// A number with a noun: `1 file`, `2 files`.
pub(crate) fn counted(n: u64, thing: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(n))
}

/// A size in B, kB, MB or GB, with factors of 1,000.
pub(crate) fn bytes(n: u64) -> String {
    let scaled = n as f64;
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", scaled / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", scaled / 1e6),
        _ => format!("{:.1} GB", scaled / 1e9),
    }
}

/// Units of sizes, with their number of bytes.
const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

/// An exact limit in bytes, in the largest unit that gives a whole number.
pub(crate) fn limit(n: u64) -> String {
    let whole = UNITS.iter().filter(|(_, unit)| n.is_multiple_of(*unit));
    let (unit, bytes) = whole.max_by_key(|(_, unit)| unit).unwrap_or(&UNITS[0]);
    match n {
        0 => "0 B".to_owned(),
        n => format!("{} {unit}", count(n / bytes)),
    }
}

/// Reads a size: a number of bytes, or of a unit, such as `1000000`, `64kB`, `1.5MiB` or `4 GiB`.
/// Units may be in lower case.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c| !is_digit(c)).unwrap_or(text.len()));
    let unit = unit.trim_start();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(must_be_bytes());
    }
    if let [letter @ (b'k' | b'K' | b'm' | b'M' | b'g' | b'G' | b't' | b'T')] = unit.as_bytes() {
        let letter = char::from(*letter).to_ascii_uppercase();
        let thousand = if letter == 'K' { 'k' } else { letter };
        return Err(format!(
            "say {number}{thousand}B, in units of 1,000, or {number}{letter}iB, of 1,024"
        ));
    }
    let known = UNITS.iter();
    let mut known = known.filter(|(name, _)| name.eq_ignore_ascii_case(unit) || unit.is_empty());
    let (_, bytes) = known.next().ok_or_else(must_be_bytes)?;
    let too_large = || "is too large".to_owned();
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let part = part_of(*bytes, fraction).ok_or("is not a whole number of bytes")?;
    let total = whole.checked_mul(*bytes);
    total
        .and_then(|total| total.checked_add(part))
        .ok_or_else(too_large)
}

/// The decimals `fraction` of `bytes`, if that is a whole number.
fn part_of(bytes: u64, fraction: &str) -> Option<u64> {
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        return Some(0);
    }
    let scale = 10u128.checked_pow(fraction.len().try_into().ok()?)?;
    let part = fraction.parse::<u128>().ok()?.checked_mul(bytes.into())?;
    let part = part.is_multiple_of(scale).then_some(part / scale)?;
    u64::try_from(part).ok()
}

fn must_be_bytes() -> String {
    "must be bytes, such as 1000000, 64kB, 64KiB, 512MB or 4GiB".to_owned()
}

/// Percentages of `parts`, rounded by the largest remainder so that they add up to 100. All are 0
/// if the sum is 0.
pub(crate) fn percentages<const N: usize>(parts: [f64; N]) -> [u32; N] {
    let whole: f64 = parts.iter().sum();
    if whole <= 0.0 {
        return [0; N];
    }
    let exact = parts.map(|part| 100.0 * part / whole);
    let mut percent = exact.map(|share| share as u32);
    let mut order: [usize; N] = std::array::from_fn(|i| i);
    let remainder = |i: usize| exact[i] - exact[i].floor();
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)));
    let missing = 100 - percent.iter().sum::<u32>();
    for i in order.into_iter().take(missing as usize) {
        percent[i] += 1;
    }
    percent
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
    fn limits_are_exact() {
        for (n, text) in [
            (0, "0 B"),
            (1, "1 B"),
            (1_000, "1 kB"),
            (1_024, "1 KiB"),
            (1_000_001, "1,000,001 B"),
            (64_000_000, "64 MB"),
            (1_024_000, "1,000 KiB"),
            (4 << 30, "4 GiB"),
            (u64::MAX, "18,446,744,073,709,551,615 B"),
        ] {
            assert_eq!(limit(n), text);
            assert_eq!(parse_bytes(&text.replace(',', "")), Ok(n));
        }
    }

    #[test]
    fn sizes_are_read_in_every_unit() {
        for (text, n) in [
            ("0", 0),
            ("1000", 1_000),
            ("12B", 12),
            ("12 b", 12),
            ("64kB", 64_000),
            ("64KB", 64_000),
            ("64kb", 64_000),
            ("64KiB", 65_536),
            ("64kib", 65_536),
            ("512MB", 512_000_000),
            ("512MiB", 512 << 20),
            ("4GB", 4_000_000_000),
            ("4GiB", 4 << 30),
            (" 4 GiB ", 4 << 30),
            ("1.5GiB", 3 << 29),
            ("0.25 MB", 250_000),
            ("1.50kB", 1_500),
            ("2TB", 2_000_000_000_000),
            ("1TiB", 1 << 40),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_bytes(text), Ok(n), "{text}");
        }
        let must = must_be_bytes();
        for bad in [
            "", "GiB", "-1", "+1", "1.", ".5kB", "1.2.3kB", "1e6", "4GBit", "4 GiB x", "1_000",
            "0x10",
        ] {
            assert_eq!(parse_bytes(bad), Err(must.clone()), "{bad}");
        }
        for large in [
            "18446744073709551616",
            "18446744073709551615GiB",
            "20000000TiB",
        ] {
            assert_eq!(
                parse_bytes(large),
                Err("is too large".to_owned()),
                "{large}"
            );
        }
        for part in ["1.5", "1.0001kB", "0.1KiB"] {
            let error = "is not a whole number of bytes".to_owned();
            assert_eq!(parse_bytes(part), Err(error), "{part}");
        }
        let error = "say 4GB, in units of 1,000, or 4GiB, of 1,024".to_owned();
        assert_eq!(parse_bytes("4g"), Err(error));
        let error = "say 1.5kB, in units of 1,000, or 1.5KiB, of 1,024".to_owned();
        assert_eq!(parse_bytes("1.5K"), Err(error));
    }

    #[test]
    fn percentages_add_up() {
        assert_eq!(percentages([1.0, 1.0, 1.0]), [34, 33, 33]);
        assert_eq!(percentages([0.0, 2.0]), [0, 100]);
        assert_eq!(percentages([0.0, 0.0]), [0, 0]);
        assert_eq!(percentages([0.005, 0.005, 0.99]), [1, 0, 99]);
        // Random numbers from a generator.
        let mut x = 1u64;
        for _ in 0..10_000 {
            let parts: [f64; 5] = std::array::from_fn(|_| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (x >> 40) as f64 * 1e-9
            });
            let whole: f64 = parts.iter().sum();
            let percent = percentages(parts);
            assert_eq!(percent.iter().sum::<u32>(), 100, "{parts:?}");
            for (percent, part) in percent.iter().zip(parts) {
                let off = f64::from(*percent) - 100.0 * part / whole;
                assert!(off.abs() < 1.0, "{parts:?}");
            }
        }
    }

    #[test]
    fn nothing_per_no_time_is_nothing() {
        assert_eq!(per(0.0, 0.0), 0.0);
        assert_eq!(per(3.0, 2.0), 1.5);
    }
}
