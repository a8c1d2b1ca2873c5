"""Strings end to end."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from atds import _native
from atds.dtypes import DType


class StringArray:
    """An array of strings: offsets into one buffer of data, which both are the batch's memory.

    Its items are ``str``, or ``bytes`` where the feature's dtype is ``bytes``. Arrow takes it
    without copying, by its C data interface: ``pyarrow.array(x)``, ``polars.Series(x)``.

    >>> dataset = atds.Dataset("strings/*.avro", 3, {"s_title": atds.DenseFeature([], "string")})
    >>> strings = next(iter(dataset))["s_title"]
    >>> strings.shape, len(strings), strings.dtype
    ((3,), 3, 'string')
    >>> strings.to_pylist() == strings.to_numpy().tolist() == list(strings)
    True

    Attributes:
        offsets: int64 ``[size + 1]``, read-only: string ``i``, in row-major order, is the data
            from ``offsets[i]`` to ``offsets[i + 1]``.
        data: uint8, read-only: the bytes of all strings.
        shape: The dimensions.
    """

    __slots__ = ("_binary", "data", "offsets", "shape")

    def __init__(
        self,
        offsets: np.ndarray[Any, np.dtype[np.int64]],
        data: np.ndarray[Any, np.dtype[np.uint8]],
        shape: tuple[int, ...] | None = None,
        binary: bool = False,
    ) -> None:
        self.offsets = offsets
        self.data = data
        self.shape = (len(offsets) - 1,) if shape is None else shape
        self._binary = binary

    @property
    def dtype(self) -> DType:
        """``string`` or ``bytes``."""
        return "bytes" if self._binary else "string"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of strings."""
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of offsets and data."""
        return self.offsets.nbytes + self.data.nbytes

    def to_pylist(self) -> list[Any]:
        """The strings as nested lists of the shape.

        Raises:
            UnicodeDecodeError: A string is not UTF-8; ask for ``dtype="bytes"``.
        """
        return _nested(self._flat(), self.shape)

    def to_numpy(self) -> np.ndarray[Any, np.dtype[np.object_]]:
        """The strings as an array of objects of the same shape.

        Raises:
            UnicodeDecodeError: A string is not UTF-8; ask for ``dtype="bytes"``.
        """
        array = np.empty(self.size, dtype=object)
        array[:] = self._flat()
        return array.reshape(self.shape)

    def reshape(self, *shape: int) -> StringArray:
        """The same strings in another shape, of which one dimension may be -1."""
        dims = np.broadcast_to(False, self.size).reshape(*shape).shape
        return StringArray(self.offsets, self.data, dims, self._binary)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        """The strings as Arrow's large strings, or large binaries, over the same memory.

        Raises:
            ValueError: A string is not UTF-8; ask for ``dtype="bytes"``.
        """
        from atds import _arrow

        return _native.export_array(_arrow.string_node(self))

    def __array__(
        self, dtype: Any = None, copy: bool | None = None
    ) -> np.ndarray[Any, np.dtype[Any]]:
        if copy is False:
            raise ValueError("strings are made into objects, which cannot be without a copy")
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a StringArray without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, place: int | slice) -> Any:
        """The string, or the array of strings, at a place of the first dimension, or those of
        consecutive places, over the same memory."""
        if isinstance(place, slice):
            places = range(len(self))[place]
            if places.step != 1:
                raise IndexError("a slice of a StringArray has no step: take it of to_numpy()")
            return self._part(places.start, len(places), (len(places), *self.shape[1:]))
        place = range(len(self))[place]
        if self.ndim > 1:
            return self._part(place, 1, self.shape[1:])
        start, end = self.offsets[place : place + 2]
        return self._said(self.data[start:end].tobytes())

    def _part(self, start: int, count: int, shape: tuple[int, ...]) -> StringArray:
        """Places of the first dimension, in a shape."""
        width = math.prod(self.shape[1:])
        # Offsets need not start with 0.
        offsets = self.offsets[start * width : (start + count) * width + 1]
        return StringArray(offsets, self.data, shape, self._binary)

    def __eq__(self, other: object) -> Any:
        """Element by element, as NumPy."""
        return self.to_numpy() == (other.to_numpy() if isinstance(other, StringArray) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"StringArray(shape={self.shape}, dtype='{self.dtype}')"

    def __reduce__(self) -> tuple[Any, ...]:
        return StringArray, (self.offsets, self.data, self.shape, self._binary)

    def _flat(self) -> list[Any]:
        # Part of an array has the data of all of it.
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        data, ends = self.data[first:last].tobytes(), (self.offsets - first).tolist()
        strings = [data[start:end] for start, end in itertools.pairwise(ends)]
        return strings if self._binary else [self._said(string) for string in strings]

    def _said(self, string: bytes) -> Any:
        return string if self._binary else string.decode()


def _nested(items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    for dim in reversed(shape[1:]):
        rows = len(items) // dim if dim else math.prod(shape[:-1])
        items = [items[i * dim : (i + 1) * dim] for i in range(rows)]
    return items
