//! A TFRecord file, as text and as JSON.

use std::io::{self, Write};

use atds::features;
use atds::files::Packing;
use atds::inspect::TfRecordInspection;
use atds::interface::{Interface, printable};
use serde_json::{Value, json};

use super::feature_form;
use crate::units::{bytes, count, counted};

pub(super) fn to_json(found: &TfRecordInspection) -> Value {
    let (least, most) = found.record_bytes.unzip();
    let no_message = found.no_message.as_ref();
    let left_out = found.left_out.iter();
    let left_out = left_out.map(|(key, reason)| json!({"key": key, "reason": reason}));
    json!({
        "file": found.path.display().to_string(),
        "format": "tfrecord",
        "packed": found.packing.map(Packing::name),
        "records": found.records,
        "file_bytes": found.file_bytes,
        "unpacked_bytes": found.unpacked_bytes,
        "data_bytes": found.data_bytes,
        "smallest_record": least,
        "largest_record": most,
        "message": found.message.map(|message| message.name()),
        "no_message": no_message.map(|error| Interface::Command.message(error)),
        "features": features::to_json(&found.features),
        "seen": found.seen,
        "left_out": left_out.collect::<Vec<_>>(),
        "bad_checksums": found.tolerated.bad_checksums,
    })
}

pub(super) fn print(found: &TfRecordInspection, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", printable(&found.path.display().to_string()))?;
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<14}{text}");
    line("format", "TFRecord".to_owned())?;
    if let Some(packing) = found.packing {
        line("packed", packing.to_string())?;
    }
    line("records", count(found.records))?;
    line("file", bytes(found.file_bytes))?;
    if found.packing.is_some() {
        line("unpacked", bytes(found.unpacked_bytes))?;
    }
    if let Some((least, most)) = found.record_bytes {
        let mean = found.data_bytes / found.records;
        let [least, mean, most] = [least, mean, most].map(bytes);
        line("a record", format!("{least} to {most}, {mean} on average"))?;
    }
    if found.tolerated.bad_checksums > 0 {
        line(
            "checksums",
            format!("{} wrong", count(found.tolerated.bad_checksums)),
        )?;
    }
    if let Some(error) = &found.no_message {
        let why = Interface::Command.message(&error.kind);
        let record = error.place.record.unwrap_or(0);
        line(
            "message",
            format!("none that is read: record {record}: {why}"),
        )?;
        return Ok(());
    }
    let Some(message) = found.message else {
        return Ok(());
    };
    line("message", message.name().to_owned())?;
    writeln!(out, "  features of {}", counted(found.records, "record"))?;
    let names = found.features.iter().map(|feature| &feature.name);
    let names = names.chain(found.left_out.iter().map(|(key, _)| key));
    let width = names.map(|name| printable(name).chars().count());
    let width = width.max().unwrap_or(0);
    for (feature, seen) in found.features.iter().zip(&found.seen) {
        let (name, form) = (printable(&feature.name), feature_form(feature));
        let dtype = feature.dtype.name();
        // The key stands before it.
        let seen = seen.rsplit_once("': ").map_or(&**seen, |(_, seen)| seen);
        writeln!(
            out,
            "    {name:<width$}  {form:<18}{dtype:<9}{}",
            printable(seen)
        )?;
    }
    for (key, reason) in &found.left_out {
        writeln!(out, "    {:<width$}  left out: it {reason}", printable(key))?;
    }
    Ok(())
}
