//! A table of several files: one line for each, and the totals.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use atds::files::Packing;

use atds::inspect::Inspected;

use atds::interface::printable;
use serde_json::{Value, json};

use crate::units::{bytes, count, counted};

/// What the table has of a file.
pub(crate) struct Row<'a> {
    path: &'a Path,
    format: &'static str,
    /// The codec of an Avro file.
    codec: Option<&'a str>,
    packing: Option<Packing>,
    records: u64,
    /// `None` in formats without blocks.
    blocks: Option<u64>,
    file_bytes: u64,
    raw_bytes: u64,
    decompressed_bytes: u64,
    schema: Option<&'a str>,
}

impl<'a> Row<'a> {
    pub(crate) fn of(found: &'a Inspected) -> Self {
        let format = found.format().name();
        match found {
            Inspected::Avro(found) => Row {
                path: &found.path,
                format,
                codec: Some(&found.codec),
                packing: found.packing,
                records: found.records,
                blocks: Some(found.blocks),
                file_bytes: found.file_bytes,
                raw_bytes: found.raw_bytes,
                decompressed_bytes: found.decompressed_bytes,
                schema: Some(&found.schema_text),
            },
            Inspected::TfRecord(found) => {
                let bytes = (found.file_bytes, found.unpacked_bytes);
                Row::plain(&found.path, format, found.packing, found.records, bytes)
            }
            Inspected::BTable(found) => {
                let bytes = (found.file_bytes, found.unpacked_bytes);
                Row::plain(&found.path, format, found.packing, found.rows, bytes)
            }
            _ => unreachable!("every format of this version is above"),
        }
    }

    /// A file without blocks: its size, and its size unpacked.
    fn plain(
        path: &'a Path,
        format: &'static str,
        packing: Option<Packing>,
        records: u64,
        (file_bytes, unpacked_bytes): (u64, u64),
    ) -> Self {
        Row {
            path,
            format,
            codec: None,
            packing,
            records,
            blocks: None,
            file_bytes,
            raw_bytes: file_bytes,
            decompressed_bytes: unpacked_bytes,
            schema: None,
        }
    }
}

/// The sums over files that were inspected.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    files: u64,
    failed: u64,
    records: u64,
    blocks: u64,
    file_bytes: u64,
    raw_bytes: u64,
    decompressed_bytes: u64,
    /// Number of files of each format, of each codec and of each packing.
    formats: BTreeMap<&'static str, u64>,
    codecs: BTreeMap<String, u64>,
    packed: BTreeMap<&'static str, u64>,
    schemas: BTreeSet<String>,
    /// The reason why the run ended before the last file.
    stopped_early: Option<String>,
}

impl Totals {
    pub(crate) fn add(&mut self, found: &Row<'_>) {
        self.files += 1;
        self.records = self.records.saturating_add(found.records);
        self.blocks += found.blocks.unwrap_or(0);
        self.file_bytes += found.file_bytes;
        self.raw_bytes += found.raw_bytes;
        self.decompressed_bytes += found.decompressed_bytes;
        *self.formats.entry(found.format).or_default() += 1;
        if let Some(codec) = found.codec {
            *self.codecs.entry(codec.to_owned()).or_default() += 1;
        }
        if let Some(packing) = found.packing {
            *self.packed.entry(packing.name()).or_default() += 1;
        }
        self.schemas.extend(found.schema.map(str::to_owned));
    }

    /// Counts a faulty file.
    pub(crate) fn add_failed(&mut self) {
        self.failed += 1;
    }

    /// Records that the run ended before the last file.
    pub(crate) fn stopped_early(&mut self, reason: String) {
        self.stopped_early = Some(reason);
    }

    /// Decompressed bytes of the blocks divided by stored bytes; 1 without blocks.
    fn compression_ratio(&self) -> f64 {
        match self.raw_bytes {
            0 => 1.0,
            raw => self.decompressed_bytes as f64 / raw as f64,
        }
    }

    /// The JSON object of the totals, which `--json` prints last.
    pub(crate) fn to_json(&self) -> Value {
        json!({"total": {
            "files": self.files,
            "failed": self.failed,
            "records": self.records,
            "blocks": self.blocks,
            "file_bytes": self.file_bytes,
            "raw_bytes": self.raw_bytes,
            "decompressed_bytes": self.decompressed_bytes,
            "compression_ratio": self.compression_ratio(),
            "formats": self.formats,
            "codecs": self.codecs,
            "packed": self.packed,
            "schemas": self.schemas.len(),
            "stopped_early": self.stopped_early,
        }})
    }

    /// The last lines of the table.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let files = counted(self.files, "file");
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let codec = match self.codecs.len() {
            1 if self.formats.len() == 1 => self.codecs.keys().next().map_or("", String::as_str),
            _ => "",
        };
        let row = [
            count(self.records),
            count(self.blocks),
            bytes(self.file_bytes),
            bytes(self.raw_bytes),
            bytes(self.decompressed_bytes),
        ];
        print_row(&row, codec, &format!("total of {files}{failed}"), out)?;
        let mut line = |name: &str, text: String| writeln!(out, "  {name:<14}{text}");
        if self.formats.keys().any(|format| *format != "avro") {
            writeln_list(&mut line, "formats", self.formats.iter())?;
        }
        writeln_list(&mut line, "codecs", self.codecs.iter())?;
        writeln_list(&mut line, "packed", self.packed.iter())?;
        line(
            "decompressed",
            format!("{:.3} times raw", self.compression_ratio()),
        )?;
        if !self.schemas.is_empty() {
            line("schemas", count(self.schemas.len() as u64))?;
        }
        match &self.stopped_early {
            Some(reason) => line("stopped", format!("early by {reason}")),
            None => Ok(()),
        }
    }
}

/// Prints a line with the number of files of each kind; nothing if there are no kinds.
fn writeln_list<'a, K: AsRef<str> + 'a>(
    line: &mut dyn FnMut(&str, String) -> io::Result<()>,
    name: &str,
    counts: impl Iterator<Item = (&'a K, &'a u64)>,
) -> io::Result<()> {
    let counts = counts.map(|(kind, &n)| format!("{} ({})", kind.as_ref(), counted(n, "file")));
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() {
        Ok(())
    } else {
        line(name, counts.join(", "))
    }
}

/// The head of the table.
pub(crate) fn print_head(out: &mut dyn Write) -> io::Result<()> {
    let names = ["records", "blocks", "file", "raw", "decompressed"];
    print_row(&names.map(str::to_owned), "codec", "path", out)
}

/// The line of a file.
pub(crate) fn print_file(found: &Row<'_>, out: &mut dyn Write) -> io::Result<()> {
    let row = [
        count(found.records),
        found.blocks.map(count).unwrap_or_default(),
        bytes(found.file_bytes),
        bytes(found.raw_bytes),
        bytes(found.decompressed_bytes),
    ];
    let codec = found.codec.unwrap_or(found.format);
    let codec = match found.packing.map(Packing::name) {
        None => codec.to_owned(),
        Some(packing) => format!("{codec}, {packing}"),
    };
    let path = found.path.display().to_string();
    print_row(&row, &codec, &printable(&path), out)
}

fn print_row(row: &[String; 5], codec: &str, path: &str, out: &mut dyn Write) -> io::Result<()> {
    let [records, blocks, file, raw, decompressed] = row;
    writeln!(
        out,
        "{records:>13}  {blocks:>9}  {file:>8}  {raw:>8}  {decompressed:>12}  {codec:<9}  {path}"
    )
}
