//! What the process may use of the machine.

use std::fs::read_to_string;
use std::path::Path;

/// Memory in bytes that the process may use: the machine's, or less by the limits of its cgroup and
/// those around it. `None` if the system does not say so.
///
/// `root` is `/`. Both versions of cgroups are read, as Linux documents them in
/// `admin-guide/cgroup-v2` and `admin-guide/cgroup-v1/memory`.
pub(crate) fn memory(root: &Path) -> Option<u64> {
    let groups = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let groups = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next()?, parts.next()?);
        let is_second = controllers.is_empty();
        let has_memory = is_second || controllers.split(',').any(|name| name == "memory");
        has_memory.then_some((is_second, group))
    });
    let limits = groups.flat_map(|(is_second, group)| {
        let (folder, file) = if is_second {
            ("sys/fs/cgroup", "memory.max")
        } else {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        };
        // In a container, the group's own folder may be the root that is mounted there.
        let group = Path::new(group.trim_start_matches('/'));
        let limit = |group: &Path| number(&root.join(folder).join(group).join(file));
        group.ancestors().filter_map(limit).collect::<Vec<_>>()
    });
    limits.chain(machine(root)).min()
}

/// Memory of the machine in bytes.
fn machine(root: &Path) -> Option<u64> {
    let found = read_to_string(root.join("proc/meminfo")).ok()?;
    let total = found
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes.saturating_mul(1024))
}

/// The number in a file; `None` for `max`.
fn number(path: &Path) -> Option<u64> {
    read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_around_the_process_counts() {
        let second = [("proc/self/cgroup", "0::/a/b\n")];
        let first = [(
            "proc/self/cgroup",
            "9:name=systemd:/\n4:cpu,memory:/a/b\n0::/\n",
        )];
        let memory_of = |files: &[(&str, &str)]| {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in files.iter().chain(&[("proc/meminfo", "MemTotal:  8 kB\n")]) {
                let path = root.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            memory(root.path())
        };
        let second = |path, text| memory_of(&[second[0], (path, text)]);
        assert_eq!(second("sys/fs/cgroup/a/b/memory.max", "max\n"), Some(8192));
        assert_eq!(second("sys/fs/cgroup/a/b/memory.max", "4096\n"), Some(4096));
        assert_eq!(second("sys/fs/cgroup/a/memory.max", "4096\n"), Some(4096));
        assert_eq!(second("sys/fs/cgroup/memory.max", "4096\n"), Some(4096));
        assert_eq!(second("sys/fs/cgroup/memory.max", "9000\n"), Some(8192));
        assert_eq!(second("sys/fs/cgroup/c/memory.max", "4096\n"), Some(8192));
        let first = |path, text| memory_of(&[first[0], (path, text)]);
        let path = "sys/fs/cgroup/memory/a/memory.limit_in_bytes";
        assert_eq!(first(path, "4096\n"), Some(4096));
        assert_eq!(first(path, "9223372036854771712\n"), Some(8192));
        let path = "sys/fs/cgroup/memory/memory.limit_in_bytes";
        assert_eq!(first(path, "4096\n"), Some(4096));
    }

    #[test]
    fn without_such_files_nothing_is_known() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(memory(root.path()), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_memory() {
        assert!(memory(Path::new("/")).unwrap() > 1 << 20);
    }
}
