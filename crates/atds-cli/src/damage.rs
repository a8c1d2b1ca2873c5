//! Damage of files, as text and as JSON.

use std::fmt;
use std::io::{self, Write};

use atds::FileFormat;
use atds::files::Packing;
use atds::interface::{Interface, printable};
use atds::verify::{Cause, Damage, Lost, Verified};
use serde_json::{Value, json};

use crate::units::{count, counted};

/// The blocks and records without damage, and what is lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    /// Whether there are files of a format that has blocks.
    has_blocks: bool,
    blocks: u64,
    records: u64,
    decompressed_bytes: u64,
    lost: Lost,
}

impl Sums {
    pub(crate) fn of(found: &Verified) -> Self {
        Sums {
            has_blocks: found.format == FileFormat::Avro,
            blocks: found.blocks,
            records: found.records,
            decompressed_bytes: found.decompressed_bytes,
            lost: found.lost,
        }
    }

    pub(crate) fn add(&mut self, other: &Sums) {
        self.has_blocks |= other.has_blocks;
        self.blocks += other.blocks;
        self.records = self.records.saturating_add(other.records);
        self.decompressed_bytes = self
            .decompressed_bytes
            .saturating_add(other.decompressed_bytes);
        self.lost.add(&other.lost);
    }

    /// The records without damage, as text.
    pub(crate) fn healthy(&self) -> String {
        if !self.has_blocks && self.records > 0 {
            return counted(self.records, "record");
        }
        let blocks = counted(self.blocks, "block");
        format!("{} in {blocks}", counted(self.records, "record"))
    }

    /// What is lost, as text.
    pub(crate) fn lost(&self) -> String {
        let Lost {
            parts,
            bytes,
            records,
            unknown,
            ..
        } = self.lost;
        let records = match unknown {
            0 => counted(records, "record"),
            unknown if unknown == parts => "an unknown number of records".to_owned(),
            _ => format!("{} or more", counted(records, "record")),
        };
        let bytes = counted(bytes, "byte");
        format!(
            "{records} and {bytes} in {}",
            counted(parts, "damaged part")
        )
    }

    /// Adds the sums to the JSON object of a file or of the totals.
    pub(crate) fn add_to_json(&self, object: &mut Value) {
        object["blocks"] = json!(self.blocks);
        object["records"] = json!(self.records);
        object["decompressed_bytes"] = json!(self.decompressed_bytes);
        object["damaged_parts"] = json!(self.lost.parts);
        object["lost_bytes"] = json!(self.lost.bytes);
        object["lost_records"] = json!(self.lost.records);
        object["lost_unknown"] = json!(self.lost.unknown);
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} are well", self.healthy())?;
        match self.lost.parts {
            0 => Ok(()),
            _ => write!(f, "; lost: {}", self.lost()),
        }
    }
}

/// Prints three lines for each damage of a file.
pub(crate) fn print(found: &Verified, out: &mut dyn Write) -> io::Result<()> {
    for damage in &found.damages {
        writeln!(out, "{}", Interface::Command.message(&damage.error))?;
        writeln!(out, "  probably: {}", printable(&damage.cause.to_string()))?;
        let records = match damage.records {
            Some(records) => counted(records, "record"),
            None => "an unknown number of records".to_owned(),
        };
        let what = match damage.cause {
            Cause::NotChecked => "not checked",
            Cause::Unreadable => "not read",
            _ => "lost",
        };
        let (bytes, offset) = (counted(damage.bytes, "byte"), count(damage.offset));
        writeln!(out, "  {what}: {records}, {bytes} from byte {offset} on")?;
    }
    match found.lost.parts - found.damages.len() as u64 {
        0 => Ok(()),
        more => writeln!(out, ".. and {}", counted(more, "more damaged part")),
    }
}

/// The JSON object of a file.
pub(crate) fn file_to_json(found: &Verified) -> Value {
    let tolerated = &found.tolerated;
    let mut object = json!({
        "file": found.path.display().to_string(),
        "format": found.format.name(),
        "well": found.is_well(),
        "packed": found.packing.map(Packing::name),
        "codec": found.codec.map(|codec| codec.name()),
        "file_bytes": found.file_bytes,
    });
    Sums::of(found).add_to_json(&mut object);
    object["damages"] = found.damages.iter().map(to_json).collect();
    object["trailing_block_bytes"] = json!(tolerated.trailing_block_bytes);
    object["trailing_file_bytes"] = json!(tolerated.trailing_file_bytes);
    object["bad_checksums"] = json!(tolerated.bad_checksums);
    object
}

fn to_json(damage: &Damage) -> Value {
    let place = &damage.error.place;
    json!({
        "offset": damage.offset,
        "bytes": damage.bytes,
        "records": damage.records,
        "error": Interface::Command.message(&damage.error.kind),
        "error_offset": place.offset,
        "block": place.block,
        "record": place.record,
        "field": place.field,
        "decompressed_offset": place.decompressed_offset,
        "cause": damage.cause.name(),
        "probably": damage.cause.to_string(),
    })
}
