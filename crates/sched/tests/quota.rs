//! An automatic number of threads counts the quota of the cgroup.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::process::Command;

use atds_sched::Threads;

/// Lays a quota over the cgroup of this process, of version 2 and of version 1, for one command.
///
/// The arguments are the quota in µs of 100,000, and the command.
const WITH_QUOTA: &str = r#"
set -e
group() { sed -n "s/^[0-9]*:$1:\/*//p" /proc/self/cgroup; }
second=$(group '') first=$(group '\([^:]*,\)\{0,1\}cpu\(,[^:]*\)\{0,1\}' | head -n 1)
quota=$1
shift
mount -t tmpfs none /sys/fs/cgroup
cd /sys/fs/cgroup
mkdir -p "./$second" "cpu/$first"
touch cgroup.controllers "./$second/cgroup.controllers" cpu/cgroup.procs "cpu/$first/cgroup.procs"
echo "$quota 100000" >"./$second/cpu.max"
echo "$quota" >"cpu/$first/cpu.cfs_quota_us"
echo 100000 >"cpu/$first/cpu.cfs_period_us"
cd /
exec "$@"
"#;

#[test]
fn the_quota_of_the_cgroup_counts() {
    let cores = Threads::Auto.number();
    let program = std::env::current_exe().unwrap();
    let number = |quota: usize| {
        let ran = Command::new("unshare")
            .args([
                "--user",
                "--map-root-user",
                "--mount",
                "sh",
                "-c",
                WITH_QUOTA,
                "sh",
            ])
            .arg((quota * 100_000).to_string())
            .arg(&program)
            .args(["--ignored", "--exact", "prints_the_number", "--nocapture"])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&ran.stdout);
        let number = text.lines().find_map(|line| line.strip_prefix("threads: "));
        number.and_then(|number| number.parse::<usize>().ok())
    };
    let Some(one) = number(1) else {
        println!("not tested: this system lets the test have no mounts of its own");
        return;
    };
    assert_eq!(one, 1);
    assert_eq!(number(cores), Some(cores));
    assert_eq!(number(cores + 1), Some(cores));
}

/// For the test above, in a process with a quota.
#[test]
#[ignore = "run by another test"]
fn prints_the_number() {
    println!("\nthreads: {}", Threads::Auto.number());
}
