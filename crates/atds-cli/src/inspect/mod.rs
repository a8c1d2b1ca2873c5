//! `atds inspect`: the contents of files.

mod btable;
mod tfrecord;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use atds::features::FeatureKind;

use atds::files::Packing;

use atds::avro::inspect::{InspectOptions, InspectedPath, Inspection};

use atds::inspect::{Inspected, inspect_features, inspect_with};

use atds::interface::printable;

use atds::avro::schema::{SchemaError, SchemaPath};

use atds::{ColumnKind, ColumnSpec, Feature, FileFormat, Files, features};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::inputs;
use crate::json_text::json_text;
use crate::lenience::Lenience;
use crate::options;
use crate::signals::Signals;
use crate::totals::{self, Totals};
use crate::units::{self, bytes, count, counted};

/// Describe the contents of files, after reading all records.
///
/// For several files, prints one line each, and the totals. For one file, prints codec, schema,
/// metadata, blocks, records, sizes, features, paths, and notes. A feature is dense if all its
/// arrays have the same lengths, otherwise varlen; it is sparse if a record has arrays of indices
/// and values; it has a mask if there may be nulls. The paths are all that a feature's expression
/// can name, with type and share of nulls. The notes tell where the schema breaks the Avro
/// specification.
///
/// Of a TFRecord file, prints records, sizes, the message that the records are, and features that read all
/// keys, with the values that the records have of each. Of a BTable, prints records, sizes, and the non-zeros
/// of each column.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, folders (their row files), patterns, file:// URLs, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also search the folders inside the folders
    #[arg(long)]
    recursive: bool,
    /// The format of the files, such as avro [default: what the name of each tells, or else its first bytes]
    #[arg(long, value_name = "NAME", value_parser = options::format(), hide_possible_values = true)]
    format: Option<FileFormat>,
    /// Print only features that fit all files, as a features file to start from
    #[arg(long)]
    features: bool,
    /// Number of records, from the first on, in which nulls are counted
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    sample: u64,
    /// Refuse files whose schema breaks the Avro specification, rather than read them
    #[arg(long)]
    strict: bool,
    /// Maximum memory of blocks and records, such as 512MiB or 2GB [default: 4GiB]
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes)]
    memory_limit: Option<u64>,
    #[command(flatten)]
    lenience: Lenience,
    /// Print one JSON object a line for each file, and one for the totals of several files
    #[arg(long)]
    json: bool,
}

fn chosen(files: Files, args: &Args) -> Files {
    files.recursive(args.recursive).format(args.format)
}

/// Runs the command. After a faulty file it continues with the next one.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    inputs::check_stdin(inputs::named("FILE", &args.files))?;
    let given = args.files.iter().map(|file| inputs::data_file(file));
    let given: Vec<PathBuf> = given.collect();
    if args.features {
        return show_features(chosen(Files::from(given), args), args, out);
    }
    let mut files: Vec<Result<PathBuf, Failure>> = Vec::new();
    for path in given {
        match chosen(Files::from(path), args).resolve() {
            Ok(found) => files.extend(found.into_iter().map(Ok)),
            Err(error) => files.push(Err(error.into())),
        }
    }
    let mut several = (files.len() > 1).then(Totals::default);
    if several.is_some() && !args.json {
        totals::print_head(out)?;
    }
    let signals = Signals::noted()?;
    let mut last = Ok(());
    for file in files {
        let found = file.and_then(|file| inspect(&file, args, &signals));
        let failure = match found {
            Ok(found) => {
                show(&found, several.is_some(), args, out)?;
                // Shows the file at once, before an error of the next file.
                out.flush()?;
                if let Some(totals) = &mut several {
                    totals.add(&totals::Row::of(&found));
                }
                continue;
            }
            Err(failure) => failure,
        };
        let is_stopped = matches!(failure, Failure::Signal(_));
        if let Some(totals) = &mut several {
            if is_stopped {
                totals.stopped_early(failure.reason())
            } else {
                totals.add_failed()
            }
        }
        if let Err(before) = std::mem::replace(&mut last, Err(failure)) {
            before.report("inspect");
        }
        if is_stopped {
            break;
        }
    }
    match several {
        None => {}
        Some(totals) if args.json => writeln!(out, "{}", totals.to_json())?,
        Some(totals) => totals.print(out)?,
    }
    last
}

/// Inspects a file, or stops when a signal comes.
fn inspect(file: &Path, args: &Args, signals: &Signals) -> Result<Inspected, Failure> {
    let mut options = inspect_options(args);
    options.cancelled = Some(signals.came().clone());
    let found = inspect_with(file, args.format, &options);
    signals.check()?;
    Ok(found?)
}

/// Prints the features file of one file, or of several together.
fn show_features(files: Files, args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    let mut options = inspect_options(args);
    // A features file does not depend on the sample.
    options.sample = 0;
    let files = files.looked_up()?;
    let features = match &files.resolve()?[..] {
        // Standard input is copied to a file first, because it can be read only once.
        [file] => {
            let found = inspect_with(file, args.format, &options)?;
            match &found {
                Inspected::Avro(found) if found.features.is_empty() => {
                    // Returns the reason as an error.
                    atds::avro::infer_features(&found.schema)?;
                }
                Inspected::TfRecord(found) => {
                    if let Some(error) = &found.no_message {
                        return Err(error.clone().into());
                    }
                }
                _ => {}
            }
            found.features().to_vec()
        }
        _ => inspect_features(files, &options)?,
    };
    print_features_file(&features, out)?;
    Ok(())
}

fn inspect_options(args: &Args) -> InspectOptions {
    let mut options = InspectOptions::default();
    options.sample = args.sample;
    options.strict = args.strict;
    if let Some(bytes) = args.memory_limit {
        options.memory_limit = bytes;
    }
    options.tolerate = args.lenience.tolerate;
    options.max_block_bytes = args
        .lenience
        .max_block_bytes()
        .unwrap_or(options.max_block_bytes);
    options.max_depth = args.lenience.max_depth.unwrap_or(options.max_depth);
    options
}

/// Prints a file: one line of the table if there are several files.
fn show(
    found: &Inspected,
    is_one_of_several: bool,
    args: &Args,
    out: &mut dyn Write,
) -> io::Result<()> {
    if args.json {
        let object = match found {
            Inspected::Avro(found) => to_json(found),
            Inspected::TfRecord(found) => tfrecord::to_json(found),
            Inspected::BTable(found) => btable::to_json(found),
            _ => Value::Null,
        };
        writeln!(out, "{}", json_text(&object))
    } else if is_one_of_several {
        totals::print_file(&totals::Row::of(found), out)
    } else {
        match found {
            Inspected::Avro(found) => print(found, out),
            Inspected::TfRecord(found) => tfrecord::print(found, out),
            Inspected::BTable(found) => btable::print(found, out),
            _ => Ok(()),
        }
    }
}

/// Prints a features file with one feature a line.
fn print_features_file(features: &[Feature], out: &mut dyn Write) -> io::Result<()> {
    let features = features::to_json(features);
    let entries = features.as_object().into_iter().flatten();
    let lines: Vec<String> = entries
        .map(|(name, feature)| format!("  {}: {}", json_text(&json!(name)), json_text(feature)))
        .collect();
    writeln!(out, "{{\n{}\n}}", lines.join(",\n"))
}

fn to_json(found: &Inspection) -> Value {
    let metadata = found.metadata.iter();
    let metadata: Map<String, Value> = metadata
        .map(|(key, value)| (key.clone(), latin1(value).into()))
        .collect();
    let left_out = found.left_out.iter();
    let left_out: Vec<Value> = left_out
        .map(|field| {
            let read_with = field.read_with.as_ref().map(Feature::expression);
            json!({
                "field": field.field,
                "type": field.schema_type,
                "reason": field.reason.to_string(),
                "expression": read_with,
            })
        })
        .collect();
    json!({
        "file": found.path.display().to_string(),
        "format": "avro",
        "packed": found.packing.map(Packing::name),
        "codec": found.codec,
        "blocks": found.blocks,
        "records": found.records,
        "file_bytes": found.file_bytes,
        "raw_bytes": found.raw_bytes,
        "decompressed_bytes": found.decompressed_bytes,
        "compression_ratio": found.compression_ratio(),
        "metadata": metadata,
        "features": features::to_json(&found.features),
        "left_out": left_out,
        "sampled": found.sampled,
        "paths": found.paths.iter().map(path_to_json).collect::<Vec<_>>(),
        "paths_truncated": found.paths_truncated,
        "notes": found.notes.iter().map(note_to_json).collect::<Vec<_>>(),
        "schema": schema(found),
    })
}

fn note_to_json(note: &SchemaError) -> Value {
    json!({"at": note.path, "note": note.kind.to_string()})
}

fn path_to_json(found: &InspectedPath) -> Value {
    let path = &found.path;
    json!({
        "expression": path.expression,
        "type": path.schema_type,
        "nullable": path.nullable,
        "recursive": path.recursive,
        "values": found.values,
        "nulls": found.nulls,
        "null_rate": found.null_rate(),
    })
}

/// Bytes as text, one character for each byte, as in Avro's JSON encoding.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The schema, as written in the header.
fn schema(found: &Inspection) -> Value {
    serde_json::from_str(&found.schema_text).unwrap_or_else(|_| json!(found.schema_text))
}

fn print(found: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", printable(&found.path.display().to_string()))?;
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<14}{text}");
    if let Some(packing) = found.packing {
        line("packed", packing.to_string())?;
    }
    line("codec", found.codec.clone())?;
    line("records", count(found.records))?;
    line("blocks", count(found.blocks))?;
    line("file", bytes(found.file_bytes))?;
    line("raw", bytes(found.raw_bytes))?;
    let ratio = found.compression_ratio();
    line(
        "decompressed",
        format!("{}, {ratio:.3} times raw", bytes(found.decompressed_bytes)),
    )?;
    for (key, value) in &found.metadata {
        line(
            "metadata",
            format!("{} = {}", printable(key), value.escape_ascii()),
        )?;
    }
    print_features(found, out)?;
    print_paths(found, out)?;
    print_notes(found, out)?;
    writeln!(out, "  schema")?;
    print_schema(&schema(found), out)
}

fn print_features(found: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  features")?;
    let names = found.features.iter().map(|column| &column.name);
    let names = names.chain(found.left_out.iter().map(|field| &field.field));
    let width = names.map(|name| printable(name).chars().count());
    let width = width.max().unwrap_or(0);
    for column in &found.features {
        let (name, dtype) = (printable(&column.name), column.dtype.name());
        let mask = match &column.missing.mask {
            Some(mask) => format!(", mask {}", printable(mask)),
            None => String::new(),
        };
        let form = feature_form(column);
        writeln!(out, "    {name:<width$}  {form:<22}{dtype}{mask}")?;
    }
    for field in &found.left_out {
        let (name, schema_type) = (printable(&field.field), printable(&field.schema_type));
        let instead = match &field.read_with {
            Some(feature) => format!("; '{}' reads a part of it", printable(feature.expression())),
            None => String::new(),
        };
        writeln!(
            out,
            "    {name:<width$}  {:<22}{schema_type}: {}{instead}",
            "left out", field.reason
        )?;
    }
    Ok(())
}

/// A line for each note on the schema.
fn print_notes(found: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    if found.notes.is_empty() {
        return Ok(());
    }
    writeln!(out, "  notes: breaks of the Avro specification")?;
    for note in &found.notes {
        match &*note.path {
            "" => writeln!(out, "    {}", note.kind),
            path => writeln!(out, "    {path}: {}", note.kind),
        }?;
    }
    Ok(())
}

/// Prints a line for each path: its expression, its share of nulls, and its type.
fn print_paths(found: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    let records = counted(found.sampled, "record");
    writeln!(out, "  paths, and nulls in the first {records}")?;
    let widths = found.paths.iter();
    let widths = widths.map(|found| printable(&found.path.expression).chars().count());
    let width = widths.max().unwrap_or(0);
    for found in &found.paths {
        let SchemaPath {
            expression,
            schema_type,
            ..
        } = &found.path;
        let (expression, schema_type) = (printable(expression), printable(schema_type));
        let recursive = if found.path.recursive {
            ", recursive: not followed"
        } else {
            ""
        };
        let nulls = null_rate(found);
        writeln!(
            out,
            "    {expression:<width$}  {nulls:>8}  {schema_type}{recursive}"
        )?;
    }
    if found.paths_truncated {
        writeln!(out, "    .. and more")?;
    }
    Ok(())
}

/// The share of nulls of a path; empty if it cannot be null or has no values.
fn null_rate(found: &InspectedPath) -> String {
    match found.null_rate().filter(|_| found.path.nullable) {
        None => String::new(),
        // A small share must not be printed as 0.
        Some(rate) if rate > 0.0 && rate < 0.0005 => "< 0.1 %".to_owned(),
        Some(rate) => format!("{:.1} %", 100.0 * rate),
    }
}

/// Prints the schema as JSON, one line for each field of a record.
fn print_schema(schema: &Value, out: &mut dyn Write) -> io::Result<()> {
    let fields = schema["fields"].as_array();
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        return writeln!(out, "    {}", json_text(schema));
    };
    let attributes = schema.as_object().into_iter().flatten();
    let attributes = attributes.filter(|(key, _)| *key != "fields");
    let attributes: Vec<String> = attributes
        .map(|(key, value)| format!("{}:{}", json_text(&json!(key)), json_text(value)))
        .collect();
    writeln!(out, "    {{{},\"fields\":[", attributes.join(","))?;
    for (i, field) in fields.iter().enumerate() {
        let end = if i + 1 < fields.len() { "," } else { "]}" };
        writeln!(out, "      {}{end}", json_text(field))?;
    }
    Ok(())
}

/// The kind and shape of a column, such as `dense [8]`.
pub(crate) fn form(column: &ColumnSpec) -> String {
    match &column.kind {
        ColumnKind::Dense { shape } => format!("dense {shape:?}"),
        ColumnKind::Sparse { shape, .. } => format!("sparse {shape:?}"),
        ColumnKind::Varlen { shape, .. } => format!("varlen {shape:?}"),
        other => format!("{other:?}"),
    }
}

/// The kind and shape of a feature.
fn feature_form(feature: &Feature) -> String {
    let dims = |dim: &Option<usize>| dim.map_or("?".to_owned(), |dim| dim.to_string());
    match &feature.kind {
        FeatureKind::Dense { shape, .. } => {
            let shape: Vec<String> = shape.iter().map(dims).collect();
            format!("dense [{}]", shape.join(", "))
        }
        FeatureKind::Sparse { shape, .. } => format!("sparse {shape:?}"),
        FeatureKind::Varlen { shape, .. } => match shape {
            Some(shape) => format!("varlen {shape:?}"),
            None => "varlen".to_owned(),
        },
    }
}
