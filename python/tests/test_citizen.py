"""The interpreter's lock, signals, threads, forks, memory and exit."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds
from interpreters import HANGS, run, succeeds


@pytest.fixture
def pipe(tmp_path: Path) -> str:
    """A pipe without a writer. Opening it to read blocks forever."""
    path = tmp_path / "pipe.avro"
    os.mkfifo(path)
    return str(path)


#: A data set whose second file is a pipe, an iterator that waits for it, and a way to end the wait.
WAITING = """
    import logging, os, signal, sys, threading, time, atds
    # A busy machine takes long enough for the warning that nobody writes to the pipe.
    logging.getLogger("atds").setLevel(logging.ERROR)
    # Which is ignored where the tests run in the background of a shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    file, pipe = sys.argv[1:]
    dataset = atds.Dataset([file, pipe], 1 << 20, {"s_label": atds.DenseFeature([], "int32")})
    iterator = iter(dataset)
    def release():
        # There is a reader, or will be soon.
        os.close(os.open(pipe, os.O_WRONLY))
    def interrupt():
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
"""


def test_other_threads_go_on_while_one_waits(pipe: str, clicks: str) -> None:
    out = succeeds(
        WAITING
        + """
    def wait():
        try:
            for batch in iterator:
                print(batch.num_records)
        except atds.Error as error:
            print(error.file == pipe)
    waiting = threading.Thread(target=wait)
    waiting.start()
    count = 0
    while count < 1_000_000:
        count += 1
    print(count, waiting.is_alive())
    release()
    waiting.join()
    """,
        str(Path(clicks) / "part-00000.avro"),
        pipe,
    )
    # The records before the error are a batch.
    assert out.split() == ["1000000", "True", "100", "True"]


def test_ctrl_c_ends_the_waiting(pipe: str, clicks: str) -> None:
    out = succeeds(
        WAITING
        + """
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        next(iterator)
    except KeyboardInterrupt:
        print("interrupted")
    release()
    """,
        str(Path(clicks) / "part-00000.avro"),
        pipe,
    )
    assert out == "interrupted"


def test_ctrl_c_ends_the_making_of_a_data_set(pipe: str, clicks: str) -> None:
    out = succeeds(
        WAITING
        + """
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        atds.Dataset(pipe, 8, {"s_label": atds.DenseFeature([], "int32")})
    except KeyboardInterrupt:
        print("interrupted")
    release()
    """,
        str(Path(clicks) / "part-00000.avro"),
        pipe,
    )
    assert out == "interrupted"


def test_ctrl_c_ends_the_counting_of_records(pipe: str, clicks: str) -> None:
    out = succeeds(
        WAITING
        + """
    many = atds.Dataset([file] * 300_000, 8, check_files=False)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        len(many)
    except KeyboardInterrupt:
        print("interrupted")
    # The thread that counts ends, too.
    tasks, deadline = "/proc/self/task", time.time() + 10
    def counts(task):
        try:
            with open(f"{tasks}/{task}/comm") as comm:
                return "atds-call" in comm.read()
        except OSError:
            return False
    while any(map(counts, os.listdir(tasks))) and time.time() < deadline:
        time.sleep(0.01)
    print(time.time() < deadline)
    release()
    """,
        str(Path(clicks) / "part-00000.avro"),
        pipe,
    )
    assert out.split() == ["interrupted", "True"]


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


@pytest.mark.parametrize("how", ["", "iterator.close()", "del iterator"])
def test_ctrl_c_ends_a_program_whose_files_do_not_answer(pipe: str, clicks: str, how: str) -> None:
    out = succeeds(
        WAITING
        + f"""
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        {how or "next(iterator)"}
        time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted")
    """,
        str(Path(clicks) / "part-00000.avro"),
        pipe,
    )
    assert out == "interrupted"


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


def test_memory_comes_back_to_the_pipeline(many: str) -> None:
    features = {"d0": atds.DenseFeature([8], "float32")}
    dataset = atds.Dataset(many, 250, features, prefetch=0, num_parallel_calls=1)
    addresses = set()
    batches = 0
    for batch in dataset:
        addresses.add(batch["d0"].ctypes.data)
        batches += 1
        del batch
    assert batches == 80
    # Several small batches are made at a time.
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
    # A handler that raises ends the loop at the next batch. No batch is lost.
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_command_in_this_process_leaves_signals_as_they_were(
    number: signal.Signals, tmp_path: Path
) -> None:
    program = """
        import os, signal, sys
        from atds import _native
        number = int(sys.argv[1])
        signal.signal(number, signal.SIG_DFL)
        for _ in range(2):
            assert _native.run_command(["atds", "generate", "--records", "10", sys.argv[2]]) == 0
        os.kill(os.getpid(), number)
        """
    done = run(program, str(int(number)), str(tmp_path))
    assert done.returncode == -number, done.stderr
