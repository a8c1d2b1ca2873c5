"""Values of rows for the writers: what the native part asks for what is of no built-in class.

A ``ValueError`` says why a value cannot be written; the native part adds the row and the field.
"""

# ruff: noqa: TRY004

from __future__ import annotations

import contextlib
import datetime
import decimal
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_EPOCH_DAY = datetime.date(1970, 1, 1)
_EPOCH = datetime.datetime(1970, 1, 1)
_NANOS = {"millis": 1_000_000, "micros": 1_000, "nanos": 1}


def plain(value: Any) -> Any:
    """The value as one of None, bool, int, float, str, bytes, list, tuple and dict, if it has one."""
    if value is None or isinstance(value, (str, bytes, int, float, list, tuple, dict)):
        # The subclasses of NumPy print otherwise.
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "mM":
            return list(value) if value.ndim else value[()]
        return value.tolist()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__array__"):
        return plain(np.asarray(value))
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, Sequence) else value


def flat(value: Any) -> Any:
    """The values of a key of an ``Example``: a vector of int64 or float32, or a list.

    Raises:
        ValueError: A number is beyond int64 or float32, lists differ in length, or the value is of a
            class that an ``Example`` does not have.
    """
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value) if hasattr(value, "__array__") else plain(value)
    if isinstance(value, (list, tuple)):
        return _items(value)
    if isinstance(value, dict):
        raise ValueError(
            "a dict is no value of a key: give what is in it keys of their own, such as 'outer.inner'"
        )
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    if np.ma.is_masked(value):
        raise ValueError(_NO_MASKED)
    array = np.asarray(value).reshape(-1)
    if not array.size:
        # It does not tell the kind of the key, as the empty list does not.
        return []
    if array.dtype.kind in "mM":
        raise ValueError(_NO_TIMES)
    if array.dtype.kind in "biu":
        if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
            raise ValueError(f"{array.max()} is beyond int64")
        return np.ascontiguousarray(array, np.int64)
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            floats = np.ascontiguousarray(array, np.float32)
        beyond = np.isinf(floats) & ~np.isinf(array)
        if beyond.any():
            raise ValueError(f"{array[beyond][0]} is beyond float32")
        return floats
    return _items(array.tolist())


def steps(value: Any) -> list[Any]:
    """The steps of a feature list of a ``SequenceExample``, each a value or the values of a key.

    Raises:
        ValueError: The value is no list of steps.
    """
    if np.ma.is_masked(value):
        raise ValueError(_NO_MASKED)
    value = plain(value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(
            f"a feature list is a list of steps, each a value or a list of values, not {value!r}"
        )
    return list(value)


_NO_MASKED = "an Example has no masked items: fill them, or leave them out"

#: Levels of lists in lists: a list may contain itself.
_MAX_LEVELS = 64

_NO_TIMES = (
    "an Example has no dates and times: give ints of the unit that readers expect, as "
    "values.astype(int) does"
)


def _items(values: Any) -> list[Any]:
    """The items of a list of items, or of lists in lists that have one length on each level: a key has
    one list, so that others would lose their shape."""
    first, levels = values, 0
    while isinstance(first, (list, tuple)) and first:
        first, levels = plain(first[0]), levels + 1
        if levels > _MAX_LEVELS:
            raise ValueError(f"lists are nested deeper than {_MAX_LEVELS}")
    items = [plain(item) for item in values]
    while any(isinstance(item, (list, tuple)) for item in items):
        if len({len(item) if isinstance(item, (list, tuple)) else None for item in items}) > 1:
            raise ValueError(
                "the lists in the list differ in length, and a key has one list: write the values "
                "and the lengths under two keys"
            )
        items = [plain(part) for item in items for part in item]
    if any(isinstance(item, (np.datetime64, np.timedelta64)) for item in items):
        raise ValueError(_NO_TIMES)
    return items


def fits(value: Any, logical: str) -> bool:
    """Whether a value is of a class for the logical type."""
    if isinstance(value, datetime.datetime):
        return logical.startswith("local-timestamp" if value.tzinfo is None else "timestamp")
    if isinstance(value, np.datetime64):
        return "timestamp" in logical or logical == "date"
    if isinstance(value, datetime.date):
        return logical == "date"
    if isinstance(value, datetime.time):
        return logical.startswith("time-") and value.tzinfo is None
    if isinstance(value, decimal.Decimal):
        return logical == "decimal"
    return isinstance(value, uuid.UUID) and logical == "uuid"


def time_number(value: Any, logical: str) -> int:
    """A date, time or timestamp as the number that its type has.

    Raises:
        ValueError: The value is none, or has a part that the unit lacks.
    """
    if not fits(value, logical):
        raise ValueError(f"{value!r} does not fit {logical}: give {_WANTED[logical]}")
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            raise ValueError(f"NaT is no {logical}: give None where the schema allows null")
        # Casts of NumPy overflow silently.
        unit, step = np.datetime_data(value.dtype)
        count = value
        if unit in "YM":
            count, unit, step = value.astype("M8[D]"), "D", 1
            if count.astype(value.dtype) != value:
                raise ValueError(f"{value!r} is beyond the range of {logical}")
        attos: int = int(count.astype(np.int64)) * step * _ATTOS[unit]
        number, rest = divmod(attos, _ATTOS[_NUMPY_UNITS[logical.rpartition("-")[2]]])
        if rest:
            raise ValueError(_finer(value, logical))
        return number
    if logical == "date":
        days: int = (value - _EPOCH_DAY).days
        return days
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        nanos = (seconds * 1_000_000 + value.microsecond) * 1_000
    else:
        offset = value.utcoffset() or datetime.timedelta()
        since = value.replace(tzinfo=None) - offset - _EPOCH
        nanos = (since // datetime.timedelta(microseconds=1)) * 1_000
        # Those of pandas.Timestamp.
        nanos += getattr(value, "nanosecond", 0)
    number, rest = divmod(nanos, _NANOS[logical.rpartition("-")[2]])
    if rest:
        raise ValueError(_finer(value, logical))
    return number


#: The attoseconds of the units of NumPy.
_ATTOS: dict[str, int] = {
    "W": 604_800 * 10**18,
    "D": 86_400 * 10**18,
    "h": 3_600 * 10**18,
    "m": 60 * 10**18,
    **{unit: 1_000**power for power, unit in enumerate(["as", "fs", "ps", "ns", "us", "ms", "s"])},
}

_NUMPY_UNITS = {"date": "D", "millis": "ms", "micros": "us", "nanos": "ns"}

_WANTED = {
    "date": "a datetime.date, or an int of days since 1970",
    "time-millis": "a datetime.time, or an int of milliseconds",
    "time-micros": "a datetime.time, or an int of microseconds",
    **{
        f"timestamp-{unit}": f"a datetime with a time zone, or an int of {unit} since 1970"
        for unit in _NANOS
    },
    **{
        f"local-timestamp-{unit}": f"a datetime without a time zone, or an int of {unit} since 1970"
        for unit in _NANOS
    },
}


def _finer(value: Any, logical: str) -> str:
    return f"{value!r} is between two values of {logical}: round it, or take a type of a finer unit"


def decimal_bytes(value: Any, precision: int, scale: int, size: int | None) -> bytes:
    """The unscaled number of a decimal, of ``size`` bytes or as few as it needs.

    Raises:
        ValueError: The value is no decimal, or has more digits than the type.
    """
    if not isinstance(value, decimal.Decimal):
        raise ValueError(
            f"{value!r} does not fit decimal: give a decimal.Decimal, or the bytes of the unscaled "
            "number"
        )
    if not value.is_finite():
        raise ValueError(f"{value} is no decimal of a schema")
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits)) or "0")
    shift = int(exponent) + scale
    if shift >= 0:
        if number and shift > precision:
            raise ValueError(f"{value} has more than the {precision} digits of the type")
        number = number * 10**shift if number else 0
    else:
        number, rest = _split(number, -shift, len(digits))
        if rest:
            raise ValueError(f"{value} has more than {scale} digits after the point: round it")
    if len(str(number)) > precision:
        raise ValueError(f"{value} has more than the {precision} digits of the type")
    number = -number if sign else number
    length = number.bit_length() // 8 + 1 if number >= 0 else (number + 1).bit_length() // 8 + 1
    return number.to_bytes(size or length, "big", signed=True)


def _split(number: int, digits: int, has: int) -> tuple[int, int]:
    """Cuts ``digits`` digits off a number of ``has``: what is left, and the digits."""
    return (0, number) if digits > has else divmod(number, 10**digits)


def uuid_base(value: Any, is_fixed: bool) -> str | bytes:
    """A UUID as text or as its 16 bytes.

    Raises:
        ValueError: The value is no UUID.
    """
    if isinstance(value, str):
        # Text without hyphens, or in braces, too.
        with contextlib.suppress(ValueError):
            value = uuid.UUID(value)
    if not isinstance(value, uuid.UUID):
        raise ValueError(
            f"{value!r} does not fit uuid: give a uuid.UUID, or its text, such as "
            "'12345678-1234-5678-1234-567812345678'"
        )
    return value.bytes if is_fixed else str(value)


def duration_bytes(value: Any) -> bytes:
    """Months, days and milliseconds as the bytes of a duration.

    Raises:
        ValueError: The value is not three whole numbers of 32 bits.
    """
    try:
        parts = [part.__index__() for part in value]
        if len(parts) == 3:
            return b"".join(part.to_bytes(4, "little") for part in parts)
    except (AttributeError, TypeError, OverflowError):
        pass
    raise ValueError(
        f"{value!r} does not fit duration: give months, days and milliseconds, three ints below "
        "2^32, or 12 bytes"
    )
