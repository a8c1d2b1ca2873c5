//! Counted things in words.

/// A counted thing: `1 file`, `2 files`.
#[cold]
pub(crate) fn counted(n: impl TryInto<u64>, thing: &str) -> String {
    match n.try_into() {
        Ok(1) => format!("1 {thing}"),
        Ok(n) => format!("{n} {thing}s"),
        // Larger numbers do not occur.
        Err(_) => format!("many {thing}s"),
    }
}
