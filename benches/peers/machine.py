"""The conditions of a measurement: the machine, its load, and versions."""

import os
import platform
import subprocess
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

# Maximum load of a quiet machine. Above it, other work makes figures doubtful.
QUIET = 0.05


def describe() -> dict:
    """The machine without its name, and its load right now."""
    return {
        "cpu": _first_value("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "busy_before": _busy_share(seconds=3),
    }


def is_busy(machine: dict) -> bool:
    """Whether other work makes figures doubtful."""
    return (machine["busy_before"] or 0) > QUIET


def versions() -> dict[str, str]:
    """The versions of this repository and its compiler."""
    return {
        "commit": _output("git", "rev-parse", "--short", "HEAD") + _uncommitted(),
        "rustc": _output("rustc", "--version").split()[1],
    }


def line(machine: dict) -> str:
    """The machine in one line of a record."""
    busy = machine["busy_before"]
    busy = "load unknown" if busy is None else f"{busy:.0%} busy"
    return (
        f"- machine: {machine['cpu']}, {machine['cores']} cores,"
        f" {machine['memory_bytes'] / 2**30:.0f} GiB, {machine['kernel']};"
        f" {busy} before the first run"
    )


def summary(machine: dict) -> str:
    """A short name of the machine."""
    return f"{machine['cpu']} with {machine['cores']} cores"


def _busy_share(seconds: float) -> float | None:
    before = _cpu_times()
    time.sleep(seconds)
    spent = [after - then for after, then in zip(_cpu_times(), before, strict=True)]
    idle = spent[3] + spent[4]
    # A sandbox may not count.
    return 1 - idle / sum(spent) if any(spent) else None


def _cpu_times() -> list[int]:
    """Ticks of all cores since the start: user, nice, system, idle, iowait, irq, softirq, steal."""
    return [int(ticks) for ticks in _first_line("/proc/stat").split()[1:9]]


def _first_line(path: str) -> str:
    with open(path) as file:
        return file.readline()


def _first_value(path: str, key: str) -> str:
    with open(path) as file:
        found = (line.split(":", 1)[1].strip() for line in file if line.startswith(key))
        return next(found, "unknown")


def _uncommitted() -> str:
    changed = _output("git", "status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock")
    return " with changes" if changed else ""


def _output(*command: str) -> str:
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
