//! The hand-written loop as a system of `benches/peers`. It reads a job from a line of JSON, runs it,
//! and prints the result as a line.

use std::error::Error;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use atds_benches::handwritten::HandwrittenLoop;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    answer(&json!({}))?;
    for line in io::stdin().lock().lines() {
        let job = serde_json::from_str(&line?)?;
        let done = run(&job).unwrap_or_else(|error| json!({"unable": error.to_string()}));
        answer(&done)?;
    }
    Ok(())
}

/// Reads all files of the job, `warm_up` times and then `epochs` times.
fn run(job: &Value) -> Result<Value, Box<dyn Error>> {
    let number = |key: &str| job[key].as_u64().ok_or(format!("the job has no {key}"));
    let files = files(Path::new(
        job["files"].as_str().ok_or("the job has no files")?,
    ))?;
    let mut by_hand = HandwrittenLoop::new(number("batch_size")? as usize);
    let warm_up = number("warm_up")?;
    let mut records = 0;
    let mut seconds = Vec::new();
    for epoch in 0..warm_up + number("epochs")? {
        let start = Instant::now();
        records = by_hand.epoch(&files, |batch| {
            black_box(batch);
        })?;
        if epoch >= warm_up {
            seconds.push(start.elapsed().as_secs_f64());
        }
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

fn answer(value: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}")?;
    out.flush()
}
