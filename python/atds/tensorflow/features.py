"""The features of tensorflow-io's interfaces. Features of :mod:`atds` are accepted as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from atds.errors import FeatureError
from atds.tensorflow._framework import tf

if TYPE_CHECKING:
    from typing_extensions import Self


class _Shaped(NamedTuple):
    shape: Sequence[int]
    dtype: Any


class DenseFeature(_Shaped):
    """A tensor ``[batch, *shape]``, of arrays nested as deeply as the shape has dimensions.

    Attributes:
        shape: Dimensions above 0; ``[]`` is a scalar.
        dtype: One of the tf dtypes int32, int64, float32, float64, string and bool.
    """

    __slots__ = ()

    def __new__(cls, shape: Sequence[int], dtype: Any) -> Self:
        _check(cls, shape, dtype, unknown=False)
        return super().__new__(cls, shape, dtype)


class SparseFeature(_Shaped):
    """A ``tf.SparseTensor`` ``[batch, *shape]``, of records of ``indices0``.. and ``values``.

    Attributes:
        shape: At least one dimension, each above 0, or -1 where any index is valid.
        dtype: One of the tf dtypes int32, int64, float32, float64, string and bool.
    """

    __slots__ = ()

    def __new__(cls, shape: Sequence[int], dtype: Any) -> Self:
        _check(cls, shape, dtype, unknown=True)
        if len(shape) == 0:
            raise FeatureError("a SparseFeature has at least one dimension, not the shape []")
        return super().__new__(cls, shape, dtype)


class VarlenFeature(_Shaped):
    """A ``tf.SparseTensor`` ``[batch, *shape]``, of arrays of any length.

    Attributes:
        shape: Dimensions above 0, or -1 where the length varies.
        dtype: One of the tf dtypes int32, int64, float32, float64, string and bool.
    """

    __slots__ = ()

    def __new__(cls, shape: Sequence[int], dtype: Any) -> Self:
        _check(cls, shape, dtype, unknown=True)
        return super().__new__(cls, shape, dtype)


class VarLenFeatureWithRank:
    """``tf.io.VarLenFeature`` for lists of lists: a ``tf.SparseTensor`` of rank + 1 dimensions.

    Attributes:
        dtype: The tf dtype of the values.
        rank: The number of levels of lists: of ``[*]`` and filters in the feature's expression.
    """

    def __init__(self, dtype: Any, rank: int = 1) -> None:
        self._dtype = dtype
        self._rank = rank

    @property
    def dtype(self) -> Any:
        """The tf dtype of the values."""
        return self._dtype

    @property
    def rank(self) -> int:
        """The number of levels of lists."""
        return self._rank

    def __repr__(self) -> str:
        return f"VarLenFeatureWithRank(dtype={self._dtype!r}, rank={self._rank!r})"


_DTYPES = (tf.int32, tf.int64, tf.float32, tf.float64, tf.string, tf.bool)


def _check(cls: type, shape: Any, dtype: Any, *, unknown: bool) -> None:
    kind = cls.__name__
    if shape is None:
        raise FeatureError(f"the shape of a {kind} is None: give a list, such as [8] or []")
    for dim in shape:
        if dim is None or not (dim > 0 or (unknown and dim == -1)):
            said = "above 0, or -1 where it varies" if unknown else "above 0"
            raise FeatureError(f"the shape of a {kind} is {shape}: a dimension is {said}")
    if dtype not in _DTYPES:
        names = ", ".join(f"tf.{known.name}" for known in _DTYPES)
        raise FeatureError(f"the dtype of a {kind} is {dtype!r}: it is one of {names}")
