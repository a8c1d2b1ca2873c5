//! A stopped command, or one on a full disk, leaves no files.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Generated, Ran, command, text};

/// More records than any command makes before it is stopped.
const MANY: &str = "10000000000";

/// Signals and the exit codes that they cause. SIGHUP is left out if the tests run under `nohup`,
/// since child processes then ignore it.
fn signals() -> Vec<(&'static str, i32)> {
    let mut signals = vec![("-INT", 130), ("-TERM", 143)];
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    if ignored.is_some_and(|mask| {
        mask.trim()
            .ends_with(['0', '2', '4', '6', '8', 'a', 'c', 'e'])
    }) {
        signals.push(("-HUP", 129));
    }
    signals
}

/// Waits until the command has a file below the folder to which it writes.
pub(crate) fn wait_for_files(folder: &Path, child: &mut Child) {
    let start = Instant::now();
    while !has_hidden_file(folder) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "it wrote nothing"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn has_hidden_file(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries.map(|entry| entry.unwrap().path()).any(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.ends_with(".tmp") && path.is_file() || has_hidden_file(&path)
    })
}

/// Waits until a process has installed its handler for SIGINT.
#[cfg(target_os = "linux")]
fn wait_for_handler(child: &mut Child) {
    let start = Instant::now();
    let path = format!("/proc/{}/status", child.id());
    loop {
        let status = fs::read_to_string(&path).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        if u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() >> 1 & 1 == 1 {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        assert!(start.elapsed() < Duration::from_secs(60), "no handler");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts the command, sends the signal once the command writes, and waits for its end.
fn stopped(mut command: Command, folder: &Path, signal: &str) -> Ran {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_files(folder, &mut child);
    ended_by(child, signal)
}

/// Sends a signal to a process, and waits for its end.
fn ended_by(mut child: Child, signal: &str) -> Ran {
    let pid = child.id().to_string();
    let kill = Command::new("kill").args([signal, &pid]).status().unwrap();
    assert!(kill.success());
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            // A process that goes on would fill the disk.
            child.kill().unwrap();
            panic!("{signal} did not end it");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ran::new(child.wait_with_output().unwrap())
}

#[test]
fn a_stopped_generate_leaves_nothing() {
    for (signal, code) in signals() {
        let dir = TempDir::new().unwrap();
        let folder = dir.path().join("new");
        let generate = command(&["generate", &text(&folder), "--records", MANY]);
        let ran = stopped(generate, &folder, signal);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{}", ran.err);
        assert!(!folder.exists());
    }
}

#[test]
fn a_stopped_generate_leaves_older_files_as_they_were() {
    let files = Generated::new(&["--records", "100", "--files", "2"]);
    let before: Vec<_> = (0..2).map(|i| fs::read(files.file(i)).unwrap()).collect();
    let folder = files.files();
    let generate = command(&["generate", &folder, "--records", MANY, "--files", "2"]);
    let ran = stopped(generate, Path::new(&folder), "-INT");
    assert_eq!(ran.code, 130, "{}", ran.err);
    let after: Vec<_> = (0..2).map(|i| fs::read(files.file(i)).unwrap()).collect();
    assert!(before == after);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn a_stopped_demo_leaves_nothing() {
    for (signal, code) in signals() {
        let dir = TempDir::new().unwrap();
        let mut demo = command(&["demo", "--records", MANY]);
        demo.env("TMPDIR", dir.path());
        let ran = stopped(demo, dir.path(), signal);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{}", ran.err);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

/// The command can be stopped while it waits for data from a pipe that stays open.
#[test]
#[cfg(target_os = "linux")]
fn a_stopped_bench_keeps_its_figures() {
    use std::io::Write;

    let files = Generated::new(&["--records", "300", "--files", "1"]);
    let bytes = fs::read(files.file(0)).unwrap();
    for (signal, code) in signals() {
        for json in [false, true] {
            let mut bench = command(&["bench", "-", "--batch-size", "10"]);
            bench.args(json.then_some("--json"));
            bench.stdin(Stdio::piped());
            bench.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = bench.spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(&bytes).unwrap();
            wait_for_handler(&mut child);
            let ran = ended_by(child, signal);
            assert_eq!((ran.code, ran.err.as_str()), (code, ""), "{}", ran.out);
            let number = code - 128;
            if json {
                let figures: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
                assert_eq!(figures["stopped_early"], format!("signal {number}"));
            } else {
                let line = format!("\nstopped early       by signal {number}\nrecords ");
                assert!(ran.out.contains(&line), "{}", ran.out);
                assert!(ran.out.contains("\ntime of threads "), "{}", ran.out);
            }
            drop(stdin);
        }
    }
}

/// The totals are those of the files before the endless one.
#[test]
#[cfg(target_os = "linux")]
fn a_stopped_inspect_keeps_its_totals() {
    use std::io::Read;

    let files = Generated::new(&["--records", "300", "--files", "1"]);
    let tmp = TempDir::new().unwrap();
    let file = files.file(0);
    for (signal, code) in signals() {
        let mut inspect = command(&["inspect", &file, "-"]);
        inspect.stdin(Stdio::piped()).env("TMPDIR", tmp.path());
        inspect.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = inspect.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        // The line of the first file is printed at once.
        let mut lines = String::new();
        let mut out = child.stdout.take().unwrap();
        while lines.matches('\n').count() < 2 {
            let mut byte = [0];
            out.read_exact(&mut byte).unwrap();
            lines.push(byte[0].into());
        }
        let ran = ended_by(child, signal);
        out.read_to_string(&mut lines).unwrap();
        assert_eq!((ran.code, ran.err.as_str()), (code, ""), "{lines}");
        assert!(lines.contains("  total of 1 file\n"), "{lines}");
        let line = format!("\n  stopped       early by signal {}\n", code - 128);
        assert!(lines.ends_with(&line), "{lines}");
        assert_eq!(fs::read_dir(tmp.path()).unwrap().count(), 0);
        drop(stdin);
    }
}

/// The totals are those of the files before the endless one.
#[test]
#[cfg(target_os = "linux")]
fn a_stopped_verify_keeps_its_totals() {
    let files = Generated::new(&["--records", "300", "--files", "1"]);
    for (signal, code) in signals() {
        for json in [false, true] {
            let mut verify = command(&["verify", &files.file(0), "-"]);
            verify.args(json.then_some("--json"));
            verify.stdin(Stdio::piped());
            verify.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = verify.spawn().unwrap();
            let stdin = child.stdin.take().unwrap();
            let mut out = BufReader::new(child.stdout.take().unwrap());
            let mut lines = String::new();
            out.read_line(&mut lines).unwrap();
            let mut ran = ended_by(child, signal);
            out.read_to_string(&mut lines).unwrap();
            ran.out = lines;
            assert_eq!((ran.code, ran.err.as_str()), (code, ""), "{}", ran.out);
            let reason = format!("signal {}", code - 128);
            let last = ran.out.lines().last().unwrap();
            if json {
                let total: serde_json::Value = serde_json::from_str(last).unwrap();
                assert_eq!(total["total"]["stopped_early"], reason);
                assert_eq!(total["total"]["records"], 300);
            } else {
                assert!(
                    ran.out
                        .contains("total of 1 file: 1 well, 0 damaged; 300 records")
                );
                assert_eq!(last, format!("stopped early by {reason}"));
            }
            drop(stdin);
        }
    }
}

/// Runs the command with a limit of 64 KiB for each file, like a full disk.
pub(crate) fn on_a_small_disk(args: &[&str], tmp: &Path) -> Ran {
    let mut shell = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_atds")]);
    shell.args(args).env("TMPDIR", tmp).stdin(Stdio::null());
    Ran::new(shell.output().unwrap())
}

#[test]
fn a_full_disk_leaves_nothing_new() {
    let tmp = TempDir::new().unwrap();
    let files = Generated::new(&["--records", "10", "--files", "1"]);
    let (before, folder) = (fs::read(files.file(0)).unwrap(), files.files());
    let many = ["--records", "20000", "--files", "1"];
    let generate = [&["generate", &folder], &many[..]].concat();
    let message = on_a_small_disk(&generate, tmp.path()).fails_with(1);
    // The message names the intended file, and the cause once.
    assert!(message.starts_with(&files.file(0)), "{message}");
    assert_eq!(message.matches("File too large").count(), 1, "{message}");
    assert!(fs::read(files.file(0)).unwrap() == before);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);

    let new = text(&tmp.path().join("new"));
    let generate = [&["generate", &new], &many[..]].concat();
    on_a_small_disk(&generate, tmp.path()).fails_with(1);
    assert!(!Path::new(&new).exists());

    let demo = ["demo", "--records", "200000"];
    on_a_small_disk(&demo, tmp.path()).fails_with(1);
    assert_eq!(fs::read_dir(tmp.path()).unwrap().count(), 0);
}
