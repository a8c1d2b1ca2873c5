"""Files are checked against the features before the first batch, once for all processes."""

from __future__ import annotations

import ctypes
import logging
import os
import pickle
import struct
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import atds
from conftest import Write
from frameworks import need
from interpreters import succeeds

X = {"name": "x", "type": "long"}
Y = {"name": "y", "type": "string"}
FEATURES = {
    "x": atds.DenseFeature([], "int64"),
    "y": atds.DenseFeature([], "string", default="?"),
}


@pytest.fixture
def new(write: Write) -> str:
    return write([X, Y], [{"x": 3, "y": "q"}], "new.avro")


@pytest.fixture
def old(write: Write) -> str:
    """A file that lacks the field `y`."""
    return write([X], [{"x": 1}], "old.avro")


class Opened:
    """Counts how often any process opens the files of a folder."""

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._events = libc.inotify_init1(os.O_NONBLOCK)
        # Two equal events in a row are one: that a file is closed tells them apart.
        in_open, in_close = 0x20, 0x18
        self._opened = in_open
        mask = in_open | in_close
        assert libc.inotify_add_watch(self._events, os.fsencode(folder), mask) >= 0

    def files(self) -> Counter[str]:
        """How often each file was opened since the last call, by its name."""
        found: Counter[str] = Counter()
        while True:
            try:
                events = os.read(self._events, 1 << 20)
            except BlockingIOError:
                return found
            while events:
                _, mask, _, length = struct.unpack("iIII", events[:16])
                # An event without a name is about the folder.
                name = events[16 : 16 + length].rstrip(b"\0")
                if name and mask & self._opened:
                    found[os.fsdecode(name)] += 1
                events = events[16 + length :]


needs_inotify = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


@pytest.fixture
def twenty(write: Write, tmp_path: Path) -> Path:
    """A folder of 20 files with 50 records each. Only the last ten have a field `y`."""
    for number in range(20):
        records = [{"x": 50 * number + n, "y": "a"} for n in range(50)]
        write([X] if number < 10 else [X, Y], records, f"{number:02}.avro")
    return tmp_path


def test_a_field_that_a_file_lacks(new: str, old: str) -> None:
    dataset = atds.Dataset([new, old], 1, FEATURES)
    assert len(dataset) == 2
    assert [list(batch["y"]) for batch in dataset] == [["q"], ["?"]]
    masked = {"y": atds.DenseFeature([], "string", mask="has_y")}
    batches = list(atds.Dataset([old, new], 1, masked))
    assert [batch["has_y"].tolist() for batch in batches] == [[False], [True]]


@pytest.mark.parametrize("first", ["new", "old"])
def test_a_field_that_a_file_lacks_without_a_default(new: str, old: str, first: str) -> None:
    files = [new, old] if first == "new" else [old, new]
    features = {**FEATURES, "y": atds.DenseFeature([], "string")}
    with pytest.raises(atds.FeatureError) as caught:
        atds.Dataset(files, 1, features)
    message = str(caught.value)
    assert caught.value.file == old
    assert f"no field 'y': the record 'R' has 'x'; '{new}' has it" in message
    assert "default" in message and "mask" in message and "reader_schema" in message


def test_a_field_that_no_file_has(old: str) -> None:
    with pytest.raises(atds.FeatureError, match="no field 'y'"):
        atds.Dataset(old, 1, FEATURES)
    with pytest.raises(atds.FeatureError, match="no field 'y'"):
        atds.Dataset(old, 1, FEATURES, check_files=False)


@pytest.mark.parametrize("check_files", [True, False])
def test_the_last_of_many_files(write: Write, tmp_path: Path, check_files: bool) -> None:
    for number in range(49):
        write([X], [{"x": number}], f"{number:02}.avro")
    last = write([{"name": "x", "type": "string"}], [{"x": "no number"}], "49.avro")
    features = {"x": FEATURES["x"]}
    if check_files:
        with pytest.raises(atds.FeatureError) as caught:
            atds.Dataset(tmp_path, 1, features)
    else:
        batches = iter(atds.Dataset(tmp_path, 1, features, check_files=False))
        assert [next(batches)["x"].tolist() for _ in range(49)] == [[n] for n in range(49)]
        with pytest.raises(atds.FeatureError) as caught:
            next(batches)
    assert caught.value.file == last


def test_features_of_all_files(write: Write, old: str, caplog: pytest.LogCaptureFixture) -> None:
    nullable = [{"name": "x", "type": ["null", "long"]}, {"name": "z", "type": "long"}]
    later = write(nullable, [{"x": None, "z": 1}, {"x": 2, "z": 1}], "later.avro")
    with caplog.at_level(logging.WARNING, "atds"):
        dataset = atds.Dataset([old, later], 2)
    assert f"{later}: fields that the first file lacks are not read: 'z'" in caplog.text
    assert sorted(dataset.features) == ["x"]
    assert sorted(dataset.element_spec) == ["x", "x.mask"]
    assert [batch["x.mask"].tolist() for batch in dataset] == [[True, False], [True]]
    assert atds.infer_features([old, later]) == dataset.features
    assert atds.infer_features(old) == {"x": atds.DenseFeature([], "int64")}


def test_numbers_of_all_files(write: Write) -> None:
    """Inferred features are as wide as any file needs."""

    def files(*types: tuple[str, object]) -> list[str]:
        return [
            write([{"name": "x", "type": type}], [{"x": value}], f"{number}.avro")
            for number, (type, value) in enumerate(types)
        ]

    for types, dtype in [
        ((("int", 1), ("long", 1 << 40)), "int64"),
        ((("long", 1 << 40), ("int", 1)), "int64"),
        ((("int", 1), ("double", 0.1)), "float64"),
        ((("float", 0.5), ("double", 0.1), ("long", 7)), "float64"),
    ]:
        dataset = atds.Dataset(files(*types), 10)
        assert dataset.element_spec["x"].dtype == dtype
        (batch,) = dataset
        assert batch["x"].tolist() == [value for _, value in types]
    (batch,) = atds.Dataset(files(("string", "ü"), ("bytes", b"\xff")), 10)
    assert list(batch["x"]) == ["ü".encode(), b"\xff"]


def test_a_field_that_is_always_null(write: Write) -> None:
    files = [
        write([{"name": "x", "type": type}], [{"x": value}], f"{number}.avro")
        for number, (type, value) in enumerate([("int", 1), ("null", None)])
    ]
    for dataset in [
        atds.Dataset(files, 10),
        atds.Dataset(files[::-1], 10, {"x": atds.DenseFeature([], "int32", mask="x.mask")}),
    ]:
        (batch,) = dataset
        assert sorted(batch["x"].tolist()) == [0, 1]
        assert sorted(batch["x.mask"].tolist()) == [False, True]
    with pytest.raises(atds.FeatureError) as caught:
        atds.Dataset(files, 10, {"x": atds.DenseFeature([], "int32")})
    message = str(caught.value)
    assert f"{files[1]}: feature 'x': 'x' is null in every record" in message
    assert f"'{files[0]}' has it: give the feature a default= or a mask=" in message


@needs_inotify
def test_a_copy_reads_no_headers(twenty: Path) -> None:
    opened = Opened(twenty)
    dataset = atds.Dataset(twenty, 50, FEATURES)
    # The data set keeps the headers of the first file and of the first file with `y`.
    assert opened.files() == Counter(os.listdir(twenty))
    pickled = pickle.dumps(dataset)
    copy = pickle.loads(pickled)
    assert copy.element_spec == dataset.element_spec
    assert copy.schema["fields"] == [X]
    assert opened.files() == Counter()
    program = "import pathlib, pickle, sys; pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())"
    file = twenty.parent / "dataset.pickle"
    file.write_bytes(pickled)
    succeeds(program, str(file))
    assert opened.files() == Counter()
    assert sum(batch.num_records for batch in copy) == 1000
    assert opened.files() == Counter(os.listdir(twenty))


@needs_inotify
def test_a_fork_reads_no_headers(twenty: Path) -> None:
    program = """
        import atds, os, sys, warnings
        warnings.simplefilter("ignore")
        sys.path.insert(0, sys.argv[2])
        from test_checks import FEATURES, Opened
        dataset = atds.Dataset(sys.argv[1], 50, FEATURES)
        opened = Opened(sys.argv[1])
        child = os.fork()
        if child == 0:
            assert len(dataset.element_spec) == 2
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(status, sum(opened.files().values()))
    """
    assert succeeds(program, str(twenty), str(Path(__file__).parent)) == "0 0"


@needs_inotify
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("inferred", [False, True])
def test_workers_read_no_headers(twenty: Path, method: str, inferred: bool) -> None:
    need("torch")
    from torch.utils.data import DataLoader

    import atds.torch

    opened = Opened(twenty)
    features = None if inferred else {"x": FEATURES["x"]}
    dataset = atds.torch.Dataset(twenty, 50, features)
    # Each file is opened for its header, and again to count its records.
    assert set(opened.files().values()) == {2}
    loader = DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context=method)
    assert sorted(int(n) for batch in loader for n in batch["x"]) == list(range(1000))
    # Two workers may read the same file.
    assert sum(opened.files().values()) <= 21


@needs_inotify
def test_later_epochs_of_tensorflow_read_no_headers(twenty: Path) -> None:
    tf = need("tensorflow")
    at = need("atds.tensorflow")
    opened = Opened(twenty)
    dataset = at.ATDSDataset(str(twenty), 50, {"x": at.DenseFeature([], tf.int64)})
    # Each file is opened for its first bytes, for its header, and to count its records.
    assert set(opened.files().values()) == {3}
    for _ in range(2):
        assert sum(len(batch["x"]) for batch in dataset) == 1000
        assert set(opened.files().values()) == {1}
    unchecked = at.ATDSDataset(
        str(twenty), 50, {"x": at.DenseFeature([], tf.int64)}, check_files=False
    )
    assert sum(len(batch["x"]) for batch in unchecked) == 1000
    # The first file is opened twice, which inotify may report as one event.
    assert sum(opened.files().values()) in (20, 21)


def test_thousands_of_small_files(write: Write, old: str, tmp_path: Path) -> None:
    content = Path(old).read_bytes()
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(5_000):
        (folder / f"{number:04}.avro").write_bytes(content)
    start = time.monotonic()
    dataset = atds.Dataset(folder, 100, {"x": FEATURES["x"]})
    assert time.monotonic() - start < 20
    assert len(dataset.filenames) == 5_000


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_check_can_be_interrupted(old: str) -> None:
    program = """
        import contextlib, os, pathlib, signal, sys, threading, time, atds
        signal.signal(signal.SIGINT, signal.default_int_handler)
        files = atds._native.Files([sys.argv[1]] * 1_000_000, False)
        def interrupt():
            time.sleep(1)
            os.kill(os.getpid(), signal.SIGINT)
        def running():
            for task in pathlib.Path("/proc/self/task").iterdir():
                # A thread can end meanwhile.
                with contextlib.suppress(OSError):
                    yield (task / "comm").read_text().strip()
        threading.Thread(target=interrupt).start()
        try:
            atds._native.FileSchemas.read(files, True)
        except KeyboardInterrupt:
            late = time.monotonic() + 20
            while {"atds-headers", "atds-call"} & set(running()) and time.monotonic() < late:
                time.sleep(0.1)
            print({"atds-headers", "atds-call"} & set(running()))
    """
    assert succeeds(program, old) == "set()"
