//! Tells kinds of text apart.

use super::Found;

/// The kind of text that `first` begins; `None` if it is not text.
pub(super) fn identify(first: &[u8]) -> Option<Found> {
    if is_utf16(first) {
        return Some(Found::Utf16);
    }
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    let text = text.trim_ascii_start();
    if !is_text(text) {
        return None;
    }
    Some(match text.first() {
        Some(b'{') => in_braces(text),
        Some(b'[' | b'"') if is_schema(text) => Found::AvroSchema,
        Some(b'[' | b'"') => Found::Json,
        Some(b'<') => markup(text),
        Some(b'@') if text.starts_with(b"@namespace(") => Found::AvroIdl,
        Some(b'p') if text.starts_with(b"protocol ") => Found::AvroIdl,
        _ => Found::Text,
    })
}

/// Whether `bytes` are printable ASCII, white space and possible UTF-8; the last character may be
/// cut off.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let whole = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    whole && bytes.iter().all(|&byte| is_text_byte(byte))
}

fn is_text_byte(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x20..=0x7e | 0x80..)
}

/// Whether `bytes` are Latin text in UTF-16 without a byte order mark: every other byte is NUL, the
/// others are ASCII.
fn is_utf16(bytes: &[u8]) -> bool {
    let (pairs, _) = bytes.as_chunks::<2>();
    let ascii = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    pairs.len() > 1
        && (pairs.iter().all(|&[low, high]| ascii(low) && high == 0)
            || pairs.iter().all(|&[high, low]| ascii(low) && high == 0))
}

fn in_braces(text: &[u8]) -> Found {
    let protocol = has_string(text, "protocol", |_| true);
    if protocol && (has_key(text, "types") || has_key(text, "messages") || is_cut(text)) {
        return Found::AvroProtocol;
    }
    if is_schema(text) {
        return Found::AvroSchema;
    }
    Found::Json
}

/// Whether the text has a `type` whose value is an Avro type.
fn is_schema(text: &[u8]) -> bool {
    let has = |types: &[&str], key| {
        let named = has_string(text, "type", |found| types.contains(&found));
        named && (has_key(text, key) || is_cut(text))
    };
    has(&["record", "error"], "fields")
        || has(&["enum"], "symbols")
        || has(&["fixed"], "size")
        || has(&["array"], "items")
        || has(&["map"], "values")
}

/// Whether the text may continue after its first bytes.
fn is_cut(text: &[u8]) -> bool {
    !matches!(text.trim_ascii_end().last(), Some(b'}' | b']'))
}

/// Whether the text contains `key` followed by a colon.
fn has_key(text: &[u8], key: &str) -> bool {
    values(text, key).next().is_some()
}

/// Whether the text contains `key` with a string value for which `is_it` is true.
fn has_string(text: &[u8], key: &str, is_it: impl Fn(&str) -> bool) -> bool {
    values(text, key).any(|value| {
        let string = value.strip_prefix(b"\"").and_then(|rest| {
            let end = memchr::memchr(b'"', rest)?;
            std::str::from_utf8(&rest[..end]).ok()
        });
        string.is_some_and(&is_it)
    })
}

/// The text after each `"key":`.
fn values<'a>(text: &'a [u8], key: &str) -> impl Iterator<Item = &'a [u8]> {
    let quoted = format!("\"{key}\"").into_bytes();
    let offsets: Vec<_> = memchr::memmem::find_iter(text, &quoted).collect();
    offsets.into_iter().filter_map(move |at| {
        let rest = text[at + quoted.len()..].trim_ascii_start();
        Some(rest.strip_prefix(b":")?.trim_ascii_start())
    })
}

fn markup(text: &[u8]) -> Found {
    let start = text[..text.len().min(64)].to_ascii_lowercase();
    let html: [&[u8]; 4] = [b"<!doctype html", b"<html", b"<head", b"<body"];
    if html.iter().any(|tag| start.starts_with(tag)) {
        return Found::Html;
    }
    match text.get(1) {
        Some(b'?' | b'!' | b'a'..=b'z' | b'A'..=b'Z') => Found::Xml,
        _ => Found::Text,
    }
}
