"""Checks of options' values."""

from __future__ import annotations

import contextlib
import operator
import os
import secrets
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from atds.errors import OptionError

#: Lets the pipeline choose the number of threads; the value of ``tf.data.AUTOTUNE``.
AUTOTUNE = -1

#: The largest whole number that the pipeline takes: that of an int64.
_MAX = (1 << 63) - 1

#: The largest number of epochs of an iteration.
MAX_EPOCHS = (1 << 32) - 1

#: The largest ``max_block_bytes``.
MAX_BLOCK_BYTES = sys.maxsize // 2

#: The largest ``max_depth``.
MAX_DEPTH = 300


def whole(name: str, value: Any, least: int, most: int = _MAX, hint: str = "") -> int:
    """A whole number in a range.

    Raises:
        OptionError: The value is not a whole number in the range.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        bounds = f"{least} or more" if most == _MAX else f"{least} to {most:,}"
        raise OptionError(f"{name} must be a whole number, {bounds}{hint}, not {value!r}")
    return number


def optional(name: str, value: Any, least: int, most: int = _MAX) -> int | None:
    """A whole number in a range, or None."""
    return None if value is None else whole(name, value, least, most, ", or None")


#: A part of an epoch's records: its index, and the number of parts.
Shard: TypeAlias = "tuple[int, int]"


def shard(value: Any) -> Shard | None:
    """The index of a shard and the number of shards, or None.

    Raises:
        OptionError: The value is not two whole numbers, the first below the second.
    """
    if value is None:
        return None
    try:
        index, count = map(operator.index, value)
    except (TypeError, ValueError):
        index, count = -1, 0
    if not 0 <= index < count <= _MAX:
        raise OptionError(
            "shard must be the index of a shard and the number of shards, such as (0, 4), the "
            f"index below the number, or None, not {value!r}"
        )
    return index, count


def shard_by(name: str, value: Any) -> str:
    """``record`` or ``file``."""
    if not isinstance(value, str) or value not in ("record", "file"):
        raise OptionError(f"{name} must be 'record' or 'file', not {value!r}")
    return value


def interleave(name: str, value: Any) -> tuple[int, int] | None:
    """The numbers of files and of records that take turns, or None.

    Raises:
        OptionError: The value is not two whole numbers above 0.
    """
    if value is None:
        return None
    try:
        files, records = map(operator.index, value)
    except (TypeError, ValueError):
        files, records = 0, 0
    if not (1 <= files <= _MAX and 1 <= records <= _MAX):
        raise OptionError(
            f"{name} must be the number of files that take turns and the number of records of a turn, such "
            f"as (4, 16), or None, not {value!r}"
        )
    return files, records


def flag(name: str, value: Any) -> bool:
    """A bool, from Python's or NumPy's True or False."""
    if isinstance(value, (int, np.bool_)) and value in (0, 1):
        return bool(value)
    raise OptionError(f"{name} must be True or False, not {value!r}")


#: The formats of row files, by name.
FORMATS = ("avro", "btable", "tfrecord")


def file_format(name: str, value: Any) -> str | None:
    """The name of a format, or None."""
    if value is None or (isinstance(value, str) and value in FORMATS):
        return value
    raise OptionError(f"{name} must be {' or '.join(map(repr, FORMATS))} or None, not {value!r}")


#: The names of the faults in files that :class:`atds.Dataset` can tolerate.
TOLERATED = ("trailing-block-bytes", "trailing-file-bytes", "checksum", "utf8")

#: One or several names of tolerated faults.
Tolerate: TypeAlias = "str | Iterable[str]"


def tolerated(name: str, value: Any) -> list[str]:
    """The names of the tolerated faults.

    Raises:
        OptionError: The value is not one or several names of :data:`TOLERATED`.
    """
    names = [value] if isinstance(value, str) else value
    try:
        names = list(names)
    except TypeError:
        names = [value]
    for said in names:
        if said not in TOLERATED:
            raise OptionError(
                f"{name} must be of {', '.join(map(repr, TOLERATED))}, or several of them, "
                f"not {said!r}"
            )
    return list(dict.fromkeys(names))


def threads(name: str, value: Any) -> int:
    """A number of threads, or :data:`AUTOTUNE`."""
    if value is None or (isinstance(value, (int, np.integer)) and value == AUTOTUNE):
        return AUTOTUNE
    return whole(name, value, 1, 1024, ", or atds.AUTOTUNE")


def seed(name: str, value: Any) -> int:
    """A seed; a random one if the value is None."""
    if value is None:
        return secrets.randbits(63)
    return whole(name, value, 0, hint=", or None")


def out_of_bounds(name: str, value: Any) -> str:
    """``error`` or ``drop``."""
    if not isinstance(value, str) or value not in ("error", "drop"):
        raise OptionError(f"{name} must be 'error' or 'drop', not {value!r}")
    return value


def shuffle(name: str, value: Any) -> str | None:
    """``blocks``, or None."""
    if value is None or (isinstance(value, str) and value == "blocks"):
        return value
    raise OptionError(
        f"{name} must be 'blocks', or None, not {value!r}: shuffle_buffer_size=, shuffle_files= and "
        "shuffle_blocks= shuffle records, files, and the blocks of each file"
    )


def on_error(name: str, value: Any) -> str:
    """``raise``, ``skip_block`` or ``skip_file``."""
    if not isinstance(value, str) or value not in ("raise", "skip_block", "skip_file"):
        raise OptionError(f"{name} must be 'raise', 'skip_block' or 'skip_file', not {value!r}")
    return value


def max_skipped(name: str, value: Any) -> int | float | None:
    """A number of records, a part of them from 0.0 to 1.0, or None."""
    if value is None:
        return None
    if isinstance(value, (float, np.floating)) and 0 <= value <= 1:
        return float(value)
    return whole(name, value, 0, hint=", or a part from 0.0 to 1.0, or None")


def column(name: str, value: Any) -> str | None:
    """The name of a column, or None."""
    if value is None or isinstance(value, str):
        return value
    raise OptionError(f"{name} must be the name of a column, or None, not {value!r}")


def split(name: str, value: Any) -> str | None:
    """The name of a split, or None."""
    if value is None or isinstance(value, str):
        return value
    raise OptionError(f"{name} must be the name of a split in splits=, or None, not {value!r}")


def splits(name: str, value: Any) -> dict[str, float] | None:
    """Splits by name, each with its part of the records, or None.

    Raises:
        OptionError: The value does not map names to numbers.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        parts = dict(value)
        if all(isinstance(n, str) and _is_number(part) for n, part in parts.items()):
            with contextlib.suppress(OverflowError):
                return {n: float(part) for n, part in parts.items()}
    raise OptionError(
        f"{name} must map names to parts of the records, such as "
        f"{{'train': 0.9, 'test': 0.1}}, or be None, not {value!r}"
    )


def _is_number(value: Any) -> bool:
    numbers = (int, float, np.integer, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool)


def split_by(name: str, value: Any) -> str:
    """What splits are made of. The native module knows the names."""
    if isinstance(value, str):
        return value
    raise OptionError(f"{name} must be 'record', 'block' or a field, not {value!r}")


def check_split(options: Mapping[str, Any]) -> None:
    """Checks that the options of splits are given together.

    Raises:
        OptionError: One of them is missing.
    """
    name, parts = options["split"], options["splits"]
    if name is not None and parts is None:
        raise OptionError(
            f"split={name!r} needs splits=, each split with its part of the records, such as "
            "{'train': 0.9, 'test': 0.1}"
        )
    if name is None and parts is not None:
        raise OptionError(f"splits= needs split=, the one that is read, of {sorted(parts)}")
    if name is None and options["split_by"] != "record":
        raise OptionError("split_by= needs split= and splits=")


def path(name: str, value: Any) -> str | None:
    """An absolute path, or None."""
    if value is None:
        return None
    try:
        # Not `abspath`: `link/..` is not the folder that the link is in.
        given = os.fsdecode(value)
        return given if os.path.isabs(given) else os.path.join(os.getcwd(), given)
    except TypeError:
        raise OptionError(f"{name} must be a path, or None, not {value!r}") from None


def name(option: str, value: Any) -> str:
    """The name of a column."""
    if isinstance(value, str):
        return value
    raise OptionError(f"{option} must be the name of a column, not {value!r}")


def ranks_of_machine() -> int:
    """The number of ranks on this machine, from ``torchrun``'s environment variable."""
    value = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, int(value)) if value.isdecimal() else 1
