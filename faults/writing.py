"""A full disk, failing calls and SIGKILL while `atds generate` and `atds repair` write.

A file under its final name is whole: the new one, or the one that was there before. A command that fails says why
and leaves nothing else behind.
"""

import errno
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from . import processes, shim
from .checks import Context, Tally

QUICK_PLACES, PLACES = 3, 40
QUICK_KILLS, KILLS = 6, 150
SAYS = {errno.ENOSPC: "No space left on device", errno.EIO: "Input/output error"}

# More bytes than the disk of the full disk has.
RECORDS = 300
DISK_BYTES = 128 << 10

Files = dict[str, bytes]


def run(context: Context) -> Tally:
    """Let all writing fail in all ways."""
    tally = Tally()
    old = _generated(context, "old", 1)
    new = _generated(context, "new", 2)
    damaged = context.folder / "damaged.avro"
    whole = b"".join(new.values())[: len(next(iter(new.values())))]
    middle = len(whole) // 2
    damaged.write_bytes(whole[:middle] + bytes(300) + whole[middle + 300 :])
    mended = context.folder / "reference.avro"
    ran = processes.run([context.command, "repair", str(damaged), str(mended)])
    tally.expect(ran.code == 0, f"repair: {ran.err}")
    library = shim.build(context)
    if library is None:
        tally.count(shim.NOT_BUILT, 0)
    else:
        written = mended.read_bytes()
        _fail_calls(context, library, old, new, damaged, written, tally.begin("calls"))
    _fill_a_disk(context, damaged, tally)
    _fill_standard_output(context, damaged, tally.begin("standard output"))
    _kill(context, old, new, damaged, mended.read_bytes(), tally.begin("kill"))
    return tally


def _arguments(context: Context, folder: Path, seed: int) -> list[str]:
    options = ["--records", str(RECORDS), "--files", "3", "--seed", str(seed)]
    return [context.command, "generate", *options, str(folder)]


def _generated(context: Context, name: str, seed: int) -> Files:
    folder = context.folder / name
    ran = processes.run(_arguments(context, folder, seed))
    if ran.code != 0:
        raise RuntimeError(ran.err)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _fail_calls(
    context: Context,
    library: shim.Shim,
    old: Files,
    new: Files,
    damaged: Path,
    mended: bytes,
    tally: Tally,
) -> None:
    size = sum(map(len, new.values()))
    number = QUICK_PLACES if context.quick else PLACES
    places = [0, *context.random("places").sample(range(1, size), number)]
    faults = [("write", place, errno.ENOSPC) for place in places]
    faults += [("write", size // 2, errno.EIO), ("sync", 0, errno.EIO)]
    faults += [("open", count, errno.ENOSPC) for count in range(4)]
    for call, after, error in faults:
        settings = {"after": after, "errno": error, "lie": int(context.plant)}
        for earlier in ({}, old):
            folder = _folder(context, earlier)
            environment = library.environment(str(folder), call, **settings)
            ran = processes.run(_arguments(context, folder, 2), environment)
            what = f"generate, {call} fails after {after}, {len(earlier)} files before"
            _check_failed(ran, library, error, what, tally)
            _check_folder(folder, earlier, new, ran.code, what, tally)
        if call == "open" and after > 0:
            # The second is the folder, so that the name is on the disk; not all systems can open folders.
            continue
        folder = _folder(context, {})
        out = folder / "out.avro"
        environment = library.environment(str(folder), call, **settings)
        ran = processes.run([context.command, "repair", str(damaged), str(out)], environment)
        what = f"repair, {call} fails after {after}"
        _check_failed(ran, library, error, what, tally)
        _check_folder(folder, {}, {out.name: mended}, ran.code, what, tally)


def _folder(context: Context, earlier: Files) -> Path:
    folder = context.folder / "written"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in earlier.items():
        (folder / name).write_bytes(data)
    return folder


def _check_failed(
    ran: processes.Ran, library: shim.Shim, error: int, what: str, tally: Tally
) -> None:
    tally.expect(ran.crash is None, f"{what}: {ran.crash}")
    if library.injected():
        tally.count("failed writes, syncs and opens")
        is_said = ran.code == 1 and SAYS[error] in ran.err
        tally.expect(is_said, f"{what}: {ran.code}: {ran.err[-300:]}")
    else:
        tally.expect(ran.code == 0, f"{what}: nothing failed, but {ran.err[-300:]}")


def _check_folder(
    folder: Path, earlier: Files, new: Files, code: int, what: str, tally: Tally
) -> None:
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    expected = new if code == 0 else earlier
    is_same = found == expected
    names = {name: len(data) for name, data in found.items()}
    tally.expect(is_same, f"{what}: exit code {code}, and there are {names}")


def _fill_a_disk(context: Context, damaged: Path, tally: Tally) -> None:
    """Write to a file system of few bytes. Only root can mount one."""
    disk = context.folder / "disk"
    disk.mkdir()
    size = DISK_BYTES * (100 if context.plant else 1)
    mount = f"mount -t tmpfs -o size={size} none {disk}"
    inside = ["unshare", "--mount", "sh", "-c"]
    if shutil.which("unshare") is None or processes.run([*inside, mount]).code != 0:
        tally.count("real full disks, which this user cannot mount", 0)
        return
    filled = f"head -c {DISK_BYTES - 4096} /dev/zero > {disk}/zeros"
    tally.begin("disk")
    commands = {
        "generate": _arguments(context, disk / "data", 1),
        "repair": [context.command, "repair", str(damaged), str(disk / "out.avro")],
    }
    for name, arguments in commands.items():
        script = f'{mount} && {filled} && {{ "$@"; code=$?; find {disk} -type f; exit $code; }}'
        ran = processes.run([*inside, script, "sh", *arguments])
        tally.count("real full disks")
        is_said = ran.crash is None and ran.code == 1 and SAYS[errno.ENOSPC] in ran.err
        tally.expect(is_said, f"{name} on a full disk: {ran.code}: {ran.err[-300:]}")
        left = [line for line in ran.out.splitlines() if line.startswith(str(disk))]
        tally.expect(left == [f"{disk}/zeros"], f"{name} on a full disk leaves {left}")


def _fill_standard_output(context: Context, damaged: Path, tally: Tally) -> None:
    good = str(context.folder / "new")
    for arguments in (
        ["head", str(context.folder / "new" / "part-00000.avro")],
        ["bench", "--json", good],
        ["verify", "--json", good],
        ["inspect", "--json", good],
        ["repair", "--json", str(damaged), "OUT"],
    ):
        out = context.folder / "stdout.avro"
        out.unlink(missing_ok=True)
        command = [str(out) if part == "OUT" else part for part in arguments]

        def fill() -> None:
            os.dup2(os.open("/dev/null" if context.plant else "/dev/full", os.O_WRONLY), 1)

        ran = processes.run([context.command, *command], before=fill)
        tally.count("full standard outputs")
        is_said = ran.crash is None and ran.code == 1 and SAYS[errno.ENOSPC] in ran.err
        tally.expect(is_said, f"{arguments[0]} > /dev/full: {ran.code}: {ran.err[-300:]}")


def _kill(
    context: Context, old: Files, new: Files, damaged: Path, mended: bytes, tally: Tally
) -> None:
    random = context.random("writers")
    seconds = {}
    for number in range(QUICK_KILLS if context.quick else KILLS):
        name = ("generate", "repair")[number % 2]
        earlier = old if name == "generate" and number % 4 == 0 else {}
        folder = _folder(context, earlier)
        out = folder / "out.avro"
        command = _arguments(context, folder, 2)
        if name == "repair":
            command = [context.command, "repair", str(damaged), str(out)]
        # The first of each runs to its end, for its time.
        started = time.monotonic()
        child = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        try:
            child.wait(random.random() * seconds[name] if name in seconds else 60)
            seconds[name] = time.monotonic() - started
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
            tally.count("killed writers")
        wanted = {out.name: mended} if name == "repair" else new
        for path in folder.iterdir():
            if context.plant:
                os.truncate(path, 100)
            # What a killed process was writing has a hidden name.
            if not path.name.startswith("."):
                data = path.read_bytes()
                is_whole = data in (wanted.get(path.name), earlier.get(path.name))
                tally.expect(is_whole, f"killed {name}: {path.name} has {len(data)} bytes")
        out.unlink(missing_ok=True)
        ran = processes.run(command)
        again = {p.name: p.read_bytes() for p in folder.iterdir() if not p.name.startswith(".")}
        tally.expect(ran.code == 0 and again == wanted, f"{name} after a kill: {ran.err[-300:]}")
