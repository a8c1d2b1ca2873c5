//! Displays text from files in messages.

use std::fmt::{self, Display, Formatter, Write as _};

/// Displays a text with escapes for unprintable characters, such as line ends and terminal
/// controls. Quotes and backslashes are not escaped, so that an expression can be copied.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

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
    use super::Shown;

    #[test]
    fn what_is_not_for_reading_is_escaped() {
        let shown = Shown("größe 'a\\'b'\n\u{1b}[31m\u{202e}").to_string();
        assert_eq!(shown, "größe 'a\\'b'\\n\\u{1b}[31m\\u{202e}");
    }
}
