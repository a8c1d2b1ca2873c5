//! Other readers of Avro and TFRecord in Rust, for the comparison: `peers NAME` reads a job from a line of JSON,
//! runs it, and prints the result as a line. `peers NAME --mmap` maps the files.

mod apache;
mod arrow;
mod serde_fast;
mod tfrecords;

use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use avro_block::Mapping;
use rustix::time::{ClockId, clock_gettime};
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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let read: Read = match arguments[..] {
        ["apache-avro"] => |path, _| apache::read(buffered(path)?),
        ["arrow-avro"] => |path, batch_size| arrow::read(buffered(path)?, batch_size),
        ["arrow-avro", "--mmap"] => |path, batch_size| arrow::read(mapped(path)?, batch_size),
        ["serde_avro_fast"] => |path, _| serde_fast::read(buffered(path)?),
        ["serde_avro_fast", "--mmap"] => {
            |path, _| serde_fast::read_slice(mapped(path)?.get_ref().as_ref())
        }
        ["tfrecord"] => |path, _| tfrecords::examples(path),
        ["tfrecord", "--raw"] => |path, _| tfrecords::raw(path),
        ["atds-tfrecord"] => |path, _| tfrecords::framed(path),
        _ => {
            let names = "apache-avro, arrow-avro, serde_avro_fast, tfrecord or atds-tfrecord";
            return Err(format!("name a reader: {names}").into());
        }
    };
    let name = arguments[0];
    answer(&json!({ name: locked_version(name) }))?;
    for line in io::stdin().lock().lines() {
        let job = serde_json::from_str(&line?)?;
        let done = run(&job, name, read);
        answer(&done.unwrap_or_else(|error| json!({"unable": error.to_string()})))?;
    }
    Ok(())
}

/// Reads all files of the job for some epochs.
fn run(job: &Job, name: &str, read: Read) -> Result<Value, Box<dyn Error>> {
    let files = files(&job.files)?;
    if name == "serde_avro_fast" && job.warm_up > 0 {
        for file in &files {
            serde_fast::check(mapped(file)?.get_ref().as_ref())?;
        }
    }
    let epoch = || {
        let (start, before) = (Instant::now(), processor_seconds());
        let counts = files.iter().map(|file| read(file, job.batch_size));
        let records: usize = counts.sum::<Result<_, _>>()?;
        let times = (start.elapsed().as_secs_f64(), processor_seconds() - before);
        Ok::<_, Box<dyn Error>>((records, times))
    };
    for _ in 0..job.warm_up {
        epoch()?;
    }
    let mut records = 0;
    let (mut seconds, mut processor) = (Vec::new(), Vec::new());
    for _ in 0..job.epochs {
        let (read, took) = epoch()?;
        records = read;
        seconds.push(took.0);
        processor.push(took.1);
    }
    Ok(json!({"records": records, "seconds": seconds, "processor": processor}))
}

/// The processor time of the process so far.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default().as_secs_f64()
}

fn buffered(path: &Path) -> io::Result<impl BufRead> {
    Ok(BufReader::new(File::open(path)?))
}

fn mapped(path: &Path) -> io::Result<Cursor<Mapping>> {
    Ok(Cursor::new(Mapping::new(&File::open(path)?)?))
}

/// The files of a folder, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = folder.read_dir()?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "avro" || extension == "tfrecord")
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
