"""Features: the values to read from a record, and the tensors they become."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from atds._feature_values import (
    dense_shape,
    fill,
    flag,
    index_keys,
    integer,
    known_name,
    partitions,
    sizes,
    text,
    words,
)
from atds.dtypes import parse_dtype
from atds.errors import FeatureError

#: Layout of a sparse or varlen column: by coordinates, or as values and row splits.
Layout: TypeAlias = Literal["coo", "ragged"]

#: Units of times, for ``unit=``.
Unit: TypeAlias = Literal["days", "hours", "minutes", "seconds", "millis", "micros", "nanos"]

#: Words with ids from 0 on: a list, or the path of a file with one word a line.
Vocabulary: TypeAlias = "Sequence[str | bytes] | os.PathLike[str]"


@dataclass(frozen=True, repr=False)
class Feature:
    """The base class of features. All subclasses take these keywords.

    Attributes:
        expression: The path expression to the values in a record, such as ``user.age``,
            ``cars[*].model`` or ``friends[gender='f'].name``; the feature's name if not given.
        default: The value of a missing value: of a null, or of an item that a list of a dense
            feature lacks. A single value, or, for a dense feature, nested lists or an array of its
            shape.
        mask: The name of a bool column that is true where a value was present.
        row_mask: The name of a bool column ``[B]`` that is false where the whole feature was
            missing.
        truncate: Whether a list that is longer than its dimension is truncated instead of an error.
            A :class:`VarlenFeature` then also accepts shorter lists, and a :class:`SparseFeature`
            drops entries with an index beyond its dimension. The statistics count truncated lists
            in ``truncated_lists``.
        cast: Whether numbers of another type are cast to the dtype.
        hash_buckets: The number of hash buckets: values become int64 ids below it, the same ids as
            from ``tf.strings.to_hash_bucket_fast``.
        vocabulary: A list of words, or a file of words: values become their int64 ids.
        unknown: The id of values that are not in the vocabulary, -1 if not given.
        unit: The unit of time: dates and times become int64 in it.
    """

    expression: str | None = field(default=None, kw_only=True)
    default: Any = field(default=None, kw_only=True)
    mask: str | None = field(default=None, kw_only=True)
    row_mask: str | None = field(default=None, kw_only=True)
    truncate: bool = field(default=False, kw_only=True)
    cast: bool = field(default=False, kw_only=True)
    hash_buckets: int | None = field(default=None, kw_only=True)
    vocabulary: Vocabulary | None = field(default=None, kw_only=True)
    unknown: int | None = field(default=None, kw_only=True)
    unit: Unit | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {"dtype": parse_dtype(vars(self).get("dtype"))}
        for key in ("expression", "mask", "row_mask"):
            value = getattr(self, key)
            if value is not None:
                checked[key] = text(key, value)
        for key in _FLAGS:
            checked[key] = flag(key, getattr(self, key))
        if self.default is not None:
            checked["default"] = fill(self.default)
        if self.vocabulary is not None:
            checked["vocabulary"] = words(self.vocabulary)
        for key in ("hash_buckets", "unknown"):
            value = getattr(self, key)
            if value is not None:
                checked[key] = integer(key, value)
        if self.unit is not None:
            known_name("unit", self.unit, Unit)
        self._set(**checked)

    def _set(self, **checked: Any) -> None:
        """Replaces attributes by checked values."""
        for key, value in checked.items():
            object.__setattr__(self, key, value)

    def _entry(self) -> dict[str, Any]:
        """The feature's entry in a features file."""
        entry = {"dtype": vars(self)["dtype"]}
        for key in ("expression", "default", "mask", "row_mask", "truncate", *_CONVERSIONS):
            value = getattr(self, key)
            # Flags that are False are left out, but a default may be False.
            if value is not None and (key not in _FLAGS or value):
                entry[key] = value
        return entry

    def __repr__(self) -> str:
        parts = (
            f"{part.name}={value!r}"
            for part in sorted(dataclasses.fields(self), key=lambda part: bool(part.kw_only))
            if (value := getattr(self, part.name)) != part.default
            and not (part.name == "default" and hasattr(self, "default_value"))
        )
        return f"{type(self).__name__}({', '.join(parts)})"


_FLAGS = ("truncate", "cast")
_CONVERSIONS = ("cast", "hash_buckets", "vocabulary", "unknown", "unit")


@dataclass(frozen=True, repr=False)
class DenseFeature(Feature):
    """A tensor ``[B, *shape]``: every record has a value for each element.

    An array of another length is an error, with two exceptions: a default or a mask fills up a
    shorter array, and ``truncate=True`` truncates a longer one. A dimension of None is the longest
    in the batch, and needs a default or a mask.

    >>> atds.DenseFeature([8], "float32")
    DenseFeature(shape=(8,), dtype='float32')
    >>> atds.DenseFeature([512], "int64", truncate=True, default=0)
    DenseFeature(shape=(512,), dtype='int64', default=0, truncate=True)
    >>> atds.DenseFeature([], int, expression="user.age", default=-1, mask="has_age")
    DenseFeature(shape=(), dtype='int64', expression='user.age', default=-1, mask='has_age')

    Attributes:
        shape: The dimensions of a row, without the batch; ``[]`` is a scalar.
        dtype: A NumPy dtype, its name, or a framework's own dtype.
    """

    shape: Any
    dtype: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(shape=dense_shape(self.shape))

    def _entry(self) -> dict[str, Any]:
        return super()._entry() | {"kind": "dense", "shape": self.shape}


@dataclass(frozen=True, repr=False)
class VarlenFeature(Feature):
    """Lists of any length, as in ATDS.

    The layout ``coo`` gives a :class:`SparseTensor` with indices int64 ``[nnz, rank + 1]``, values
    ``[nnz]`` and a dense shape of rank + 1 dimensions. The layout ``ragged`` gives a
    :class:`RaggedTensor`.

    Attributes:
        shape: A dimension for each level of lists; -1 or None where the length varies. If the shape
            itself is None, there is a level of any length for each ``[*]`` and filter of the
            expression.
        dtype: A NumPy dtype, its name, or a framework's own dtype.
        layout: ``coo`` or ``ragged``.
    """

    shape: Any
    dtype: Any
    layout: Layout = "coo"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape is not None:
            self._set(shape=sizes("shape", self.shape))
        known_name("layout", self.layout, Layout)

    def _entry(self) -> dict[str, Any]:
        kind = {"kind": "varlen", "layout": self.layout}
        shape = {} if self.shape is None else {"shape": self.shape}
        return super()._entry() | kind | shape


@dataclass(frozen=True, repr=False)
class SparseFeature(Feature):
    """Values, each with its index in a sparse tensor.

    There are two forms:

    - ``SparseFeature(shape, dtype)``, as in ATDS: a record of arrays ``indices0``.. and ``values``.
    - ``SparseFeature(index_key=.., value_key=.., dtype=.., size=..)``, as in TensorFlow: the
      expression leads to a record or an array of records. Each record is an entry with its indices
      at ``index_key`` and its value at ``value_key``. Entries are sorted by index unless
      ``already_sorted``.

    The layout ``coo`` gives a :class:`SparseTensor` with indices int64 ``[nnz, rank + 1]``, values
    ``[nnz]`` and a dense shape of rank + 1 dimensions. The layout ``ragged`` gives a
    :class:`RaggedSparseTensor`.

    >>> atds.SparseFeature([50_001], "float32")
    SparseFeature(shape=(50001,), dtype='float32')
    >>> atds.SparseFeature(index_key="id", value_key="power", dtype="float32", size=1000,
    ...                    expression="cars[*].engine")
    SparseFeature(dtype='float32', expression='cars[*].engine', index_key=('id',), \
value_key='power', size=(1000,))

    Attributes:
        shape: A dimension for each index; -1 or None where any index is valid.
        dtype: A NumPy dtype, its name, or a framework's own dtype.
        layout: ``coo`` or ``ragged``.
        index_key: The path to an entry's index, or a list of paths.
        value_key: The path to an entry's value.
        size: The dimension of the index, or a list with one dimension for each key.
        already_sorted: Whether to keep the order of the entries instead of sorting them.
    """

    shape: Any = None
    dtype: Any = None
    layout: Layout = "coo"
    index_key: str | Sequence[str] | None = field(default=None, kw_only=True)
    value_key: str | None = field(default=None, kw_only=True)
    size: Any = field(default=None, kw_only=True)
    already_sorted: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        known_name("layout", self.layout, Layout)
        self._set(already_sorted=flag("already_sorted", self.already_sorted))
        of_keys = (self.index_key, self.value_key, self.size)
        if self.shape is None and None in of_keys:
            raise FeatureError(
                "a SparseFeature needs a shape (of a record of indices0.. and values), or all of "
                "index_key, value_key and size"
            )
        if self.shape is None:
            self._set(
                index_key=index_keys(self.index_key),
                value_key=text("value_key", self.value_key),
                size=sizes("size", self.size),
            )
            return
        if of_keys != (None, None, None):
            raise FeatureError(
                "a SparseFeature has a shape, or index_key, value_key and size, but not both"
            )
        self._set(shape=sizes("shape", self.shape))

    def _entry(self) -> dict[str, Any]:
        entry = super()._entry() | {"kind": "sparse", "layout": self.layout}
        if self.shape is not None:
            return entry | {"shape": self.shape}
        return entry | {
            "index_key": self.index_key,
            "value_key": self.value_key,
            "size": self.size,
            "already_sorted": self.already_sorted,
        }


@dataclass(frozen=True, repr=False)
class FixedLenFeature(Feature):
    """TensorFlow's feature of fixed length: a tensor ``[B, *shape]``.

    A list may fill several dimensions, in row-major order. A dimension of None is the longest in
    the batch, and a default fills up shorter lists. Without a default and a mask all lists of a
    batch must have one length; otherwise a :class:`DataError` names the records and their shapes.

    Attributes:
        shape: The dimensions of a row, without the batch.
        dtype: A NumPy dtype, its name, or a framework's own dtype.
        default_value: The value of missing values: a single value, or an array of the shape.
    """

    shape: Any
    dtype: Any
    default_value: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(shape=dense_shape(self.shape), **_default_value(self, self.default_value))

    def _entry(self) -> dict[str, Any]:
        return super()._entry() | {"kind": "fixed_len", "shape": self.shape}


@dataclass(frozen=True, repr=False)
class FixedLenSequenceFeature(Feature):
    """TensorFlow's feature of sequences: a tensor ``[B, *shape]`` in which gaps are filled.

    Attributes:
        shape: The dimensions of a row, without the batch; None where the length varies.
        dtype: A NumPy dtype, its name, or a framework's own dtype.
        allow_missing: Whether shorter lists and missing values are filled, with the default or 0,
            false or the empty string.
        default_value: The value that fills gaps.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(allow_missing=flag("allow_missing", self.allow_missing))
        self._set(shape=dense_shape(self.shape), **_default_value(self, self.default_value))

    def _entry(self) -> dict[str, Any]:
        kind = {"kind": "fixed_len_sequence", "allow_missing": self.allow_missing}
        return super()._entry() | kind | {"shape": self.shape}


@dataclass(frozen=True, repr=False)
class VarLenFeature(Feature):
    """TensorFlow's feature of varying length: a :class:`SparseTensor` of rank + 1 dimensions.

    Attributes:
        dtype: A NumPy dtype, its name, or a framework's own dtype.
        rank: The number of levels of lists; None for the number of ``[*]`` and filters in the
            expression.
        layout: ``coo``, or ``ragged`` for a :class:`RaggedTensor`.
        shape: In place of ``rank`` a dimension for each level of lists, -1 or None where the
            length varies.
        partitions: Of a key of TFRecord files, with the layout ``ragged``: what divides its values
            into lists of lists, the outermost first, as in ``tf.io.RaggedFeature``. Each is a pair
            of its name and the key of its numbers: ``("row_splits", key)``, also of
            ``row_lengths``, ``row_starts``, ``row_limits`` and ``value_rowids``; or
            ``("uniform_row_length", length)``.
    """

    dtype: Any
    rank: int | None = 1
    layout: Layout = "coo"
    shape: Any = field(default=None, kw_only=True)
    partitions: Sequence[tuple[str, str | int]] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        known_name("layout", self.layout, Layout)
        self._set(partitions=partitions(self.partitions))
        if self.partitions:
            if self.layout != "ragged" or self.rank not in (None, 1) or self.shape is not None:
                raise FeatureError(
                    "partitions= need layout='ragged', and give the levels of lists: leave rank= "
                    "and shape= out"
                )
            self._set(rank=None)
        if self.shape is not None:
            self._set(shape=sizes("shape", self.shape))
            self._set(rank=len(self.shape))
        if self.rank is None:
            return
        self._set(rank=integer("rank", self.rank))
        if self.rank < 0:
            raise FeatureError(f"rank is the levels of lists, 0 or more, not {self.rank}")

    def _entry(self) -> dict[str, Any]:
        kind: dict[str, Any] = {"kind": "var_len", "layout": self.layout}
        if self.partitions:
            kind["partitions"] = self.partitions
        if self.shape is not None:
            return super()._entry() | kind | {"shape": self.shape}
        return super()._entry() | kind | ({} if self.rank is None else {"rank": self.rank})


def _default_value(feature: Feature, value: Any) -> dict[str, Any]:
    """The default under both names: ``default`` and TensorFlow's ``default_value``."""
    if value is None:
        return {"default_value": feature.default}
    value = fill(value)
    if feature.default not in (None, value):
        raise FeatureError("default and default_value are the same: give one of them")
    return {"default_value": value, "default": value}
