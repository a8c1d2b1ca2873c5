"""Which files are read, and special files: pipes, and files packed as a whole."""

from __future__ import annotations

import contextlib
import gzip
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import atds

NUMBER = {"n": atds.DenseFeature([], "int64")}


def read(dataset: atds.Dataset) -> list[int]:
    return [n for batch in dataset for n in batch["n"].tolist()]


@pytest.fixture
def tree(tmp_path: Path, numbers: str) -> Path:
    """A folder like those that Spark and other programs leave."""
    content = Path(numbers).read_bytes()
    root = tmp_path / "tree"
    for name in (
        "a.avro",
        "._a.avro",
        "_temporary/0/b.avro",
        "_day=1/c.avro",
        "sub/d.avro",
        "sub/.e.avro",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


@pytest.mark.parametrize(
    ("given", "recursive", "expected"),
    [
        ("", False, ["a.avro"]),
        ("*.avro", False, ["a.avro"]),
        ("", True, ["_day=1/c.avro", "a.avro", "sub/d.avro"]),
        ("**/*.avro", False, ["_day=1/c.avro", "a.avro", "sub/d.avro"]),
        ("_temporary/**/*.avro", False, ["_temporary/0/b.avro"]),
        ("._a.avro", False, ["._a.avro"]),
    ],
)
def test_folders_and_patterns(tree: Path, given: str, recursive: bool, expected: list[str]) -> None:
    files = [str(tree / name) for name in expected]
    dataset = atds.Dataset(f"{tree}/{given}", 1000, NUMBER, recursive=recursive)
    assert dataset.filenames == files
    assert atds.Dataset(f"file://{tree}/{given}", 8, recursive=recursive).filenames == files
    assert pickle.loads(pickle.dumps(dataset)).filenames == files
    assert list(atds.infer_features(f"{tree}/{given}", recursive=recursive)) == ["n"]


def test_what_is_skipped_is_logged_once(tree: Path, caplog: pytest.LogCaptureFixture) -> None:
    dataset = atds.Dataset(tree, 1000, recursive=True)
    read(pickle.loads(pickle.dumps(dataset)))
    read(dataset)
    assert [record.getMessage() for record in caplog.records] == [
        f"{tree}: 2 hidden files and 1 hidden folder were skipped, such as '._a.avro'"
    ]
    caplog.clear()
    torch = pytest.importorskip("atds.torch", exc_type=ImportError)
    torch.Dataset(tree, 1000, recursive=True)
    assert len(caplog.records) == 1


def test_files_that_may_be_avro_are_not_skipped_in_silence(
    tree: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = (tree / "a.avro").read_bytes()
    for name in ("b.avro.gz", "C.AVRO", "sub/e.avro.1", "._f.avro.gz", "README.md"):
        (tree / name).write_bytes(content)
    told = "to read such files, give a pattern for them too"
    for recursive, skipped in ((False, "2 files"), (True, "3 files")):
        caplog.clear()
        atds.Dataset(tree, 1000, recursive=recursive, format="avro")
        assert [record.getMessage() for record in caplog.records][-1] == (
            f"{tree}: {skipped} not named *.avro were skipped, such as 'C.AVRO': {told}"
        )
    # Follows the advice of the warning.
    dataset = atds.Dataset([tree, tree / "*.AVRO", tree / "*.gz"], 1000)
    assert [Path(name).name for name in dataset.filenames] == ["a.avro", "C.AVRO", "b.avro.gz"]
    caplog.clear()
    assert len(atds.Dataset(f"{tree}/*.avro", 1000).filenames) == 1
    assert not any("not named" in record.getMessage() for record in caplog.records)


def test_a_folder_where_a_file_is_wanted(tree: Path) -> None:
    for call in (atds.read_schema, atds.inspect):
        with pytest.raises(atds.FileError, match="it is a folder: give a file that is in it"):
            call(tree)


def test_errors_say_what_is_there(tree: Path) -> None:
    (tree / "a.avro").unlink()
    with pytest.raises(atds.MissingFileError) as caught:
        atds.Dataset(tree, 8)
    assert f"but 2 folders: give '{tree}/**/*.avro'" in str(caught.value)
    with pytest.raises(atds.OptionError, match="recursive must be True or False"):
        atds.Dataset(tree, 8, recursive=2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call",
    [
        lambda path: atds.Dataset(path, 8),
        atds.infer_features,
        atds.inspect,
        atds.read_schema,
    ],
)
def test_urls(numbers: str, call: Callable[[str], Any]) -> None:
    call(f"file://{numbers}")
    call(f"file://localhost{numbers}")
    with pytest.raises(atds.OptionError, match="s3:// is not read yet"):
        call("s3://bucket/a.avro")
    with pytest.raises(atds.OptionError, match="this one is of 'other'"):
        call(f"file://other{numbers}")
    with pytest.raises(FileNotFoundError):
        call(f"file://{numbers}.none")


@pytest.fixture
def pipe(tmp_path: Path, numbers: str) -> str:
    """A pipe with the data of `numbers`, written as soon as the pipe is read."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = Path(numbers).read_bytes()

    def write() -> None:
        try:
            path.write_bytes(content)
        except BrokenPipeError:
            pass

    threading.Thread(target=write, daemon=True).start()
    return str(path)


def test_a_pipe_is_read_once(pipe: str) -> None:
    dataset = atds.Dataset(pipe, 64)
    # `list` asks for a length, which a pipe does not have.
    batches = list(dataset)
    assert [n for batch in batches for n in batch["n"].tolist()] == list(range(1000))
    assert dataset.schema["fields"] == [{"name": "n", "type": "long"}]
    assert dataset.stats()["records"] == 1000
    with pytest.raises(atds.ReadOnceError, match="it has been read") as caught:
        next(iter(dataset))
    assert isinstance(caught.value, OSError) and isinstance(caught.value, TypeError)
    assert caught.value.file == pipe
    for asked in (lambda: len(dataset), lambda: dataset.num_records):
        with pytest.raises(atds.ReadOnceError, match="cannot be counted"):
            asked()
    with pytest.raises(atds.ReadOnceError, match="cannot be pickled"):
        pickle.dumps(dataset)


@pytest.mark.parametrize(
    "options", [{"mmap": True}, {"shuffle_blocks": True}, {"shuffle": "blocks"}]
)
def test_what_a_pipe_cannot_do(pipe: str, options: dict[str, Any]) -> None:
    with pytest.raises(atds.ReadOnceError, match="leave `?"):
        atds.Dataset(pipe, 64, NUMBER, **options)
    with pytest.raises(atds.ReadOnceError, match="given twice"):
        atds.Dataset([pipe, pipe], 64, NUMBER)


def test_a_pipe_in_frameworks(pipe: str) -> None:
    torch = pytest.importorskip("atds.torch", exc_type=ImportError)
    with pytest.raises(atds.ReadOnceError, match="use atds.Dataset"):
        torch.Dataset(pipe, 64)
    assert len(read(atds.Dataset(pipe, 64))) == 1000


def test_a_pipe_in_tensorflow(pipe: str) -> None:
    tf = pytest.importorskip("tensorflow")
    from atds.tensorflow import ATDSDataset

    dataset = ATDSDataset(pipe, 64, NUMBER)
    assert sum(len(batch["n"]) for batch in dataset) == 1000
    with pytest.raises(tf.errors.OpError, match="an earlier iteration has read it"):
        list(dataset)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_is_refused(pipe: str) -> None:
    code = """
import os, sys, atds
dataset = atds.Dataset(sys.argv[1], 64)
if os.fork() == 0:
    try:
        list(dataset)
    except atds.ReadOnceError as error:
        os._exit(7)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.wait()[1]), sum(len(batch["n"]) for batch in dataset))
"""
    python = [sys.executable, "-c", code, pipe]
    done = subprocess.run(python, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "7 1000\n", done.stderr


def test_ctrl_c_while_nobody_writes_to_a_pipe(tmp_path: Path, numbers: str) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        atds.Dataset(path, 64)
    assert time.monotonic() - start < 10
    # The abandoned iterator takes nothing that is written now.
    time.sleep(0.2)
    writer = threading.Thread(target=lambda: path.write_bytes(Path(numbers).read_bytes()))
    writer.start()
    assert len(read(atds.Dataset(path, 64))) == 1000
    writer.join()


def test_closing_while_a_writer_stalls(tmp_path: Path, many: str) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = (Path(many) / "part-00000.avro").read_bytes()
    had, stalled, over = threading.Event(), threading.Event(), threading.Event()

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), path.open("wb", buffering=0) as file:
            for start in range(0, len(data), 4096):
                # The data so far was enough for the first batch.
                if had.is_set():
                    break
                file.write(data[start : start + 4096])
            stalled.set()
            over.wait()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        batches = iter(atds.Dataset(path, 8))
        next(batches)
        had.set()
        # The writer may also block, since the pipe is full and has no reader.
        stalled.wait(1)
        start = time.monotonic()
        batches.close()
        took = time.monotonic() - start
    finally:
        over.set()
    writer.join()
    assert took < 5


def test_packed_files(tmp_path: Path, numbers: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "part.avro.gz"
    path.write_bytes(gzip.compress(Path(numbers).read_bytes()))
    for options in ({}, {"mmap": True}):
        assert read(atds.Dataset(path, 64, NUMBER, **options)) == list(range(1000))
    assert atds.read_schema(path) == atds.read_schema(numbers)
    found = atds.inspect(path)
    assert (found.packing, found.records) == ("gzip", 1000)
    assert atds.inspect(numbers).packing is None
    dataset = atds.Dataset(path, 64, NUMBER)
    assert not caplog.records
    assert (len(dataset), dataset.num_records) == (16, 1000)
    # A pickled data set keeps the count.
    assert len(pickle.loads(pickle.dumps(dataset))) == 16
    assert len(caplog.records) == 1
    assert "the whole file is packed as gzip" in caplog.records[0].getMessage()
    with pytest.raises(atds.OptionError, match="shuffle_blocks"):
        atds.Dataset(path, 64, NUMBER, shuffle_blocks=True)
    with pytest.raises(atds.OptionError, match='leave shuffle="blocks" out, or unpack the file'):
        atds.Dataset(path, 64, NUMBER, shuffle="blocks")
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(atds.DataError, match="the gzip around the file is damaged or cut short"):
        read(atds.Dataset(path, 64, NUMBER))


def test_ranks_share_packed_files(tmp_path: Path, numbers: str) -> None:
    torch = pytest.importorskip("atds.torch", exc_type=ImportError)
    path = tmp_path / "part.avro.gz"
    path.write_bytes(gzip.compress(Path(numbers).read_bytes()))
    seen = []
    for rank in range(2):
        dataset = torch.Dataset(path, 100, NUMBER, rank=rank, world_size=2)
        seen += [n for batch in dataset for n in batch["n"].tolist()]
    assert seen == list(range(1000))
