//! SIGUSR1 prints what waits for what.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{Generated, Ran, command, text};

/// A command whose standard error is read line by line.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    fn new(args: &[&str]) -> Self {
        let mut command = command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let err = BufReader::new(child.stderr.take().unwrap());
        thread::spawn(move || {
            err.lines()
                .for_each(|line| sender.send(line.unwrap()).unwrap())
        });
        let mut running = Running { child, lines };
        running.wait_for_handler();
        running
    }

    /// Waits until the process handles SIGUSR1, whose number is 10.
    fn wait_for_handler(&mut self) {
        let start = Instant::now();
        let path = format!("/proc/{}/status", self.child.id());
        loop {
            let status = fs::read_to_string(&path).unwrap();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            if u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() >> 9 & 1 == 1 {
                return;
            }
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "it ended by itself"
            );
            assert!(start.elapsed() < Duration::from_secs(60), "no handler");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends the signal until the text that follows has all of `parts`, and returns it.
    fn tells(&self, last: &str, parts: &[&str]) -> String {
        let start = Instant::now();
        loop {
            let pid = self.child.id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-USR1", &pid])
                    .status()
                    .unwrap()
                    .success()
            );
            let mut told = String::new();
            loop {
                let line = self.lines.recv_timeout(Duration::from_secs(60));
                let line = line.expect("it tells at once");
                told += &format!("{line}\n");
                if line.starts_with(last) || line == "no batches are read yet" {
                    break;
                }
            }
            assert!(told.starts_with("atds: what waits for what:\n"), "{told}");
            if parts.iter().all(|part| told.contains(part)) {
                return told;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{told}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The result, after all lines were read from standard error.
    fn end(self) -> Ran {
        let mut ran = Ran::new(self.child.wait_with_output().unwrap());
        ran.err = self.lines.iter().map(|line| line + "\n").collect();
        ran
    }
}

/// A pipe without more data, first without a header and then in the middle of a block.
#[test]
fn a_stuck_run_tells_what_it_waits_for_and_goes_on() {
    let files = Generated::new(&["--records", "300", "--files", "1", "--codec", "null"]);
    let bytes = fs::read(files.file(0)).unwrap();
    let (most, rest) = bytes.split_at(bytes.len() - 1000);
    for threads in ["1", "3"] {
        let pipe = text(&files.dir.path().join(format!("pipe '{threads}'")));
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let args = [
            "bench",
            &pipe,
            "--batch-size",
            "10",
            "--threads",
            threads,
            "--memory-limit",
            "100MB",
            "--json",
        ];
        let run = Running::new(&args);
        let mut data = OpenOptions::new().write(true).open(&pipe).unwrap();
        run.tells("no batches are read yet", &["\nno batches are read yet\n"]);
        data.write_all(most).unwrap();
        let told = run.tells(
            "memory: ",
            &[
                "\nconsumer: waits for batch ",
                "\nplanning thread: reads offset ",
                "\nworker 0: waits for an op since ",
                "\nqueue: 0 of ",
                ", 0 reads\n",
                " 0 ready (at most 2), 0 finished before earlier ones, 0 to be made\n",
                " of 100.0 MB; ready batches 0.0 MB, ",
            ],
        );
        // The name is escaped, as in all messages.
        let name = pipe.replace('\'', "\\'");
        assert!(told.contains(&format!(" of '{name}' since ")), "{told}");
        data.write_all(rest).unwrap();
        drop(data);
        let ran = run.end();
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let figures: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(figures["records"], 300);
    }
}
