"""Starved threads, few threads, slow and endless consumers, ten data sets at once, few file handles.

The rows are the same as ever, or there is an error that says what is short. Nothing hangs.
"""

import contextlib
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import atds

from . import files, processes, reading
from .checks import Context, Tally

FILES, RECORDS, BLOCK, BATCH = 24, 100, 10, 16
SHUFFLED = {"shuffle_buffer_size": 200, "shuffle_files": True, "shuffle_blocks": True, "seed": 9}
MEMORY_LIMIT = 128 << 20

# What an endless consumer may take more after it has begun.
GROWTH_BYTES = 24 << 20
NOBODY = 65534

# A starved process gets a hundredth of a core, on a busy machine less.
SECONDS = 600


def run(context: Context) -> Tally:
    """Each kind of load in a process of its own."""
    tally = Tally()
    for number in range(FILES):
        codec = files.CODECS[number % len(files.CODECS)]
        path = context.folder / f"{number:02}.avro"
        files.write(path, number * RECORDS, RECORDS, BLOCK, codec)
    expected, failure = processes.isolated(
        partial(_read, context.folder, {"num_parallel_calls": 1})
    )
    if failure:
        tally.fail(f"the reference: {failure}")
        return tally
    if context.plant:
        # As if a row was lost.
        del expected[100]
    # The last are enough.
    handles = (1, 3, 8, 100) if context.quick else (*range(24), 100)
    threads = (0, 2, 100) if context.quick else (*range(8), 100)
    loads: dict[str, Callable[[], Any]] = {
        "starved threads": partial(_starved, context),
        "a slow consumer": partial(_slow, context),
        "an endless consumer": partial(_endless, context),
        "ten data sets in turn": partial(_ten_in_turn, context),
        "ten data sets in threads": partial(_ten_in_threads, context),
        "iterations that are left": partial(_left, context),
        **{f"{n} file handles": partial(_few_handles, context, n) for n in handles},
        **{f"{n} threads": partial(_few_threads, context, n) for n in threads},
    }
    for name, load in loads.items():
        answers, failure = processes.isolated(load, SECONDS)
        tally.begin(name.lstrip("0123456789 "))
        tally.count("loads")
        if failure:
            tally.fail(f"{name}: {failure}")
            continue
        for answer in answers:
            if isinstance(answer, str):
                tally.count("errors that say what is short")
            else:
                tally.count("readings under load")
                tally.expect(answer == expected, f"{name}: {len(answer)} rows are others")
    return tally


def _dataset(folder: Path, options: dict[str, Any]) -> Any:
    return reading.dataset(str(folder), BATCH, **{**SHUFFLED, **options})


def _read(folder: Path, options: dict[str, Any]) -> list[files.Row]:
    return [row for batch in _dataset(folder, options) for row in reading.rows(batch)]


def _starved(context: Context) -> list[Any]:
    """16 threads and spinning processes on one core, at a low priority."""
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    with _spinning(1 if context.quick else 3):
        os.nice(10)
        number = 1 if context.quick else 4
        return [_read(context.folder, {"num_parallel_calls": 16}) for _ in range(number)]


@contextlib.contextmanager
def _spinning(number: int) -> Iterator[None]:
    children = []
    for _ in range(number):
        pid = os.fork()
        if pid == 0:
            parent = os.getppid()
            # Not for ever, should the parent be killed.
            while os.getppid() == parent:
                sum(range(10_000))
            os._exit(0)
        children.append(pid)
    try:
        yield
    finally:
        for pid in children:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def _slow(context: Context) -> list[Any]:
    """Threads wait for the consumer most of the time, and hold little memory."""
    dataset = _dataset(context.folder, {"num_parallel_calls": 3, "memory_limit": MEMORY_LIMIT})
    batches = iter(dataset)
    rows = []
    random = context.random("slow")
    for batch in batches:
        rows += reading.rows(batch)
        time.sleep(random.random() * (0.005 if context.quick else 0.1))
    return [rows]


def _endless(context: Context) -> list[Any]:
    """An iteration of a million epochs: its memory does not grow, and it ends when it is told to."""
    batches = iter(_dataset(context.folder, {"epochs": 1_000_000, "num_parallel_calls": 2}))
    first = []
    while len(first) < FILES * RECORDS:
        first += reading.rows(next(batches))
    deadline = time.monotonic() + (2 if context.quick else 60)
    warm_at = deadline - (1 if context.quick else 50)
    warm = 0
    kept = []
    while time.monotonic() < deadline:
        next(batches)
        if context.plant and warm and not kept:
            kept.append(b"x" * GROWTH_BYTES * 2)
        if not warm and time.monotonic() > warm_at:
            warm = _resident()
    grown = _resident() - warm
    if grown > GROWTH_BYTES:
        raise AssertionError(f"memory grew by {grown:,} bytes from {warm:,}")
    started = time.monotonic()
    batches.close()
    if time.monotonic() - started > 30:
        raise AssertionError("closing took more than 30 s")
    return [first]


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _ten_in_turn(context: Context) -> list[Any]:
    found: list[list[files.Row]] = [[] for _ in range(10)]
    iterations = [iter(_dataset(context.folder, {"num_parallel_calls": 2})) for _ in found]
    for batches in zip(*iterations, strict=True):
        for rows, batch in zip(found, batches, strict=True):
            rows += reading.rows(batch)
    return found


def _ten_in_threads(context: Context) -> list[Any]:
    found: list[Any] = [None] * 10

    def read(number: int) -> None:
        try:
            found[number] = _read(context.folder, {"num_parallel_calls": 1 + number % 3})
        except BaseException as error:  # noqa: BLE001 - told below
            found[number] = error

    threads = [threading.Thread(target=read, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in found:
        if isinstance(answer, BaseException):
            raise answer
    return found


def _left(context: Context) -> list[Any]:
    """Loops that are left after some batches give back their threads and file handles."""
    random = context.random("left")
    before, kept = None, []
    for number in range(10 if context.quick else 200):
        batches = iter(_dataset(context.folder, {"num_parallel_calls": 3}))
        for _ in range(random.randrange(20)):
            next(batches)
        if context.plant:
            kept.append(open(os.devnull, "rb"))  # noqa: SIM115
        del batches
        held = len(os.listdir("/proc/self/fd"))
        if number == 2:
            before = held
    if before is not None and held > before:
        raise AssertionError(f"{held} open files after {before}")
    return [_read(context.folder, {})]


def _few_handles(context: Context, number: int) -> list[Any]:
    """`number` handles more than the process has."""
    held = max(int(name) for name in os.listdir("/proc/self/fd")) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (held + number, held + number))
    return [_read_or_say(context, ("Too many open files",))]


def _few_threads(context: Context, number: int) -> list[Any]:
    """`number` threads more than the process has. Root has no such limit."""
    if os.getuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    # The limit counts all processes of the user.
    held = _threads_of(os.getuid())
    resource.setrlimit(resource.RLIMIT_NPROC, (held + number, held + number))
    return [_read_or_say(context, ("Resource temporarily unavailable",))]


def _threads_of(user: int) -> int:
    held = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == user:
                held += len(list((folder / "task").iterdir()))
    return held


def _read_or_say(context: Context, says: tuple[str, ...]) -> Any:
    try:
        return _read(context.folder, {"num_parallel_calls": 4})
    except atds.Error as error:
        if not any(text in str(error) for text in says):
            raise
        return str(error)
