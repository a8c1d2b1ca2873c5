//! Counted things in words.

/// A counted thing: `1 byte`, `2 bytes`.
#[cold]
pub(crate) fn counted(n: impl TryInto<u64>, thing: &str) -> String {
    match n.try_into() {
        Ok(1) => format!("1 {thing}"),
        Ok(n) => format!("{n} {thing}s"),
        // Larger numbers do not occur.
        Err(_) => format!("many {thing}s"),
    }
}

/// The verb for a number of things: `1 is left`, `2 are left`.
#[cold]
pub(crate) fn are(n: impl TryInto<u64>) -> &'static str {
    match n.try_into() {
        Ok(1) => "is",
        _ => "are",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        for (n, bytes, verb) in [
            (0, "0 bytes", "are"),
            (1, "1 byte", "is"),
            (2, "2 bytes", "are"),
        ] {
            assert_eq!(counted(n, "byte"), bytes);
            assert_eq!(are(n), verb);
        }
    }
}
