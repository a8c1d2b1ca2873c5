//! A table of several files: one line for each, and the totals.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use atds::files::Packing;

use atds::avro::inspect::Inspection;

use atds::interface::printable;
use serde_json::{Value, json};

use crate::units::{bytes, count, counted};

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
    /// Number of files of each codec and of each packing.
    codecs: BTreeMap<String, u64>,
    packed: BTreeMap<&'static str, u64>,
    schemas: BTreeSet<String>,
    /// The reason why the run ended before the last file.
    stopped_early: Option<String>,
}

impl Totals {
    pub(crate) fn add(&mut self, found: &Inspection) {
        self.files += 1;
        self.records = self.records.saturating_add(found.records);
        self.blocks += found.blocks;
        self.file_bytes += found.file_bytes;
        self.raw_bytes += found.raw_bytes;
        self.decompressed_bytes += found.decompressed_bytes;
        *self.codecs.entry(found.codec.clone()).or_default() += 1;
        if let Some(packing) = found.packing {
            *self.packed.entry(packing.name()).or_default() += 1;
        }
        self.schemas.insert(found.schema_text.clone());
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
            1 => self.codecs.keys().next().map_or("", String::as_str),
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
        writeln_list(&mut line, "codecs", self.codecs.iter())?;
        writeln_list(&mut line, "packed", self.packed.iter())?;
        line(
            "decompressed",
            format!("{:.3} times raw", self.compression_ratio()),
        )?;
        line("schemas", count(self.schemas.len() as u64))?;
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
pub(crate) fn print_file(found: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    let row = [
        count(found.records),
        count(found.blocks),
        bytes(found.file_bytes),
        bytes(found.raw_bytes),
        bytes(found.decompressed_bytes),
    ];
    let codec = match found.packing.map(Packing::name) {
        None => found.codec.clone(),
        Some(packing) => format!("{}, {packing}", found.codec),
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
