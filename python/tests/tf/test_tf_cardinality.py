"""The cardinality of ATDSDataset, which Keras asks for."""

from __future__ import annotations

import gzip
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

import atds
from atds import _native
from conftest import Write, generate
from frameworks import need

tf = need("tensorflow")
at = need("atds.tensorflow")

LABEL = {"s_label": at.DenseFeature([], tf.int32)}
TRAINED = {**LABEL, "d0": at.DenseFeature([8], tf.float32)}


@pytest.mark.parametrize(
    ("batch_size", "options", "batches"),
    [
        (64, {}, 4),
        (64, {"drop_remainder": True}, 3),
        (200, {}, 1),
        (1, {"shuffle_buffer_size": 50, "seed": 1}, 200),
        (tf.constant(50, tf.int64), {"num_parallel_calls": tf.data.AUTOTUNE}, 4),
    ],
)
def test_the_batches_are_counted(
    clicks: str, batch_size: Any, options: dict[str, Any], batches: int
) -> None:
    dataset = at.ATDSDataset(clicks, batch_size, LABEL, **options)
    assert int(dataset.cardinality()) == batches
    for _ in range(2):
        assert len(list(dataset)) == batches
    through = dataset.map(lambda batch: batch["s_label"]).prefetch(2)
    assert int(through.cardinality()) == batches
    assert int(dataset.repeat(3).cardinality()) == 3 * batches
    assert len(list(dataset.repeat(3))) == 3 * batches


def test_keras_fits_without_a_warning(clicks: str, capfd: pytest.CaptureFixture[str]) -> None:
    keras = need("keras")
    dataset = at.ATDSDataset(clicks, 64, TRAINED, shuffle_buffer_size=100, seed=1)
    pairs = dataset.map(lambda batch: (batch["d0"], tf.cast(batch["s_label"], tf.float32)))
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("adam", "mse")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Keras shuffles arrays, and warns of its own default for any other data.
        history = model.fit(pairs, epochs=3, validation_data=pairs, shuffle=False, verbose=2)
        evaluated = model.evaluate(pairs, verbose=0)
        predicted = model.predict(pairs, verbose=0)
    assert len(history.history["loss"]) == 3
    assert evaluated > 0
    assert predicted.shape == (200, 1)
    # The number of steps is known from the first epoch on.
    out = capfd.readouterr()
    assert out.out.count("4/4 - ") == 3
    assert "ran out of data" not in out.out + out.err


def test_where_it_is_unknown(clicks: str, tmp_path: Path) -> None:
    def cardinality(*args: Any, **options: Any) -> int:
        return int(at.ATDSDataset(*args, **options).cardinality())

    unknown = int(tf.data.UNKNOWN_CARDINALITY)
    assert cardinality(clicks, 64, LABEL, check_files=False) == unknown
    packed = tmp_path / "packed.avro"
    with gzip.open(packed, "wb") as file:
        file.write(Path(clicks, "part-00000.avro").read_bytes())
    dataset = at.ATDSDataset(str(packed), 64, LABEL)
    assert int(dataset.cardinality()) == unknown
    assert len(list(dataset)) == 2
    pipe = tmp_path / "pipe.avro"
    os.mkfifo(pipe)
    assert cardinality(str(pipe), 64, LABEL) == unknown
    # No file has a full batch.
    assert cardinality(clicks, 201, LABEL, drop_remainder=True) == unknown
    # The arguments are known only in the graph.
    files = tf.data.Dataset.from_tensor_slices(sorted(map(str, Path(clicks).glob("*.avro"))))
    read = files.interleave(lambda name: at.ATDSDataset(name, 30, LABEL))
    assert int(read.cardinality()) == unknown
    assert sum(int(tf.shape(batch["s_label"])[0]) for batch in read) == 200


def test_an_index_tells_it(clicks: str, tmp_path: Path) -> None:
    unknown = int(tf.data.UNKNOWN_CARDINALITY)
    path, index = str(tmp_path / "a.tfrecord"), str(tmp_path / "index")
    atds.write(path, ({"n": n} for n in range(105)))
    features = {"n": tf.io.FixedLenFeature([], tf.int64)}

    def dataset(path: str = path, **options: Any) -> Any:
        return at.ATDSDataset(path, 10, features, **options)

    assert int(dataset().cardinality()) == unknown
    assert _native.run_command(["atds", "index", path, "-o", index]) == 0
    counted = dataset(index=index)
    assert int(counted.cardinality()) == 11
    for _ in range(2):
        assert sum(len(batch["n"]) for batch in counted) == 105
    halves = {"split": "one", "splits": {"one": 0.5, "other": 0.5}}
    half = dataset(index=index, **halves)
    assert int(half.cardinality()) == len(list(half)) < 11
    # A file that the index lacks, or that has changed.
    other = str(tmp_path / "other.tfrecord")
    atds.write(other, [{"n": 1}])
    assert int(dataset(str(tmp_path / "*.tfrecord"), index=index).cardinality()) == unknown
    # All blocks are looked at for damage.
    assert int(dataset(index=index, on_error="skip_block").cardinality()) == unknown
    atds.write(path, ({"n": n} for n in range(50)))
    assert int(dataset(index=index).cardinality()) == unknown
    assert len(list(dataset(index=index))) == 5
    # Of containers the heads of blocks tell it, whatever the index has.
    assert int(at.ATDSDataset(clicks, 64, LABEL, index=index).cardinality()) == 4


@pytest.mark.parametrize("check_files", [True, False])
def test_an_index_is_read_once_until_it_changes(
    clicks: str, tmp_path: Path, check_files: bool
) -> None:
    index = str(tmp_path / "index")
    assert _native.run_command(["atds", "index", clicks, "-o", index]) == 0
    options = {"shuffle_buffer_size": 50, "seed": 1, "check_files": check_files}
    dataset = at.ATDSDataset(clicks, 64, LABEL, index=index, **options)
    expected = at.ATDSDataset(clicks, 64, LABEL, **options)
    epochs = lambda batches: [[b["s_label"].numpy().tolist() for b in batches] for _ in range(3)]
    first = next(iter(dataset))["s_label"].numpy().tolist()
    assert first == next(iter(expected))["s_label"].numpy().tolist()

    text, before = Path(index).read_bytes(), os.stat(index)
    damaged = text.replace(b"path", b"htap")
    assert len(damaged) == len(text) and damaged != text
    with open(index, "r+b") as file:
        file.write(damaged)
    os.utime(index, ns=(before.st_atime_ns, before.st_mtime_ns))
    # The file cannot be told from the one that was read, which is not read again.
    assert epochs(dataset) == epochs(expected)
    os.utime(index, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    with pytest.raises(tf.errors.OpError, match="index"):
        list(dataset)
    Path(index).write_bytes(text)
    assert sum(len(batch["s_label"]) for batch in dataset) == 200


def test_iterations_at_a_time_of_an_index(clicks: str, tmp_path: Path) -> None:
    index = str(tmp_path / "index")
    assert _native.run_command(["atds", "index", clicks, "-o", index]) == 0
    dataset = at.ATDSDataset(clicks, 64, LABEL, index=index, shuffle_buffer_size=50, seed=1)
    whole = at.ATDSDataset(clicks, 64, LABEL, shuffle_buffer_size=50, seed=1)
    labels = lambda batch: batch["s_label"].numpy().tolist()
    one_by_one = [[labels(batch) for batch in whole] for _ in range(2)]
    beside = [(labels(a), labels(b)) for a, b in zip(dataset, dataset, strict=True)]
    assert [list(epoch) for epoch in zip(*beside, strict=True)] == one_by_one


def test_faults_come_where_an_iteration_begins(clicks: str, tmp_path: Path, write: Write) -> None:
    missing = at.ATDSDataset(str(tmp_path / "missing.avro"), 64, LABEL)
    with pytest.raises(tf.errors.NotFoundError):
        next(iter(missing))
    other = at.ATDSDataset(write([{"name": "n", "type": "int"}], [{"n": 1}]), 64, LABEL)
    with pytest.raises(tf.errors.InvalidArgumentError, match="s_label"):
        next(iter(other))
    cut = tmp_path / "cut.avro"
    cut.write_bytes(Path(clicks, "part-00000.avro").read_bytes()[:-100])
    damaged = at.ATDSDataset(str(cut), 8, LABEL)
    with pytest.raises(tf.errors.InvalidArgumentError, match="cut.avro"):
        list(damaged)


def test_files_that_change_are_not_passed_over(clicks: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(clicks, tmp_path / "files"))
    one, other = folder / "part-00000.avro", folder / "part-00001.avro"
    dataset = at.ATDSDataset(str(folder), 50, LABEL)
    # The data set keeps its list of files.
    shutil.copy(one, folder / "part-00009.avro")
    assert len(list(dataset)) == 4
    other.unlink()
    with pytest.raises(tf.errors.NotFoundError):
        list(dataset)
    shutil.copy(one, other)
    assert len(list(dataset)) == 4
    small = next(iter(at.ATDSDataset(str(one), 1000, LABEL)))
    assert len(small["s_label"]) == 100
    for content, word in (("few", "fewer"), ("many", "more")):
        generate(
            tmp_path / content, "--files", "1", "--records", {"few": "10", "many": "999"}[content]
        )
        shutil.copy(tmp_path / content / "part-00000.avro", other)
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"have {word} than the 4 batches"):
            list(dataset)
        # A data set that ignores errors ends.
        assert len(list(dataset.ignore_errors())) == 3


def test_a_fault_in_the_middle(numbers: str, tmp_path: Path) -> None:
    """The records of a damaged block are counted, but cannot be read."""
    content = bytearray(Path(numbers).read_bytes())
    middle = len(content) // 2
    content[middle : middle + 12] = b"\xff" * 12
    damaged = tmp_path / "damaged.avro"
    damaged.write_bytes(content)
    features = {"n": at.DenseFeature([], tf.int64)}
    dataset = at.ATDSDataset(str(damaged), 10, features)
    assert int(dataset.cardinality()) == 100
    iterator, seen = iter(dataset), 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="damaged.avro"):
        for _ in iterator:
            seen += 1
    assert 40 < seen < 60
    # The error ends the iteration, even if more batches are taken.
    with pytest.raises(tf.errors.InvalidArgumentError, match="damaged.avro"):
        next(iterator)
    for tolerant in (dataset.ignore_errors(), dataset.prefetch(2).ignore_errors()):
        assert len(list(tolerant)) == seen


def test_cardinality_in_a_graph(clicks: str) -> None:
    @tf.function
    def total() -> Any:
        count = tf.constant(0)
        for batch in at.ATDSDataset(clicks, 64, LABEL):
            count += tf.shape(batch["s_label"])[0]
        return count

    assert int(total()) == 200
