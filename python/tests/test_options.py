"""All entry points that take options of data sets take each option of one type."""

from __future__ import annotations

import inspect
import os
from typing import Any

import pytest

import atds
from atds.options import OPTIONS, DatasetOptions, LenienceOptions, PipelineOptions, checked
from frameworks import need

#: For each option: a list of valid values, and an invalid value.
VALUES: dict[str, tuple[list[Any], Any]] = {
    "drop_remainder": ([False, True], 2),
    "reader_buffer_size": ([None, 1, 1 << 30], (1 << 30) + 1),
    "shuffle_buffer_size": ([0, (1 << 63) - 1], -1),
    "num_parallel_calls": ([None, atds.AUTOTUNE, 1, 1024], 0),
    "seed": ([None, 0, (1 << 63) - 1], 1 << 63),
    "epochs": ([1, 2, (1 << 32) - 1], None),
    "provenance": ([None, "place"], True),
    "index": ([None], 3),
    "root": ([None, "/"], 3),
    "split": ([None], 3),
    "splits": ([None], 0.5),
    "split_by": (["record"], None),
    "shard_by": (["record", "file"], "files"),
    "on_error": (["raise", "skip_block", "skip_file"], "skip"),
    "max_skipped": ([None, 0, 10, 0.0, 1.0], 1.5),
    "skip_log": ([None, os.devnull], 3),
    "skip_mask": (["mask", "read"], None),
    "shuffle_files": ([False, True], "yes"),
    "prefetch": ([0, 1024], 1025),
    "reader_schema": ([None, "path"], object()),
    "shuffle_blocks": ([False, True], None),
    "shuffle": ([None, "blocks"], True),
    "interleave": ([None, (2, 3), [4, 16]], 4),
    "out_of_bounds": (["error", "drop"], "keep"),
    "memory_limit": ([None, 1 << 40, (1 << 63) - 1], 0),
    "mmap": ([False, True], 0.5),
    "strict": ([False, True], "no"),
    "check_files": ([False, True], "no"),
    "sample_records": ([0, 1, (1 << 63) - 1], -1),
    "recursive": ([False, True], "no"),
    "format": ([None, "avro"], "csv"),
    "tolerate": ([(), "utf8", ["utf8", "checksum"], iter(["utf8"])], "all"),
    "max_block_bytes": ([None, 1 << 20, (1 << 62) - 1], 1 << 62),
    "max_depth": ([None, 10, 300], 301),
}


def test_each_option_has_a_type_a_default_a_check_and_a_description() -> None:
    assert set(OPTIONS) == set(DatasetOptions.__annotations__) == set(VALUES)
    assert atds.Dataset.__doc__ is not None
    for name in OPTIONS:
        assert f"\n    {name}: " in atds.Dataset.__doc__


@pytest.mark.parametrize("name", OPTIONS)
def test_the_ends_of_each_range(clicks: str, name: str) -> None:
    good, bad = VALUES[name]
    for value in good:
        given = atds.read_schema(f"{clicks}/part-00000.avro") if value == "path" else value
        options: Any = {name: given}
        dataset = atds.Dataset(clicks, 64, {"s_label": atds.DenseFeature([], "int32")}, **options)
        assert dataset.batch_size == 64
    with pytest.raises((atds.OptionError, atds.SchemaError), match=rf"{name}|schema"):
        atds.Dataset(clicks, 64, **{name: bad})


def test_what_was_checked_passes_the_check_again() -> None:
    for name, (good, _) in VALUES.items():
        for value in good:
            once = checked(DatasetOptions, {name: value})
            assert checked(DatasetOptions, once) == once


def test_an_unknown_option(clicks: str) -> None:
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument 'sead' \(did you mean 'seed'"
    ):
        atds.Dataset(clicks, 64, sead=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'seed'"):
        atds.inspect(f"{clicks}/part-00000.avro", seed=1)  # type: ignore[call-arg]


def keywords(of: Any) -> dict[str, Any]:
    parameters = inspect.signature(of).parameters.values()
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def test_signatures_name_each_option() -> None:
    defaults = {name: option.default for name, option in OPTIONS.items()}
    found = keywords(atds.Dataset)
    assert {name: found[name] for name in defaults} == defaults
    assert list(keywords(atds.inspect)) == [
        "sample",
        "memory_limit",
        *LenienceOptions.__annotations__,
    ]
    assert str(inspect.signature(atds.Dataset).parameters["seed"]) == "seed: 'int | None' = None"


def test_signatures_of_pytorch() -> None:
    need("torch")
    import atds.torch

    found = keywords(atds.torch.Dataset)
    assert set(OPTIONS) < set(found)
    assert "\n    seed: " in (atds.torch.Dataset.__doc__ or "")


def test_signatures_of_tensorflow() -> None:
    need("tensorflow")
    import atds.tensorflow

    found = keywords(atds.tensorflow.ATDSDataset)
    assert set(found) == {"seed", *PipelineOptions.__annotations__}
    for of in (atds.tensorflow.AvroRecordDataset, atds.tensorflow.make_avro_record_dataset):
        assert set(keywords(of)) == set(LenienceOptions.__annotations__)
