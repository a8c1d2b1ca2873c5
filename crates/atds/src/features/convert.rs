//! Conversions: `cast`, `hash_buckets`, `vocabulary` with `unknown`, `unit`.

use std::path::Path;
use std::sync::Arc;

use atds_features::{Convert, TimeUnit, Vocabulary};
use serde_json::{Map, Value, json};

use super::entry::{Entry, Parsed, exclusive, missing, unknown};
use super::{EntryErrorKind, fill, write};

/// The default id of words that a vocabulary does not have.
const UNKNOWN_ID: i64 = -1;

/// The conversion of an entry. Paths of files are relative to `folder`.
pub(super) fn parse(entry: &Entry, folder: &Path) -> Parsed<Convert> {
    let mut chosen: Option<(&'static str, Convert)> = None;
    let mut choose = |key, convert: Option<Convert>| match (convert, &chosen) {
        (None, _) => Ok(()),
        (Some(_), Some((other, _))) => Err(exclusive(other, key)),
        (Some(convert), None) => {
            chosen = Some((key, convert));
            Ok(())
        }
    };
    choose("cast", entry.flag("cast")?.then_some(Convert::Cast))?;
    let buckets = entry.of("hash_buckets", "a number of buckets", Value::as_u64)?;
    choose("hash_buckets", buckets.map(Convert::HashBuckets))?;
    let unknown_id = entry.of("unknown", "an integer", Value::as_i64)?;
    let words = words(entry, folder)?;
    if words.is_none() && unknown_id.is_some() {
        return Err(missing("vocabulary"));
    }
    let vocabulary = words.map(|words| {
        let vocabulary = Vocabulary::new(words, unknown_id.unwrap_or(UNKNOWN_ID));
        Ok(Convert::Vocabulary(Arc::new(
            vocabulary.map_err(EntryErrorKind::DuplicateWord)?,
        )))
    });
    choose("vocabulary", vocabulary.transpose()?)?;
    choose("unit", unit(entry)?.map(Convert::Unit))?;
    Ok(chosen.map_or(Convert::Exact, |(_, convert)| convert))
}

/// The words of a vocabulary: a list, or the lines of a file.
fn words(entry: &Entry, folder: &Path) -> Parsed<Option<Vec<Vec<u8>>>> {
    let expected = "a list of words or {\"file\": ..}";
    match entry.get("vocabulary") {
        Some(Value::Object(keys)) if keys.len() == 1 => {
            let file = keys.get("file").and_then(Value::as_str);
            match file {
                Some(file) => lines(&folder.join(file)).map(Some),
                None => entry.of("vocabulary", expected, |_| None),
            }
        }
        _ => entry.of("vocabulary", expected, |json| {
            json.as_array()?.iter().map(fill::bytes).collect()
        }),
    }
}

/// The lines of a file, in any encoding; the end of a line is LF or CR LF.
fn lines(path: &Path) -> Parsed<Vec<Vec<u8>>> {
    let bytes = std::fs::read(path).map_err(|error| EntryErrorKind::File {
        path: path.to_owned(),
        error: Arc::new(error),
    })?;
    let lines = bytes.split_inclusive(|&byte| byte == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line).to_vec()
    });
    Ok(lines.collect())
}

fn unit(entry: &Entry) -> Parsed<Option<TimeUnit>> {
    let Some(name) = entry.text("unit")? else {
        return Ok(None);
    };
    match TimeUnit::from_name(name) {
        Some(unit) => Ok(Some(unit)),
        None => Err(unknown("unit", name, &TimeUnit::ALL.map(TimeUnit::name))),
    }
}

/// Adds the keys of a conversion.
pub(super) fn add(convert: &Convert, keys: &mut Map<String, Value>) {
    let mut set = |key: &str, value: Value| {
        keys.insert(key.to_owned(), value);
    };
    match convert {
        Convert::Exact => {}
        Convert::Cast => set("cast", true.into()),
        Convert::HashBuckets(buckets) => set("hash_buckets", json!(buckets)),
        Convert::Vocabulary(vocabulary) => {
            let words = vocabulary.words().into_iter().map(write::bytes);
            set("vocabulary", words.collect());
            if vocabulary.unknown() != UNKNOWN_ID {
                set("unknown", vocabulary.unknown().into());
            }
        }
        Convert::Unit(unit) => set("unit", unit.name().into()),
    }
}
