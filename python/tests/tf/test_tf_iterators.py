"""Iterators of ATDSDataset in various uses: none hangs, leaks or ends a process."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from frameworks import need

tf = need("tensorflow")
at = need("atds.tensorflow")
iterations = need("atds.tensorflow._iterations")

LABEL = {"s_label": at.DenseFeature([], tf.int32)}
MEMBER = {"s_member": at.DenseFeature([], tf.int64)}


def members(dataset: Any) -> list[int]:
    return [n for batch in dataset for n in batch["s_member"].numpy().tolist()]


def threads_of_atds() -> list[str]:
    """The names of the threads of native iterations."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        try:
            names.append((task / "comm").read_text().strip())
        except FileNotFoundError:
            continue
    return [name for name in names if name.startswith("atds-")]


def test_iterators_do_not_disturb_each_other(many: str) -> None:
    dataset = at.ATDSDataset(many, 512, MEMBER, num_parallel_calls=2)
    whole = members(dataset)
    first, second = iter(dataset), iter(dataset.prefetch(2))
    found: tuple[list[int], list[int]] = ([], [])
    for one, other in zip(first, second, strict=True):
        found[0].extend(one["s_member"].numpy().tolist())
        found[1].extend(other["s_member"].numpy().tolist())
    assert found == (whole, whole)


def test_threads_of_python(many: str) -> None:
    dataset = at.ATDSDataset(many, 512, MEMBER)
    whole = members(dataset)
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append(members(dataset))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [whole] * 4


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_threads_end(many: str) -> None:
    dataset = at.ATDSDataset(many, 16, LABEL, num_parallel_calls=2)
    uses: list[Callable[[], Any]] = [
        lambda: list(dataset.take(3)),
        lambda: next(iter(dataset.prefetch(4))),
        lambda: list(dataset.shard(50, 1).take(1)),
        lambda: list(dataset.map(lambda batch: batch["s_label"], 2).prefetch(2).take(2)),
        lambda: [pair for pair, _ in zip(dataset, range(2), strict=False)],
    ]
    for use in uses:
        use()
        gc.collect()
        assert not threads_of_atds()
        assert not iterations._ITERATIONS


def test_a_fault_in_a_map(many: str) -> None:
    def fail(batch: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_less(batch["s_member"], tf.int64.min)]):
            return tf.identity(batch["s_member"])

    with pytest.raises(tf.errors.InvalidArgumentError):
        list(at.ATDSDataset(many, 16, MEMBER).map(fail).prefetch(2))
    gc.collect()
    assert not iterations._ITERATIONS


def test_faults_are_passed_over(numbers: str, tmp_path: Path) -> None:
    content = Path(numbers).read_bytes()
    damaged = tmp_path / "damaged.avro"
    damaged.write_bytes(content[: len(content) - 150])
    features = {"n": at.DenseFeature([], tf.int64)}
    for dataset in (
        at.ATDSDataset(str(damaged), 16, features).ignore_errors(),
        at.ATDSDataset(str(damaged), 16, features).prefetch(2).ignore_errors(),
    ):
        found = [n for batch in dataset for n in batch["n"].numpy().tolist()]
        assert found == list(range(len(found)))
        assert len(found) > 500
    dataset = at.ATDSDataset(str(damaged), 16, features)
    iterator = iter(dataset)
    with pytest.raises(tf.errors.InvalidArgumentError, match="damaged.avro"):
        for _ in iterator:
            pass
    # An iterator that has failed has ended.
    assert next(iterator, None) is None


def test_lengths(many: str) -> None:
    dataset = at.ATDSDataset(many, 512, LABEL)
    assert len(dataset) == len(list(dataset)) == 40
    unknown = at.ATDSDataset(many, 512, LABEL, check_files=False)
    assert int(unknown.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    with pytest.raises(TypeError, match="unknown"):
        len(unknown)
    known = unknown.apply(tf.data.experimental.assert_cardinality(40))
    assert len(known) == len(list(known)) == 40


def test_options_of_tf_data(many: str) -> None:
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    options.autotune.enabled = False
    options.experimental_slack = True
    dataset = at.ATDSDataset(many, 512, MEMBER)
    assert members(dataset.with_options(options).prefetch(1)) == members(dataset)
    assert dataset.options() is not None


def test_shards(many: str) -> None:
    dataset = at.ATDSDataset(many, 512, MEMBER)
    parts = [members(dataset.shard(3, index)) for index in range(3)]
    assert sorted(n for part in parts for n in part) == sorted(members(dataset))


def test_caches(many: str, tmp_path: Path) -> None:
    dataset = at.ATDSDataset(many, 512, MEMBER)
    whole = members(dataset)
    for cached in (dataset.cache(), dataset.cache(str(tmp_path / "cache"))):
        assert members(cached) == whole
        assert members(cached) == whole
    saved = str(tmp_path / "saved")
    dataset.save(saved)
    assert sorted(members(tf.data.Dataset.load(saved))) == sorted(whole)


def test_a_distributed_strategy(many: str) -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    dataset = at.ATDSDataset(many, 512, MEMBER, drop_remainder=True)
    distributed = strategy.experimental_distribute_dataset(dataset)

    @tf.function
    def step(batch: Any) -> Any:
        return tf.reduce_sum(batch["s_member"])

    found = sum(int(strategy.run(step, args=(batch,))) for batch in distributed)
    assert found == sum(members(dataset))


def test_an_iterator_is_not_saved(many: str, tmp_path: Path) -> None:
    iterator = iter(at.ATDSDataset(many, 512, LABEL))
    next(iterator)
    with pytest.raises((tf.errors.FailedPreconditionError, tf.errors.UnimplementedError)):
        tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "checkpoint"))
    assert next(iterator)["s_label"].shape == [512]


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_a_model_of_an_iterator(many: str) -> None:
    features = {"d7": at.DenseFeature([128], tf.float32), **LABEL}
    gc.collect()
    before = len(iterations._ITERATIONS)
    pairs = at.ATDSDataset(many, 512, features).map(lambda b: (b["d7"], b["s_label"]))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer="sgd", loss="binary_crossentropy")
    history = model.fit(
        pairs.repeat().prefetch(2), steps_per_epoch=7, epochs=3, shuffle=False, verbose=0
    )
    assert len(history.history["loss"]) == 3
    evaluated = model.evaluate(pairs, verbose=0, return_dict=True)
    assert math.isfinite(evaluated["loss"])
    del history, model
    gc.collect()
    assert len(iterations._ITERATIONS) <= before


@pytest.mark.parametrize(
    "end",
    [
        "",
        "raise SystemExit(0)",
        "import threading; threading.Thread(target=lambda: next(iterators[0])).start()",
        "iterators.clear()",
    ],
)
def test_a_program_may_end_anywhere(many: str, end: str) -> None:
    program = f"""
import tensorflow as tf
from atds.tensorflow import ATDSDataset, AvroRecordDataset, DenseFeature
names = tf.io.gfile.glob({many!r} + "/*.avro")
label = {{"s_label": DenseFeature([], tf.int32)}}
side = tf.data.Dataset.from_tensor_slices(names).interleave(
    lambda name: ATDSDataset(name, 16, label), cycle_length=2, num_parallel_calls=2
)
records = AvroRecordDataset(names, num_parallel_reads=2, num_parallel_calls=2)
iterators = [iter(side), iter(side.repeat().prefetch(4)), iter(records.batch(3).prefetch(4))]
for iterator in iterators:
    next(iterator)
print("done", flush=True)
{end}
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
