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
    """An array of strings: one buffer of data and the offsets of strings, over the batch's memory.

    Its items are ``str``, or ``bytes`` if the feature's dtype is ``bytes``. Arrow imports it
    without copying, by the C data interface: ``pyarrow.array(x)``, ``polars.Series(x)``.

    >>> dataset = atds.Dataset("strings/*.avro", 3, {"s_title": atds.DenseFeature([], "string")})
    >>> strings = next(iter(dataset))["s_title"]
    >>> strings.shape, len(strings), strings.dtype
    ((3,), 3, 'string')
    >>> strings.tolist() == strings.to_numpy().tolist() == list(strings)
    True
    >>> (strings == strings[0]).tolist()
    [True, False, False]

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
        """The size of offsets and data in bytes."""
        return self.offsets.nbytes + self.data.nbytes

    def tolist(self) -> Any:
        """The strings as nested lists, as ``numpy.ndarray.tolist`` returns them; without dimensions
        the string.

        Raises:
            UnicodeDecodeError: A string is not UTF-8; ask for ``dtype="bytes"``.
        """
        return self.to_pylist() if self.shape else self._at(0)

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
        """The same strings in another shape. One dimension may be -1."""
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
            raise ValueError("strings become Python objects, which needs a copy")
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a StringArray without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        """The string, or the array of strings, at ``index``, as in NumPy. ``index`` is a whole
        number (negative from the end), a slice, a mask, a list or array of numbers, ``...``,
        ``None``, or a tuple of these.

        A number or a slice without a step shares this memory; other results are copies.

        >>> dataset = atds.Dataset("strings/*.avro", 3, {"s_title": atds.DenseFeature([], "string")})
        >>> strings = next(iter(dataset))["s_title"]
        >>> strings[[2, 0]].tolist() == [strings[-1], strings[0]]
        True
        >>> strings[strings == strings[1]].tolist() == [strings[1]]
        True

        Raises:
            IndexError: An index is out of range, or a mask has another length.
        """
        if isinstance(index, slice):
            indices = range(len(self))[index]
            if indices.step == 1:
                return self._part(indices.start, len(indices), (len(indices), *self.shape[1:]))
        elif isinstance(index, (int, np.integer)) and not isinstance(index, bool) and self.shape:
            if not -len(self) <= index < len(self):
                raise IndexError(
                    f"there is no string {int(index)}: the first dimension has {len(self)}"
                )
            index = int(index) % len(self)
            if self.ndim > 1:
                return self._part(index, 1, self.shape[1:])
            return self._at(index)
        if isinstance(index, StringArray):
            raise IndexError("strings are not indices: give numbers, a mask or a slice")
        chosen = np.arange(self.size).reshape(self.shape)[index]
        if isinstance(chosen, np.ndarray):
            return self._chosen(chosen)
        return self._at(int(chosen))

    def _at(self, i: int) -> Any:
        """String `i` in row-major order."""
        start, end = self.offsets[i : i + 2]
        return self._said(self.data[start:end].tobytes())

    def _part(self, start: int, count: int, shape: tuple[int, ...]) -> StringArray:
        """The items ``start`` to ``start + count`` of the first dimension, in a shape."""
        width = math.prod(self.shape[1:])
        # Offsets need not start with 0.
        offsets = self.offsets[start * width : (start + count) * width + 1]
        return StringArray(offsets, self.data, shape, self._binary)

    def _chosen(self, indices: np.ndarray[Any, np.dtype[np.int64]]) -> StringArray:
        """A copy of the strings at ``indices``, which count in row-major order, in the shape of
        ``indices``."""
        flat = indices.ravel()
        lengths = np.diff(self.offsets)[flat]
        offsets = np.zeros(len(flat) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        # The position of each byte.
        of_bytes = np.arange(offsets[-1]) + np.repeat(self.offsets[flat] - offsets[:-1], lengths)
        data = self.data[of_bytes]
        offsets.flags.writeable = data.flags.writeable = False
        return StringArray(offsets, data, indices.shape, self._binary)

    def __eq__(self, other: object) -> Any:
        """Compares element by element, as NumPy, and returns an array of bools. Strings are
        compared by their bytes with ``str``, ``bytes``, or lists and arrays of them.

        >>> dataset = atds.Dataset("strings/*.avro", 3, {"s_title": atds.DenseFeature([], "string")})
        >>> strings = next(iter(dataset))["s_title"]
        >>> strings == strings[0].encode()
        array([ True, False, False])
        """
        if isinstance(other, (bytearray, memoryview)):
            other = bytes(other)
        if isinstance(other, (str, bytes)):
            string = _as_bytes(other)
            return np.zeros(self.shape, bool)[()] if string is None else self._equals(string)
        return np.asarray(self._objects() == _objects(other), dtype=bool)[()]

    def __ne__(self, other: object) -> Any:
        """Compares element by element, as NumPy, and returns an array of bools."""
        return ~(self == other)

    # This makes NumPy call the comparisons above.
    __array_priority__ = 1000

    def _equals(self, string: bytes) -> Any:
        starts = self.offsets[:-1]
        equal = np.diff(self.offsets) == len(string)
        of_this_length = np.flatnonzero(equal)
        for i, byte in enumerate(string):
            of_this_length = of_this_length[self.data[starts[of_this_length] + i] == byte]
        equal[:] = False
        equal[of_this_length] = True
        return equal.reshape(self.shape)[()]

    def _objects(self) -> np.ndarray[Any, np.dtype[np.object_]]:
        """The bytes of each string, in the shape."""
        array = np.empty(self.size, dtype=object)
        array[:] = self._encoded()
        return array.reshape(self.shape)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"StringArray(shape={self.shape}, dtype='{self.dtype}')"

    def __reduce__(self) -> tuple[Any, ...]:
        return StringArray, (self.offsets, self.data, self.shape, self._binary)

    def _flat(self) -> list[Any]:
        strings = self._encoded()
        return strings if self._binary else [self._said(string) for string in strings]

    def _encoded(self) -> list[bytes]:
        # A slice of an array has the data of the whole array.
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        data, ends = self.data[first:last].tobytes(), (self.offsets - first).tolist()
        return [data[start:end] for start, end in itertools.pairwise(ends)]

    def _said(self, string: bytes) -> Any:
        return string if self._binary else string.decode()


def _as_bytes(string: str | bytes) -> bytes | None:
    """The bytes of a string; None, which equals no string, if it cannot be encoded."""
    try:
        return string.encode() if isinstance(string, str) else string
    except UnicodeEncodeError:
        return None


def _objects(values: Any) -> np.ndarray[Any, np.dtype[np.object_]]:
    """An array of objects. Strings become bytes."""
    if isinstance(values, StringArray):
        return values._objects()
    array = np.asarray(values, dtype=object)
    flat = [_as_bytes(value) if isinstance(value, str) else value for value in array.ravel()]
    objects = np.empty(len(flat), dtype=object)
    objects[:] = flat
    return objects.reshape(array.shape)


def _nested(items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    for dim in reversed(shape[1:]):
        rows = len(items) // dim if dim else math.prod(shape[:-1])
        items = [items[i * dim : (i + 1) * dim] for i in range(rows)]
    return items
