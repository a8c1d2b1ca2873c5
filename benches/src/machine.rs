//! Describes the conditions of a measurement: the machine, its load, and versions.

use std::error::Error;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

/// Any error of this module.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The machine without its name.
#[derive(Clone, Debug)]
pub struct Machine {
    cpu: String,
    cores: usize,
    memory_bytes: u64,
    kernel: String,
    /// The share of all cores' time that other work took before the first run.
    busy_before: f64,
}

impl Machine {
    /// Describes this machine, after watching its load for two seconds.
    ///
    /// # Errors
    ///
    /// There is no Linux `/proc`.
    pub fn describe() -> Result<Self> {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        let memory = value("/proc/meminfo", "MemTotal")?;
        let kilobytes: u64 = memory.trim_end_matches(" kB").parse()?;
        Ok(Machine {
            cpu: value("/proc/cpuinfo", "model name")?,
            cores: std::thread::available_parallelism()?.get(),
            memory_bytes: kilobytes * 1024,
            kernel: format!("Linux {} {}", kernel.trim(), std::env::consts::ARCH),
            busy_before: busy_share()?,
        })
    }

    /// Whether other work makes figures doubtful.
    pub fn is_busy(&self) -> bool {
        self.busy_before > QUIET
    }

    /// The machine in a record.
    pub fn json(&self) -> Value {
        json!({
            "cpu": self.cpu,
            "cores": self.cores,
            "memory_bytes": self.memory_bytes,
            "kernel": self.kernel,
            "busy_before": self.busy_before,
        })
    }

    /// The machine in one line of a record.
    pub fn line(&self) -> String {
        format!(
            "{}, {} cores, {:.0} GiB, {}; {:.0}% busy before the first run",
            self.cpu,
            self.cores,
            self.memory_bytes as f64 / f64::from(1 << 30),
            self.kernel,
            self.busy_before * 100.0
        )
    }
}

/// Time for which the load is watched.
const WATCHED: Duration = Duration::from_secs(2);

/// Maximum load of a quiet machine.
const QUIET: f64 = 0.05;

fn busy_share() -> Result<f64> {
    let before = cpu_times()?;
    sleep(WATCHED);
    let after = cpu_times()?;
    let spent: Vec<u64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    // Idle time, and time of waiting for disks.
    let idle = spent[3] + spent[4];
    Ok(1.0 - idle as f64 / spent.iter().sum::<u64>() as f64)
}

/// Ticks of all cores since the start: user, nice, system, idle, iowait, irq, softirq, steal.
fn cpu_times() -> Result<Vec<u64>> {
    let stat = fs::read_to_string("/proc/stat")?;
    let ticks = stat.split_whitespace().skip(1).take(8);
    Ok(ticks
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?)
}

/// The text after `key:` in a file of such lines, as in `/proc`.
///
/// # Errors
///
/// If the file cannot be read, or has no such line.
pub fn value(path: &str, key: &str) -> Result<String> {
    let text = fs::read_to_string(path)?;
    let of_key = |line: &str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    };
    let found = text.lines().find_map(of_key);
    Ok(found.ok_or_else(|| format!("{path} has no {key}"))?)
}

/// The commit, with a mark if files differ from it, and the version of the compiler.
///
/// # Errors
///
/// If git or the compiler cannot be run.
pub fn versions() -> Result<(String, String)> {
    let mut commit = output("git", &["-C", REPOSITORY, "rev-parse", "--short", "HEAD"])?;
    let changed = [
        "-C",
        REPOSITORY,
        "status",
        "--porcelain",
        "--",
        "crates",
        "benches/src",
        "Cargo.toml",
        "Cargo.lock",
    ];
    if !output("git", &changed)?.is_empty() {
        commit.push_str(" with changes");
    }
    let rustc = output("rustc", &["--version"])?;
    let rustc = rustc.split_whitespace().nth(1).unwrap_or(&rustc).to_owned();
    Ok((commit, rustc))
}

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Today's date in UTC.
///
/// # Errors
///
/// If the date cannot be determined.
pub fn today() -> Result<String> {
    output("date", &["-u", "+%F"])
}

fn output(command: &str, args: &[&str]) -> Result<String> {
    let done = Command::new(command).args(args).output()?;
    if !done.status.success() {
        return Err(format!("{command}: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    Ok(String::from_utf8(done.stdout)?.trim().to_owned())
}
