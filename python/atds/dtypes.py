"""The dtypes of columns, and the values that are accepted as dtypes."""

from __future__ import annotations

import difflib
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from atds.errors import FeatureError

#: The dtypes of columns by name. ``string`` is text in UTF-8, ``bytes`` any bytes.
DType: TypeAlias = Literal[
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "bool",
    "string",
    "bytes",
]

DTYPES: tuple[DType, ...] = get_args(DType)

# Python's own types as NumPy reads them. `np.dtype(str)` and others have a length.
_PYTHON_TYPES: dict[object, DType] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    bytes: "bytes",
}


def parse_dtype(dtype: Any) -> DType:
    """The name of a dtype given as a NumPy dtype, a name, or a framework's own dtype.

    Frameworks are not imported: ``torch.float32``, ``tf.float32`` and ``jax.numpy.float32`` are
    recognised by their names.

    Raises:
        FeatureError: The value is no dtype, or a dtype that no column can have.
    """
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[dtype]
    for name in _names(dtype):
        if name in DTYPES:
            return name
    raise _unknown(dtype)


def _names(dtype: Any) -> list[str]:
    """Possible names of `dtype`."""
    names = []
    if isinstance(dtype, str):
        names.append(dtype)
    # TensorFlow's dtypes have a name; PyTorch's are printed as `torch.float32`.
    name = getattr(dtype, "name", None)
    if isinstance(name, str):
        names.append(name)
    if type(dtype).__module__.partition(".")[0] == "torch":
        names.append(str(dtype).removeprefix("torch."))
    # A NumPy dtype, its name or scalar type, or an object with a NumPy dtype, such as JAX's.
    found = _numpy_dtype(dtype)
    if found is not None:
        names.append(_numpy_name(found))
    return names


def _numpy_dtype(dtype: Any) -> np.dtype[Any] | None:
    if dtype is None:
        return None
    try:
        found: np.dtype[Any] = np.dtype(dtype)
        return found
    except (TypeError, ValueError):
        return None


def _numpy_name(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "UT":
        return "string"
    if dtype.kind == "S":
        return "bytes"
    # Columns are in the machine's byte order.
    return dtype.name if dtype.isnative else str(dtype)


def _unknown(dtype: Any) -> FeatureError:
    shown = dtype if isinstance(dtype, str) else repr(dtype)
    names = ", ".join(DTYPES)
    nearest = difflib.get_close_matches(str(shown), DTYPES, n=1)
    meant = f" (did you mean '{nearest[0]}'?)" if nearest else ""
    return FeatureError(f"dtype {shown!r} is unknown{meant}: it must be one of {names}")
