//! The default memory limit is a part of what the cgroup allows.

use std::process::Command;

use super::testdata;

/// Lays a memory limit over the cgroup of this process, of version 2 and of version 1, for one command.
///
/// The arguments are the limit in bytes, and the command.
const WITH_LIMIT: &str = r#"
set -e
group() { sed -n "s/^[0-9]*:$1:\/*//p" /proc/self/cgroup; }
second=$(group '') first=$(group '\([^:]*,\)\{0,1\}memory\(,[^:]*\)\{0,1\}' | head -n 1)
limit=$1
shift
mount -t tmpfs none /sys/fs/cgroup
cd /sys/fs/cgroup
mkdir -p "./$second" "memory/$first"
echo "$limit" >"./$second/memory.max"
echo "$limit" >"memory/$first/memory.limit_in_bytes"
exec "$@"
"#;

#[test]
fn the_default_limit_is_a_quarter_of_the_containers() {
    let file = testdata("everything_fastavro.avro");
    let limit = |memory: u64| {
        let mut unshare = Command::new("unshare");
        let shell = [
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            WITH_LIMIT,
            "sh",
        ];
        let ran = unshare
            .args(shell)
            .arg(memory.to_string())
            .args([env!("CARGO_BIN_EXE_atds"), "bench", "--json", &file])
            .output()
            .ok()?;
        let figures: serde_json::Value = serde_json::from_slice(&ran.stdout).ok()?;
        figures["memory_limit"].as_u64()
    };
    let Some(some) = limit(1 << 30) else {
        println!("not tested: this system lets the test have no mounts of its own");
        return;
    };
    assert_eq!(some, 1 << 28);
    assert_eq!(limit(1 << 29), Some(1 << 27));
    assert_eq!(limit(1 << 20), Some(64 << 20));
}
