"""The interpreter's lock, signals, threads, forks, memory and exit."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds

#: Seconds after which what should end at once counts as hanging.
HANGS = 120


def run(code: str, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter of its own, which must end."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *args]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=HANGS, check=False, **options
    )


def succeeds(code: str, *args: str) -> str:
    done = run(code, *args)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()


@pytest.fixture
def stuck(tmp_path: Path, clicks: str) -> str:
    """A file whose end never comes: a pipe that has the first half of one."""
    path = tmp_path / "stuck.avro"
    os.mkfifo(path)
    return str(path)


def test_other_threads_go_on_while_one_waits(stuck: str, clicks: str) -> None:
    # The pipe has only the header and some blocks, so that the iterator waits for ever; the
    # thread that counts is what ends the test.
    out = succeeds(
        """
        import pathlib, sys, threading, atds
        path, source = sys.argv[1:]
        data = pathlib.Path(source).read_bytes()
        features = {"s_label": atds.DenseFeature([], "int32")}
        writer = []
        def feed():
            # The header is read once when the data set is made, and again by the iteration.
            with open(path, "wb") as pipe:
                try:
                    pipe.write(data)
                except BrokenPipeError:
                    pass
            pipe = open(path, "wb", buffering=0)
            pipe.write(data[: len(data) // 2])
            writer.append(pipe)
        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        dataset = atds.Dataset(path, 1 << 20, features)
        iterator = iter(dataset)
        feeder.join()
        def wait():
            try:
                list(iterator)
            except atds.DataError as error:
                print(error.block is not None)
        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        count = 0
        while count < 1_000_000:
            count += 1
        print(count, waiting.is_alive())
        writer[0].close()
        waiting.join()
        """,
        stuck,
        str(Path(clicks) / "part-00000.avro"),
    )
    assert out.split() == ["1000000", "True", "True"]


def test_ctrl_c_ends_the_waiting(stuck: str, clicks: str) -> None:
    out = succeeds(
        """
        import os, pathlib, signal, sys, threading, time, atds
        path, source = sys.argv[1:]
        data = pathlib.Path(source).read_bytes()
        keep = []
        def feed():
            with open(path, "wb") as pipe:
                try:
                    pipe.write(data)
                except BrokenPipeError:
                    pass
            pipe = open(path, "wb", buffering=0)
            pipe.write(data[: len(data) // 2])
            keep.append(pipe)
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=feed, daemon=True).start()
        dataset = atds.Dataset(path, 1 << 20, {"s_label": atds.DenseFeature([], "int32")})
        iterator = iter(dataset)
        try:
            next(iterator)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        # The iterator's thread waits for the pipe, which nobody but this one closes.
        keep[0].close()
        """,
        stuck,
        str(Path(clicks) / "part-00000.avro"),
    )
    assert out == "interrupted"


def test_ctrl_c_ends_the_making_of_a_data_set(stuck: str) -> None:
    # Opening the pipe waits for someone who writes, and nobody does.
    out = succeeds(
        """
        import os, signal, sys, threading, time, atds
        def interrupt():
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            atds.Dataset(sys.argv[1], 8, {"n": atds.DenseFeature([], "int32")})
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """,
        stuck,
    )
    assert out == "interrupted"


def test_an_iterator_can_be_left_at_any_time(many: str) -> None:
    dataset = atds.Dataset(many, 64, shuffle_buffer_size=1000)
    for taken in (0, 1, 2, 50):
        for _ in range(5):
            iterator = iter(dataset)
            for _ in range(taken):
                next(iterator)
            del iterator
    threads = [name for name in thread_names() if name.startswith("atds")]
    assert threads == []


def thread_names() -> list[str]:
    tasks = Path("/proc/self/task")
    return [(task / "comm").read_text().strip() for task in tasks.iterdir()]


def test_an_iterator_can_be_closed(numbers: str, number: Any) -> None:
    iterator = iter(atds.Dataset(numbers, 64, number))
    next(iterator)
    iterator.close()
    iterator.close()
    assert next(iterator, None) is None
    assert iterator.stats()["steps"] == 1


def test_an_exception_in_the_loop(numbers: str, number: Any) -> None:
    dataset = atds.Dataset(numbers, 10, number)
    for _ in range(20):
        with pytest.raises(ZeroDivisionError):
            for batch in dataset:
                batch["n"][0] // 0 if False else 1 // 0
    assert dataset.stats()["steps"] == 1


@pytest.mark.parametrize("how", ["global", "cycle", "exit", "os_exit", "thread"])
def test_the_interpreter_ends_with_an_iterator_open(many: str, how: str) -> None:
    code = {
        "global": "",
        "cycle": "class A: pass\na = A(); a.a = a; a.it = iterator; del iterator",
        "exit": "sys.exit(0)",
        "os_exit": "os._exit(0)",
        "thread": "import threading\n"
        "threading.Thread(target=lambda: [0 for _ in iterator], daemon=True).start()",
    }[how]
    start = (
        "import atds, os, sys\n"
        "iterator = iter(atds.Dataset(sys.argv[1], 64, shuffle_buffer_size=5000))\n"
        "kept = next(iterator)\n"
    )
    for _ in range(3):
        done = run(start + code, many)
        assert (done.returncode, done.stderr) == (0, "")


def test_threads_share_a_data_set(numbers: str, number: Any) -> None:
    dataset = atds.Dataset(numbers, 10, number)
    seen: list[list[int]] = []

    def read() -> None:
        seen.append([n for batch in dataset for n in batch["n"].tolist()])

    in_threads(read, 6)
    assert seen == [list(range(1000))] * 6
    assert dataset.epoch == 6


def test_threads_share_an_iterator(numbers: str, number: Any) -> None:
    for size in (1, 10):
        iterator = iter(atds.Dataset(numbers, size, number))
        seen: list[int] = []

        def read(iterator: Any = iterator, seen: list[int] = seen) -> None:
            for batch in iterator:
                seen.extend(batch["n"].tolist())

        in_threads(read, 5)
        assert sorted(seen) == list(range(1000))


def in_threads(work: Any, count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS)
        assert not thread.is_alive()


FORK = """
    import atds, os, sys, warnings
    warnings.simplefilter("ignore")
    dataset = atds.Dataset(sys.argv[1], 64, shuffle_buffer_size=1000, seed=1)
    iterator = iter(dataset)
    batch = next(iterator)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        out = os.fdopen(write, "w")
        try:
{body}
        finally:
            out.close()
        {end}
    os.close(write)
    print(os.fdopen(read).read(), end="")
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    rest = sum(batch.num_records for batch in iterator)
    print(rest)
"""


def forks(many: str, body: str, end: str = "os._exit(0)") -> list[str]:
    indented = textwrap.indent(textwrap.dedent(body), " " * 12)
    out = succeeds(FORK.format(body=indented.rstrip(), end=end), many).splitlines()
    # The parent goes on.
    assert out[-1] == str(20000 - 64)
    return out[:-1]


def test_a_forked_child_cannot_use_the_iterator(many: str) -> None:
    (said,) = forks(
        many,
        """
        for use in (iterator.stats, iterator.close, lambda: next(iterator)):
            try:
                use()
            except atds.ForkError as error:
                message = str(error)
        print(message, file=out)
        """,
    )
    assert said == (
        "this iterator was made before a fork, in the parent process, whose threads are not in "
        "this one: make it in this process (iterate over the dataset anew), or start worker "
        "processes with the 'spawn' or 'forkserver' method"
    )
    assert issubclass(atds.ForkError, RuntimeError)


def test_a_forked_child_uses_the_data_set(many: str) -> None:
    lines = forks(
        many,
        """
        print(dataset.stats()["records"], dataset.epoch, len(dataset), file=out)
        print(sum(batch.num_records for batch in dataset), file=out)
        print(dataset.stats()["records"], file=out)
        """,
    )
    assert lines == ["0 1 313", "20000", "20000"]


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)"])
def test_a_forked_child_drops_what_it_has(many: str, end: str) -> None:
    lines = forks(
        many,
        """
        values = batch["d0"] if "d0" in batch else None
        total = float(batch["s_weight"].sum())
        del batch, values, iterator, dataset
        import gc; gc.collect()
        print(total > 0, file=out)
        """,
        end,
    )
    assert lines == ["True"]


def count(dataset: atds.Dataset, queue: Any) -> None:
    queue.put(sum(batch.num_records for batch in dataset))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_worker_processes(clicks: str, method: str) -> None:
    dataset = atds.Dataset(clicks, 64)
    next(iter(dataset))
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    workers = [context.Process(target=count, args=(dataset, queue)) for _ in range(2)]  # type: ignore[attr-defined]
    for worker in workers:
        worker.start()
    assert [queue.get(timeout=HANGS) for _ in workers] == [200, 200]
    for worker in workers:
        worker.join(HANGS)
        assert worker.exitcode == 0


def test_errors_can_be_sent_to_other_processes() -> None:
    with pytest.raises(atds.Error) as caught:
        atds.Dataset("nowhere.avro", 1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is atds.MissingFileError
    assert (str(again), again.file, again.errno) == (str(caught.value), "nowhere.avro", 2)


def test_arrays_keep_their_memory(numbers: str, number: Any) -> None:
    dataset = atds.Dataset(numbers, 50, number)
    kept = [batch["n"] for batch in dataset]
    views = [array[10:20] for array in kept]
    del kept
    for batch in dataset:
        batch["n"][:] = -1
    gc.collect()
    assert np.concatenate(views).tolist() == [
        n for first in range(0, 1000, 50) for n in range(first + 10, first + 20)
    ]


def test_memory_comes_back_to_the_pipeline(numbers: str, number: Any) -> None:
    dataset = atds.Dataset(numbers, 5, number, prefetch=0)
    addresses = set()
    batches = 0
    for batch in dataset:
        addresses.add(batch["n"].ctypes.data)
        batches += 1
        del batch
    assert batches == 200
    assert len(addresses) < 20


def test_memory_does_not_grow(samples: Path) -> None:
    datasets = [
        atds.Dataset(samples / name, 64, shuffle_buffer_size=100)
        for name in ("clicks", "strings", "varlen")
    ]

    def epochs(count: int) -> int:
        for _ in range(count):
            for dataset in datasets:
                for batch in dataset:
                    assert batch.num_records
        gc.collect()
        return resident()

    before = epochs(30)
    after = epochs(100)
    assert after - before < 8 << 20


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_python_is_not_in_the_way_of_signals(numbers: str, number: Any) -> None:
    # A handler that raises ends the loop at the next batch, and none is lost.
    class Stop(Exception):
        pass

    def stop(*_: Any) -> None:
        raise Stop

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        iterator = iter(atds.Dataset(numbers, 10, number))
        seen = next(iterator)["n"].tolist()
        with pytest.raises(Stop):
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(HANGS)
        seen += [n for batch in iterator for n in batch["n"].tolist()]
        assert seen == list(range(1000))
    finally:
        signal.signal(signal.SIGUSR1, before)
