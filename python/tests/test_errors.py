"""Bad input raises exceptions whose messages say what to change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds
from interpreters import succeeds

DENSE = {"s_label": atds.DenseFeature([], "int32")}


def message(kind: type[Exception], call: Any) -> str:
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, (atds.Error, KeyError))
    return str(caught.value)


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"batch_size": 0}, "batch_size must be a whole number, 1 or more, not 0"),
    ({"batch_size": -5}, "batch_size must be a whole number, 1 or more, not -5"),
    ({"batch_size": 2.5}, "batch_size must be a whole number, 1 or more, not 2.5"),
    ({"batch_size": True}, "batch_size must be a whole number, 1 or more, not True"),
    (
        {"shuffle_buffer_size": -1},
        "shuffle_buffer_size must be a whole number, 0 or more, not -1",
    ),
    (
        {"reader_buffer_size": 0},
        "reader_buffer_size must be a whole number, 1 to 1,073,741,824, or None, not 0",
    ),
    (
        {"num_parallel_calls": 0},
        "num_parallel_calls must be a whole number, 1 to 1,024, or atds.AUTOTUNE, not 0",
    ),
    (
        {"num_parallel_calls": 5000},
        "num_parallel_calls must be a whole number, 1 to 1,024, or atds.AUTOTUNE, not 5000",
    ),
    ({"prefetch": -1}, "prefetch must be a whole number, 0 to 1,024, not -1"),
    ({"seed": -1}, "seed must be a whole number, 0 or more, or None, not -1"),
    ({"seed": "x"}, "seed must be a whole number, 0 or more, or None, not 'x'"),
    ({"drop_remainder": "yes"}, "drop_remainder must be True or False, not 'yes'"),
    ({"shuffle_files": 3}, "shuffle_files must be True or False, not 3"),
    (
        {"mmap": np.array([True, False])},
        "mmap must be True or False, not array([ True, False])",
    ),
    ({"memory_limit": 0}, "memory_limit must be a whole number, 1 or more, or None, not 0"),
    ({"out_of_bounds": "ignore"}, "out_of_bounds must be 'error' or 'drop', not 'ignore'"),
    (
        {"filenames": []},
        "filenames is empty: give at least one file, pattern or folder",
    ),
    (
        {"filenames": 3},
        "filenames is a path, a pattern, a folder, or a list of them, not int",
    ),
    (
        {"filenames": ["a.avro", 3]},
        "filenames has 3, which is not a path, pattern or folder: give a str or a Path",
    ),
    ({"filenames": ""}, "filenames has '', which no file can have as its path"),
    ({"filenames": "a\0b"}, r"filenames has 'a\x00b', which no file can have as its path"),
]


@pytest.mark.parametrize(("option", "said"), OPTIONS, ids=[str(o) for o, _ in OPTIONS])
def test_options(clicks: str, option: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"filenames": clicks, "batch_size": 8, "features": DENSE} | option
    assert message(atds.OptionError, lambda: atds.Dataset(**given)) == said
    assert issubclass(atds.OptionError, ValueError)


def test_numpy_numbers_are_numbers(clicks: str) -> None:
    given: dict[str, Any] = {
        "batch_size": np.int32(64),
        "num_parallel_calls": np.int64(atds.AUTOTUNE),
        "drop_remainder": np.bool_(True),
        "seed": np.uint8(3),
    }
    dataset = atds.Dataset(clicks, features=DENSE, **given)
    assert (len(dataset), dataset.seed) == (3, 3)


def test_epochs(clicks: str) -> None:
    dataset = atds.Dataset(clicks, 8, DENSE)
    said = "epoch must be a whole number, 0 or more, not -1"
    assert message(atds.OptionError, lambda: dataset.set_epoch(-1)) == said


def test_a_small_memory_limit(clicks: str) -> None:
    dataset = atds.Dataset(clicks, 64, memory_limit=1000)
    with pytest.raises(atds.MemoryLimitError, match="memory_limit is 1000 bytes, but") as caught:
        list(dataset)
    assert isinstance(caught.value, MemoryError)


FEATURES: list[tuple[Any, str]] = [
    (
        {},
        "features is empty: name at least one, or leave it out to have them inferred",
    ),
    (
        [atds.DenseFeature([], "int32")],
        (
            "features is a list: give a dict of names and features, such as {'label': "
            "atds.DenseFeature([], 'int32')}"
        ),
    ),
    (
        {"s_label": "int32"},
        "feature 's_label' is a str: give one such as atds.DenseFeature([], 'int32')",
    ),
    ({3: DENSE["s_label"]}, "a feature's name is 3, which is not a str"),
    ({"\udcff": DENSE["s_label"]}, r"a feature's name is '\udcff', which cannot be UTF-8"),
    (
        {"s_country": atds.DenseFeature([], "int64")},
        (
            "{file}: feature 's_country': the values are string, read as string, not int64; ask for "
            "ids, by hash_buckets= or a vocabulary="
        ),
    ),
    (
        {"s_lable": atds.DenseFeature([], "int32")},
        (
            "{file}: feature 's_lable': the schema has no field 's_lable'; did you mean 's_label'? The "
            "record 'ads' has 's_label', 's_weight', 's_member', 's_bid', 's_click', 's_country', "
            "'d0', 'd1', 'd2', 'd3' and 9 more"
        ),
    ),
    (
        {"s_label": atds.DenseFeature([], "float64")},
        "{file}: feature 's_label': the values are int, read as int32, not float64; ask for it with cast=True",
    ),
    (
        {"d0": atds.DenseFeature([2, 4], "float32")},
        "{file}: feature 'd0': the shape has rank 2, but the schema has rank 1",
    ),
    (
        {"sp0": atds.SparseFeature([10, 10], "float32")},
        "{file}: feature 'sp0': the shape has rank 2, but the schema has rank 1",
    ),
    (
        {"d0": atds.SparseFeature([10], "float32")},
        (
            "{file}: feature 'd0': a sparse feature is a record of indices0.. and values, but the "
            "field is .*"
        ),
    ),
    (
        {"d0": atds.DenseFeature([None], "float32")},
        "feature 'd0': shorter lists are padded where a dimension varies: give a default= or a mask=",
    ),
    (
        {"s_label": atds.DenseFeature([], "int32", default="x")},
        "feature 's_label': 'default' has \"x\", which is not of dtype int32",
    ),
    (
        {"d0": atds.DenseFeature([8], "float32", default=[1.0, 2.0])},
        "feature 'd0': the lists of 'default' are not of the shape \\[8\\]",
    ),
    (
        {"a": atds.DenseFeature([], "int32", expression="s_label[")},
        "feature 'a': .*",
    ),
    (
        {"s_label": atds.DenseFeature([], "int64", cast=True, hash_buckets=3)},
        "feature 's_label': 'cast' and 'hash_buckets' exclude each other",
    ),
    (
        {"s_country": atds.DenseFeature([], "int64", unknown=3)},
        "feature 's_country': 'vocabulary' is missing",
    ),
    (
        {"s_country": atds.DenseFeature([], "int64", vocabulary=["a", "b", "a"])},
        "feature 's_country': 'vocabulary': words 0 and 2 are the same: 'a'",
    ),
    (
        {"s_country": atds.DenseFeature([], "int64", vocabulary=Path("/none/words.txt"))},
        "feature 's_country': 'vocabulary', file /none/words.txt: No such file or directory .*",
    ),
    (
        {
            "a": atds.DenseFeature([], "int32", expression="s_label", mask="b"),
            "b": DENSE["s_label"],
        },
        "feature 'a': its mask 'b' has the name of another column: give it a name of its own",
    ),
]


@pytest.mark.parametrize(("features", "said"), FEATURES, ids=[str(f)[:60] for f, _ in FEATURES])
def test_features(clicks: str, features: Any, said: str) -> None:
    found = message(atds.FeatureError, lambda: atds.Dataset(clicks, 8, features))
    file = re.escape(str(Path(clicks) / "part-00000.avro"))
    pattern = said.replace("{file}", file) if ".*" in said or "{file}" in said else said
    if "{file}" in said and ".*" not in said:
        pattern = file + re.escape(said.removeprefix("{file}"))
    assert found == said or re.fullmatch(pattern, found), found
    assert issubclass(atds.FeatureError, ValueError)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "missing.avro"
    with pytest.raises(FileNotFoundError) as caught:
        atds.Dataset(missing, 8)
    error = caught.value
    assert isinstance(error, atds.MissingFileError) and isinstance(error, OSError)
    assert str(error) == f"{missing}: No such file or directory (os error 2)"
    assert (error.errno, error.filename, error.file) == (2, str(missing), str(missing))
    said = f"{tmp_path}: no Avro files there (a folder's files are those named *.avro): the "
    said += "folder is empty"
    avro = lambda: atds.Dataset(tmp_path, 8, format="avro")
    assert message(atds.MissingFileError, avro) == said
    pattern = f"{tmp_path}/*.x"
    said = f"{pattern}: no file matches this pattern"
    assert message(atds.MissingFileError, lambda: atds.Dataset(pattern, 8)) == said
    pattern = f"{tmp_path}/{{a,b}}.x"
    said = f"{pattern}: no such file; '{{a,b}}' is not expanded: give '{tmp_path}/a.x' and "
    said += f"'{tmp_path}/b.x'"
    assert message(atds.MissingFileError, lambda: atds.Dataset(pattern, 8)) == said
    said = message(atds.MissingFileError, lambda: atds.Dataset("~/no-such-folder/*.x", 8))
    assert said.endswith(f"'~' is not expanded: give '{Path.home()}/no-such-folder/*.x'")
    said = message(atds.OptionError, lambda: atds.Dataset("file://data/x.avro", 8))
    assert "If it is on this machine, give 'data/x.avro'" in said
    pattern = f"{tmp_path}/***"
    assert message(atds.OptionError, lambda: atds.Dataset(pattern, 8)).startswith(
        f"{pattern}: no such file, and not a pattern: "
    )


def test_files_that_are_not_avro(tmp_path: Path) -> None:
    path = tmp_path / "x.avro"
    path.write_bytes(b"not Avro at all")
    for call in (
        lambda: atds.Dataset(path, 8),
        lambda: atds.read_schema(path),
        lambda: atds.inspect(path),
    ):
        with pytest.raises(atds.DataError) as caught:
            call()
        assert caught.value.file == str(path)
        assert isinstance(caught.value, ValueError)


def test_a_file_that_the_system_does_not_read(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:
        atds.inspect(tmp_path)
    assert type(caught.value) is atds.FileError
    assert (caught.value.errno, caught.value.file) == (21, str(tmp_path))


def test_a_damaged_block(clicks: str, tmp_path: Path) -> None:
    whole = (Path(clicks) / "part-00000.avro").read_bytes()
    path = tmp_path / "cut.avro"
    path.write_bytes(whole[:-1000])
    dataset = atds.Dataset(path, 8, DENSE)
    rows = 0
    with pytest.raises(atds.DataError) as caught:
        for batch in dataset:
            rows += batch.num_records
    error = caught.value
    assert error.file == str(path)
    assert error.block is not None and error.block > 0
    assert error.offset is not None and 0 < error.offset < len(whole)
    assert str(error).startswith(f"{path}: block {error.block} at byte {error.offset}: ")
    assert 0 < rows < 100
    # Counting the records raises the same error.
    with pytest.raises(atds.DataError) as counted:
        len(dataset)
    assert counted.value.block == error.block


def test_a_record_that_does_not_fit(write: Any) -> None:
    union = ["null", "int"]
    records = [{"n": n if n != 70 else None} for n in range(100)]
    file = write([{"name": "n", "type": union}], records, sync_interval=50)
    dataset = atds.Dataset(file, 8, {"n": atds.DenseFeature([], "int32")})
    rows = 0
    with pytest.raises(atds.DataError) as caught:
        for batch in dataset:
            rows += batch.num_records
    error = caught.value
    assert rows == 70
    assert error.field == "n"
    assert error.file == file
    assert error.block is not None and error.record is not None
    assert error.decompressed_offset is None
    assert f"block {error.block} at byte {error.offset}: record {error.record}: field 'n': " in (
        str(error)
    )


def test_schemas_that_do_not_resolve(write: Any) -> None:
    file = write([{"name": "n", "type": "string"}], [{"n": "x"}])
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}
    features = {"n": atds.DenseFeature([], "int32")}
    with pytest.raises(atds.FeatureError) as caught:
        atds.Dataset(file, 8, features, reader_schema=schema)
    assert caught.value.file == file
    assert "string" in str(caught.value) and "int" in str(caught.value)
    with pytest.raises(atds.SchemaError, match=r"^reader_schema: "):
        atds.Dataset(file, 8, features, reader_schema='{"type": "recrod"}')
    with pytest.raises(atds.SchemaError, match=r"^reader_schema: "):
        atds.infer_features(file, reader_schema="nothing")
    said = "a schema must be JSON text, or the value that json.loads returns for it: "
    given: list[Any] = [object(), b"\xff", {"type": {1}}]
    for schema in given:
        found = message(atds.SchemaError, lambda s=schema: atds.Dataset(file, 8, reader_schema=s))
        assert found.startswith(said)


def test_a_second_file_that_does_not_fit(write: Any) -> None:
    first = write([{"name": "n", "type": "int"}], [{"n": 1}], "1.avro")
    second = write([{"name": "m", "type": "int"}], [{"m": 1}], "2.avro")
    features = {"n": atds.DenseFeature([], "int32")}
    iterator = iter(atds.Dataset([first, second], 8, features, check_files=False))
    with pytest.raises(atds.FeatureError, match="the schema has no field 'n'") as caught:
        list(iterator)
    assert caught.value.file == second
    # The first error ends the iteration.
    assert next(iterator, None) is None


def test_a_column_that_a_batch_does_not_have(clicks: str) -> None:
    (batch, *_) = atds.Dataset(clicks, 8, DENSE)
    with pytest.raises(KeyError, match=r"no column 's_labl' \(did you mean 's_label'\?\)"):
        batch["s_labl"]
    with pytest.raises(KeyError, match=r"no column 'zzz' \(it has s_label\)"):
        batch["zzz"]
    assert batch.get("zzz") is None


def test_the_tree() -> None:
    errors = [value for name, value in vars(atds).items() if name.endswith("Error")]
    assert len(errors) == 13
    assert all(issubclass(error, atds.Error) for error in errors)
    assert all(error.__doc__ for error in errors)


def test_messages_name_arguments(clicks: str) -> None:
    dataset = atds.Dataset(clicks, 64, DENSE, memory_limit=1000)
    said = message(atds.MemoryLimitError, lambda: list(dataset))
    assert said.endswith(": raise it, or lower shuffle_buffer_size= or batch_size=")
    # Without a batch, the error does not advise a smaller one.
    file = f"{clicks}/part-00000.avro"
    said = message(atds.MemoryLimitError, lambda: atds.inspect(file, memory_limit=1000))
    assert re.search(r": memory_limit is 1000 bytes, but .* are needed: raise it$", said)
    said = message(atds.OptionError, lambda: atds.inspect(file, memory_limit=0))
    assert said == "memory_limit must be a whole number, 1 or more, or None, not 0"


def test_text_of_files_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2J\u202e\n.avro"
    said = message(atds.MissingFileError, lambda: atds.read_schema(path))
    assert said.startswith(rf"{tmp_path}/a\u{{1b}}[2J\u{{202e}}\n.avro: ")
    with pytest.raises(atds.MissingFileError) as caught:
        atds.read_schema(path)
    assert caught.value.file == str(path)


def test_a_thread_that_does_not_start(clicks: str) -> None:
    code = """
    import resource, sys, atds
    with open("/proc/self/statm") as statm:
        size = int(statm.read().split()[0]) * resource.getpagesize()
    # No room for a stack.
    resource.setrlimit(resource.RLIMIT_AS, (size + 300_000, resource.RLIM_INFINITY))
    try:
        atds.read_schema(sys.argv[1])
    except atds.Error as error:
        print(type(error).__name__, isinstance(error, RuntimeError), error)
    """
    said = succeeds(code, f"{clicks}/part-00000.avro")
    assert said.startswith("ThreadError True a thread could not be started: ")
