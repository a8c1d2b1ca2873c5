//! JSON that is safe to print to a terminal.

use atds::interface::printable;
use serde_json::Value;

/// JSON on one line. Invisible and bidirectional characters are escaped too; programs that parse
/// the JSON read the same strings.
pub(crate) fn json_text(value: &Value) -> String {
    let text = value.to_string();
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if *printable(c.encode_utf8(&mut [0; 4])) == *c.encode_utf8(&mut [0; 4]) {
            shown.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_escaped_and_reads_the_same() {
        let text = "größe \u{1b}[31m\n \u{9b} \u{202e} \u{e0041} 🙂 \"\\'";
        let shown = json_text(&Value::from(text));
        let expected = "\"größe \\u001b[31m\\n \\u009b \\u202e \\udb40\\udc41 🙂 \\\"\\\\'\"";
        assert_eq!(shown, expected);
        assert_eq!(serde_json::from_str::<String>(&shown).expect("JSON"), text);
    }
}
