"""AvroRecordDataset and make_avro_record_dataset: records as bytes, and pipelines over them."""

from __future__ import annotations

import io
import json
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest

import atds
from frameworks import need

tf = need("tensorflow")
at = need("atds.tensorflow")

NUMBER = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}


def encoded(schema: Any, record: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
    return out.getvalue()


def records(dataset: Any) -> list[bytes]:
    return [record.numpy() for record in dataset]


@pytest.fixture
def three(write: Callable[..., str]) -> list[str]:
    """Files with 3, 2 and 1,500 numbers, which continue from file to file."""
    files, number = [], 0
    for i, count in enumerate([3, 2, 1500]):
        rows = [{"n": n} for n in range(number, number + count)]
        files.append(write(NUMBER["fields"], rows, name=f"{i}.avro", sync_interval=1000))
        number += count
    return files


def numbers_of(records: list[bytes]) -> list[int]:
    schema = fastavro.parse_schema(NUMBER)
    return [fastavro.schemaless_reader(io.BytesIO(r), schema)["n"] for r in records]


def test_records_are_those_of_the_file(numbers: str) -> None:
    dataset = at.AvroRecordDataset(numbers)
    assert isinstance(dataset, tf.data.Dataset)
    assert dataset.element_spec == tf.TensorSpec([], tf.string)
    expected = [encoded(NUMBER, {"n": n}) for n in range(1000)]
    assert records(dataset) == expected
    assert records(dataset.repeat(2)) == expected * 2


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_codecs(write: Callable[..., str], codec: str) -> None:
    path = write(NUMBER["fields"], [{"n": n} for n in range(50)], codec=codec)
    assert numbers_of(records(at.AvroRecordDataset(path))) == list(range(50))


def test_records_are_encoded_by_the_readers_schema(write: Callable[..., str]) -> None:
    fields = [{"name": "gone", "type": "string"}, {"name": "n", "type": "int"}]
    path = write(fields, [{"gone": "x", "n": n} for n in range(5)])
    reader = {"type": "record", "name": "R", "fields": [
        {"name": "new", "type": "string", "default": "?"},
        {"name": "m", "type": "double", "aliases": ["n"]}]}  # fmt: skip
    expected = [encoded(reader, {"new": "?", "m": float(n)}) for n in range(5)]
    for schema in (reader, json.dumps(reader), tf.constant(json.dumps(reader))):
        assert records(at.AvroRecordDataset(path, reader_schema=schema)) == expected


def test_files(three: list[str]) -> None:
    in_order = list(range(1505))
    given: list[Any] = [
        three,
        tf.constant(three),
        tf.data.Dataset.from_tensor_slices(three),
        [Path(file).as_posix().encode() for file in three],
    ]
    for filenames in given:
        assert numbers_of(records(at.AvroRecordDataset(filenames))) == in_order
    assert numbers_of(records(at.AvroRecordDataset(three[1], buffer_size=1))) == [3, 4]


@pytest.mark.parametrize("calls", [None, 1, 2])
def test_files_side_by_side(three: list[str], calls: int | None) -> None:
    dataset = at.AvroRecordDataset(
        three, num_parallel_reads=2, num_parallel_calls=calls, block_length=2
    )
    expected = [0, 1, 3, 4, 2, *range(5, 1505)]
    assert numbers_of(records(dataset)) == expected


def test_records_before_a_fault_are_given(numbers: str, tmp_path: Path) -> None:
    content = Path(numbers).read_bytes()
    damaged = tmp_path / "damaged.avro"
    damaged.write_bytes(content[: len(content) - 150])
    found: list[bytes] = []
    with pytest.raises(tf.errors.InvalidArgumentError, match="damaged.avro"):
        for record in at.AvroRecordDataset(str(damaged)):
            found.append(record.numpy())
    assert len(found) > 500
    assert numbers_of(found) == list(range(len(found)))


FEATURES = {"n": tf.io.FixedLenFeature([], tf.int64)}


def batches(*arguments: Any, **options: Any) -> list[list[int]]:
    dataset = at.make_avro_record_dataset(*arguments, reader_schema=NUMBER, **options)
    return [batch["n"].numpy().tolist() for batch in dataset]


def test_batches_in_order(three: list[str]) -> None:
    pattern = str(Path(three[0]).parent / "[01].avro")
    for files in (three[:2], pattern, [pattern]):
        once = batches(files, FEATURES, 2, num_epochs=1, shuffle=False)
        assert once == [[0, 1], [2, 3], [4]]
    twice = batches(three[:2], FEATURES, 3, num_epochs=2, shuffle=False)
    # Records are repeated before they are batched.
    assert twice == [[0, 1, 2], [3, 4, 0], [1, 2, 3], [4]]
    full = batches(three[:2], FEATURES, 2, num_epochs=1, shuffle=False, drop_final_batch=True)
    assert full == [[0, 1], [2, 3]]
    plain = batches(three[:2], FEATURES, 2, num_epochs=1, shuffle=False, prefetch_buffer_size=0)
    assert plain == once


def test_hidden_files_are_no_batches(three: list[str]) -> None:
    folder = Path(three[0]).parent
    for name in ("_2.avro", ".3.avro", "._0.avro"):
        (folder / name).write_bytes(b"not Avro")
    inner = folder / "_temporary"
    inner.mkdir()
    (inner / "4.avro").write_bytes(Path(three[0]).read_bytes())
    (folder / "[5].avro").write_bytes(Path(three[1]).read_bytes())
    for given in (folder, f"{folder}/*.avro", f"file://{folder}/**/[0-9[]*.avro"):
        found = batches(given, FEATURES, 4, num_epochs=1, shuffle=False)
        assert [n for batch in found for n in batch] == [*range(1505), 3, 4]
    hidden = batches(f"{folder}/_temporary/*.avro", FEATURES, 4, num_epochs=1, shuffle=False)
    assert hidden == [[0, 1, 2]]


def test_a_seed_fixes_the_order_of_list_files(three: list[str]) -> None:
    listed = tf.data.Dataset.list_files(three, shuffle=True, seed=3)
    expected = [Path(name.numpy().decode()).name for name in listed]
    first = {"0.avro": 0, "1.avro": 3, "2.avro": 5}
    starts = [first[name] for name in expected]
    found = batches(three, FEATURES, 1, num_epochs=1, shuffle_seed=3, shuffle_buffer_size=1)
    assert [n for batch in found for n in batch if n in starts] == starts


def test_files_that_a_graph_names(three: list[str]) -> None:
    def of_file(name: Any) -> Any:
        return at.make_avro_record_dataset(name, FEATURES, 4, NUMBER, num_epochs=1, shuffle=False)

    batches = tf.data.Dataset.from_tensor_slices(three[:2]).flat_map(of_file)
    assert [batch["n"].numpy().tolist() for batch in batches] == [[0, 1, 2], [3, 4]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_read_once(three: list[str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = Path(three[0]).read_bytes()
    again = "which can be read only once: an earlier iteration has read it"

    def write() -> None:
        threading.Thread(target=pipe.write_bytes, args=[content]).start()

    dataset = at.AvroRecordDataset(str(pipe))
    write()
    assert numbers_of(records(dataset)) == [0, 1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match=again):
        records(dataset)
    write()
    with pytest.raises(tf.errors.InvalidArgumentError, match=again):
        batches(str(pipe), FEATURES, 1, num_epochs=2, shuffle=False)


def test_batches_in_parallel(three: list[str]) -> None:
    found = batches(three, FEATURES, 4, num_epochs=1, shuffle=False, num_parallel_reads=2)
    assert [n for batch in found for n in batch] == [0, 1, 3, 4, 2, *range(5, 1505)]
    auto = batches(
        three, FEATURES, 4, num_epochs=1, shuffle=False, num_parallel_reads=tf.data.AUTOTUNE
    )
    assert sorted(n for batch in auto for n in batch) == list(range(1505))


def test_batches_shuffled(three: list[str]) -> None:
    found = batches(three, FEATURES, 100, num_epochs=2, shuffle_buffer_size=500)
    flat = [n for batch in found for n in batch]
    assert Counter(flat) == dict.fromkeys(range(1505), 2)
    assert flat[:1505] != list(range(1505))
    seeded = [batches(three, FEATURES, 100, num_epochs=1, shuffle_seed=5) for _ in range(2)]
    assert seeded[0] == seeded[1]


def test_batches_forever(three: list[str]) -> None:
    dataset = at.make_avro_record_dataset(three[:2], FEATURES, 4, NUMBER, shuffle=False)
    assert dataset.element_spec == {"n": tf.TensorSpec([4], tf.int64)}
    found = [batch["n"].numpy().tolist() for batch in dataset.take(3)]
    assert found == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4, 0, 1]]


def test_no_files(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="no file matches this pattern"):
        batches(str(tmp_path / "*.avro"), FEATURES, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="s3:// is not read yet"):
        batches("s3://bucket/*.avro", FEATURES, 2)
    with pytest.raises(ValueError, match="features is {}: name at least one"):
        batches(str(tmp_path), {}, 2)


# Keras warns of any data set of unknown length.
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_the_model_of_the_older_interface(clicks: str) -> None:
    dataset = at.make_avro_record_dataset(
        f"{clicks}/*.avro",
        {
            "d0[*]": tf.io.FixedLenFeature([8], tf.float32),
            "s_label": tf.io.FixedLenFeature([], tf.int32),
        },
        batch_size=50,
        reader_schema=atds.read_schema(f"{clicks}/part-00000.avro"),
        num_epochs=1,
    )
    pairs = dataset.map(lambda batch: (batch["d0[*]"], batch["s_label"]))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer="sgd", loss="binary_crossentropy")
    assert len(model.fit(pairs, epochs=2, shuffle=False, verbose=0).history["loss"]) == 2
