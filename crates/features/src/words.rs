//! Parts of messages, for this crate and those that build on it. Not a part of the API: it may
//! change in any version.

use std::fmt::{self, Display, Formatter, Write as _};

/// A counted thing: `1 byte`, `2 bytes`.
#[cold]
pub fn counted(n: impl TryInto<u64>, thing: &str) -> String {
    match n.try_into() {
        Ok(1) => format!("1 {thing}"),
        Ok(n) => format!("{n} {thing}s"),
        // Larger numbers do not occur.
        Err(_) => format!("many {thing}s"),
    }
}

/// The verb for a number of things: `1 is left`, `2 are left`.
#[cold]
pub fn are(n: impl TryInto<u64>) -> &'static str {
    match n.try_into() {
        Ok(1) => "is",
        _ => "are",
    }
}

/// Displays a text with escapes for unprintable characters, such as line ends and terminal
/// controls. Quotes and backslashes are not escaped, so that an expression can be copied.
#[derive(Debug)]
pub struct Shown<'a>(pub &'a str);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\'' | '"' | '\\' => f.write_char(c),
                c => write!(f, "{}", c.escape_debug()),
            }?;
        }
        Ok(())
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

    #[test]
    fn what_is_not_for_reading_is_escaped() {
        let shown = Shown("größe 'a\\'b'\n\u{1b}[31m\u{202e}").to_string();
        assert_eq!(shown, "größe 'a\\'b'\\n\\u{1b}[31m\\u{202e}");
    }
}
