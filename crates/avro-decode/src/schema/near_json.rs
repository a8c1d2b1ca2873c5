//! Converts the JSON of some writers to valid JSON.

/// A schema's text as valid JSON. `NaN`, `Infinity` and `-Infinity`, which Python writes for
/// defaults, become `null`. A byte order mark before the text and zero bytes after it are removed.
pub(super) fn as_json(text: &str) -> String {
    const NUMBERS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];
    let mut rest = text.trim_start_matches('\u{feff}').trim_end_matches('\0');
    let mut json = String::with_capacity(rest.len());
    let mut in_string = false;
    while let Some(next) = rest.chars().next() {
        let number = NUMBERS.into_iter().find(|number| rest.starts_with(number));
        let taken = match (in_string, next, number) {
            (false, _, Some(number)) => {
                json.push_str("null");
                rest = &rest[number.len()..];
                continue;
            }
            // Take the escaped character too, which may be a quote.
            (true, '\\', _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (_, '"', _) => {
                in_string = !in_string;
                1
            }
            _ => next.len_utf8(),
        };
        json.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    json
}

#[cfg(test)]
mod tests {
    use super::as_json;

    #[test]
    fn what_becomes_of_texts() {
        for (text, json) in [
            (
                r#"{"a": NaN, "b": [-Infinity,Infinity]}"#,
                r#"{"a": null, "b": [null,null]}"#,
            ),
            (
                r#"{"NaN": "Infinity \" NaN \\"}"#,
                r#"{"NaN": "Infinity \" NaN \\"}"#,
            ),
            (r#""ü\"#, r#""ü\"#),
            ("\u{feff}\"int\"\n\0\0", "\"int\"\n"),
            ("", ""),
        ] {
            assert_eq!(as_json(text), json);
        }
    }
}
