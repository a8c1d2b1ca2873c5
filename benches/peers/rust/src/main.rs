//! Other readers of Avro in Rust, for the comparison: `peers apache-avro` or `peers arrow-avro`
//! reads a job from a line of JSON, runs it, and prints the result as a line.

mod apache;
mod arrow;

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value, json};

/// Reads a file in batches, and returns its number of records.
type Read = fn(&Path, usize) -> Result<usize, Box<dyn Error>>;

/// A job: files, and the number of epochs.
#[derive(Deserialize)]
struct Job {
    files: PathBuf,
    batch_size: usize,
    warm_up: usize,
    epochs: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let read: Read = match name.as_str() {
        "apache-avro" => apache::read,
        "arrow-avro" => arrow::read,
        _ => return Err("name a reader: apache-avro or arrow-avro".into()),
    };
    answer(&json!({ &name: locked_version(&name) }))?;
    for line in io::stdin().lock().lines() {
        let job = serde_json::from_str(&line?)?;
        let done = run(&job, read).unwrap_or_else(|error| json!({"unable": error.to_string()}));
        answer(&done)?;
    }
    Ok(())
}

/// Reads all files of the job for some epochs.
fn run(job: &Job, read: Read) -> Result<Value, Box<dyn Error>> {
    let files = files(&job.files)?;
    let epoch = || {
        let start = Instant::now();
        let counts = files.iter().map(|file| read(file, job.batch_size));
        let records: usize = counts.sum::<Result<_, _>>()?;
        Ok::<_, Box<dyn Error>>((records, start.elapsed().as_secs_f64()))
    };
    for _ in 0..job.warm_up {
        epoch()?;
    }
    let mut records = 0;
    let mut seconds = Vec::new();
    for _ in 0..job.epochs {
        let (read, took) = epoch()?;
        records = read;
        seconds.push(took);
    }
    Ok(json!({"records": records, "seconds": seconds}))
}

/// The Avro files of a folder, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = folder.read_dir()?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "avro")
    });
    paths.sort();
    Ok(paths)
}

/// The version of a package that this program was built with.
fn locked_version(name: &str) -> Option<&'static str> {
    let lock = include_str!("../Cargo.lock");
    let (_, package) = lock.split_once(&format!("name = \"{name}\"\nversion = \""))?;
    Some(package.split_once('"')?.0)
}

fn answer(value: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}")?;
    out.flush()
}
