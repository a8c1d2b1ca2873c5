//! The names of options in messages of each interface, and escaping of text from data.
//!
//! Messages of this library write an option or an argument in backticks, by its name in Rust:
//! `memory_limit`. The command calls it `--memory-limit`, Python `memory_limit=`.

use std::borrow::Cow;
use std::fmt::Display;

/// The interface through which options are given. It determines their names in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interface {
    /// Methods of builders: `` `memory_limit` ``.
    Rust,
    /// Flags of the command, `--memory-limit`, and keys of a features file, `"default"`.
    Command,
    /// Arguments in Python: `memory_limit=`.
    Python,
}

impl Interface {
    /// The text of an error or a log record of this library, for people who use this interface:
    /// options have the names of this interface, and the text is [`printable`].
    ///
    /// ```
    /// use atds::interface::Interface;
    ///
    /// let text = "raise `memory_limit`, or give a `default`";
    /// assert_eq!(
    ///     Interface::Command.message(text),
    ///     "raise --memory-limit, or give a \"default\""
    /// );
    /// assert_eq!(Interface::Python.message(text), "raise memory_limit=, or give a default=");
    /// ```
    pub fn message(self, text: impl Display) -> String {
        let text = text.to_string();
        let text = printable(&text);
        if self == Interface::Rust {
            return text.into_owned();
        }
        let mut message = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some((before, option, after)) = next_option(rest) {
            message.push_str(before);
            message.push_str(&self.option(option, after));
            // A value that follows is part of the argument.
            let is_value = self == Interface::Python && after.starts_with(" '");
            rest = &after[usize::from(is_value)..];
        }
        message.push_str(rest);
        message
    }

    /// An option by its name in Python or in the command, with its value if it has one.
    fn option(self, (name, value): Given<'_>, after: &str) -> String {
        let is_key = || FEATURE_KEYS.split(' ').any(|key| key == name);
        match (self, value) {
            // The subject of a sentence.
            (Interface::Python, None) if VERBS.iter().any(|verb| after.starts_with(verb)) => {
                argument(name).to_owned()
            }
            (Interface::Python, value) => {
                let value = match value {
                    Some("true") => "True",
                    Some("false") => "False",
                    value => value.unwrap_or_default(),
                };
                format!("{}={value}", argument(name))
            }
            (_, None) if is_key() => format!("\"{name}\""),
            (_, Some(value)) if is_key() => format!("\"{name}\": {value}"),
            (_, None | Some("true" | "false")) => flag(name),
            (_, Some(value)) => format!("{} {}", flag(name), value.trim_matches('"')),
        }
    }
}

/// Arguments of features in Python, which are also keys in a features file.
const FEATURE_KEYS: &str = "allow_missing already_sorted cast default dtype expression hash_buckets \
                            index_key kind mask partitions rank row_mask shape size truncate unit unknown \
                            value_key vocabulary";

/// Texts that follow an option that is the subject of a sentence.
const VERBS: [&str; 3] = [" is ", " must ", " passed "];

/// The command's flag for an option.
fn flag(name: &str) -> String {
    match name {
        "check_files" => "--no-check-files".into(),
        "out_of_bounds" => "--drop-out-of-bounds".into(),
        "reader_buffer_size" => "--reader-buffer".into(),
        "shuffle_buffer_size" => "--shuffle-buffer".into(),
        _ => format!("--{}", name.replace('_', "-")),
    }
}

/// The name of an option in Python.
fn argument(name: &str) -> &str {
    match name {
        "files" => "filenames",
        "threads" => "num_parallel_calls",
        "writer_schema" => "schema",
        _ => name,
    }
}

/// An option in backticks, its name and its value: `` `unit` ``, or `` `dtype="bytes"` ``.
type Given<'a> = (&'a str, Option<&'a str>);

/// The first option in `text`, what is before it and what is after it.
fn next_option(text: &str) -> Option<(&str, Given<'_>, &str)> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find('`')?;
        let close = open + 1 + text[open + 1..].find('`')?;
        let inside = &text[open + 1..close];
        let (name, value) = match inside.split_once('=') {
            None => (inside, None),
            Some((name, value)) => (name, Some(value)),
        };
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '`');
        if name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(is_name)
            && !text[..open].ends_with(is_word)
            && !text[close + 1..].starts_with(is_word)
        {
            return Some((&text[..open], (name, value), &text[close + 1..]));
        }
        // A backtick of the data. The next one may open an option.
        from = close;
    }
}

/// Text from data in quotes, escaped.
pub(crate) fn quoted(text: impl Display) -> String {
    format!("'{}'", text.to_string().escape_debug())
}

/// `text` in a form that is safe for a terminal or a log. Invisible characters, control characters,
/// line ends and changes of text direction are escaped as in Rust and Python. Quotes, backslashes
/// and all others stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for part in text.split_inclusive(KEPT) {
        let body = part.strip_suffix(KEPT).unwrap_or(part);
        // A combining mark is escaped only at the beginning.
        shown.extend(format!("a{body}").escape_debug().skip(1));
        shown.push_str(&part[body.len()..]);
    }
    Cow::Owned(shown)
}

/// Visible characters that Rust escapes.
const KEPT: [char; 3] = ['\'', '"', '\\'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_names_of_the_interface() {
        let cases = [
            ("give a `default`", "give a \"default\"", "give a default="),
            (
                "`memory_limit` is 5: lower `shuffle_buffer_size` or `batch_size`",
                "--memory-limit is 5: lower --shuffle-buffer or --batch-size",
                "memory_limit is 5: lower shuffle_buffer_size= or batch_size=",
            ),
            (
                "lower the cycle length of `interleave`",
                "lower the cycle length of --interleave",
                "lower the cycle length of interleave=",
            ),
            (
                "`threads` must be 1",
                "--threads must be 1",
                "num_parallel_calls must be 1",
            ),
            ("`tolerate` 'utf8'", "--tolerate 'utf8'", "tolerate='utf8'"),
            (
                "`tolerate` passed it",
                "--tolerate passed it",
                "tolerate passed it",
            ),
            (
                "with `check_files=false`",
                "with --no-check-files",
                "with check_files=False",
            ),
            ("or `recursive=true`", "or --recursive", "or recursive=True"),
            (
                "`tolerate=\"utf8\"`",
                "--tolerate utf8",
                "tolerate=\"utf8\"",
            ),
            (
                "`dtype=\"bytes\"`",
                "\"dtype\": \"bytes\"",
                "dtype=\"bytes\"",
            ),
            (
                "field 'a`b`c' `B` ` ``",
                "field 'a`b`c' `B` ` ``",
                "field 'a`b`c' `B` ` ``",
            ),
            (
                "one ` and a `unit`",
                "one ` and a \"unit\"",
                "one ` and a unit=",
            ),
        ];
        for (text, command, python) in cases {
            assert_eq!(Interface::Rust.message(text), text);
            assert_eq!(Interface::Command.message(text), command);
            assert_eq!(Interface::Python.message(text), python);
        }
    }

    #[test]
    fn what_is_seen_stays_and_what_is_not_is_escaped() {
        for text in [
            "",
            "plain 'text' \"\\",
            "größe 数据 🙂 e\u{301}",
            "'\u{301}",
        ] {
            assert_eq!(printable(text), text);
        }
        let cases = [
            ("a\nb\t\0", r"a\nb\t\0"),
            ("\u{1b}[31mred\u{1b}[0m", r"\u{1b}[31mred\u{1b}[0m"),
            ("\u{7f}\u{9b}2J", r"\u{7f}\u{9b}2J"),
            ("\u{202e}cod.exe\u{2066}", r"\u{202e}cod.exe\u{2066}"),
            ("a\u{200b}b\u{feff}\u{2028}", r"a\u{200b}b\u{feff}\u{2028}"),
            ("\u{ad}\u{e0041}", r"\u{ad}\u{e0041}"),
        ];
        for (text, shown) in cases {
            assert_eq!(printable(text), shown);
            // A second pass changes nothing.
            assert_eq!(printable(shown), shown);
        }
    }
}
