//! Numbers of things in words.

/// A number of things: `1 file`, `2 files`.
#[cold]
pub(crate) fn counted(n: impl TryInto<u64>, thing: &str) -> String {
    match n.try_into() {
        Ok(1) => format!("1 {thing}"),
        Ok(n) => format!("{n} {thing}s"),
        // No number of things is beyond.
        Err(_) => format!("many {thing}s"),
    }
}
