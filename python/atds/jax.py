"""Batches for JAX: dicts of ``jax.Array``, on the CPU over the memory that the pipeline wrote.

>>> import atds.jax
>>> import jax
>>> dataset = atds.Dataset(
...     "clicks/*.avro",
...     batch_size=64,
...     features={
...         "s_label": atds.DenseFeature([], "int32"),
...         "d0": atds.DenseFeature([8], "float32"),
...         "sp0": atds.SparseFeature([50_001], "float32", layout="ragged"),
...     },
...     drop_remainder=True,
... )
>>> for batch in atds.jax.iterate(dataset):
...     pass
>>> batch["d0"].shape, batch["d0"].dtype
((64, 8), dtype('float32'))
>>> ids, values, row_splits = batch["sp0"]
>>> ids.shape[1], row_splits.shape
(1, (65,))

Functions under ``jax.jit`` are compiled again for each new shape: of dense columns there is one with
``drop_remainder=True``; those of sparse and varlen columns vary with each batch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from atds import _native
from atds._convert import Place, jax_arrays, jax_indices
from atds._packages import need
from atds.dataset import Dataset
from atds.errors import OptionError
from atds.feature_sets import no_strings
from atds.features import Feature
from atds.ragged import RaggedSparseTensor, RaggedTensor
from atds.sparse import SparseTensor
from atds.specs import ArraySpec, RaggedTensorSpec, TensorSpec

if TYPE_CHECKING:
    from jax import Array, Device
    from jax.experimental.sparse import BCOO
    from jax.sharding import Sharding

    #: A column of a batch.
    Column: TypeAlias = Array | BCOO | tuple[Array, ...]

#: JAX itself, or an error that says that it is missing.
jax: Any = need("jax", "atds.jax")
_BCOO: Any = need("jax.experimental.sparse", "atds.jax").BCOO

__all__ = ["Batches", "iterate"]

#: The largest number of indices and ids where JAX has 32 bits.
_MOST = int(np.iinfo(np.int32).max)


def iterate(dataset: Dataset, device: Device | Sharding | None = None) -> Batches:
    """The batches of the next epoch of a data set, as dicts of arrays of JAX.

    ================  ===========================  ==============================================
    feature           layout                       column
    ================  ===========================  ==============================================
    dense                                          ``jax.Array`` ``[B, *shape]``
    sparse, varlen    ``coo``                      ``jax.experimental.sparse.BCOO``
    varlen            ``ragged``                   ``(values, row splits…)``, the outermost first
    sparse            ``ragged``                   ``(indices [nnz, rank], values, row splits)``
    ================  ===========================  ==============================================

    On the CPU arrays share the memory of the batch, by DLPack, and keep it. Where JAX has 32 bits,
    as it has by default, indices, row splits and the ids of ``hash_buckets=`` become int32, for
    which they are copied.

    >>> device = jax.devices("cpu")[0]
    >>> dataset = atds.Dataset("clicks/*.avro", 64, {"d0": atds.DenseFeature([8], "float32")})
    >>> batch = next(atds.jax.iterate(dataset, device))
    >>> jax.numpy.dot(batch["d0"], jax.numpy.ones(8)).shape
    (64,)

    Args:
        dataset: What is iterated over; each call is an epoch of it.
        device: The device that arrays are put on, or the sharding that all are laid out by, which
            fits dense columns with ``drop_remainder=True`` and a batch size that its devices
            divide. None for JAX's default device.

    Raises:
        OptionError: A column of 64 bits, where JAX has 32.
        FeatureError: A feature of strings, which JAX does not have.
    """
    if not isinstance(dataset, Dataset):
        raise OptionError(f"dataset must be an atds.Dataset, not {type(dataset).__name__}")
    features = dataset.features
    _check(dataset.element_spec, features)
    buckets = {name: feature.hash_buckets for name, feature in features.items()}
    return Batches(iter(dataset), buckets, _place(device))


class Batches(Iterator[dict[str, Any]]):
    """The batches of one epoch as dicts of arrays of JAX, made ahead by threads of their own.

    Several threads may take batches from it: each is given once. Dropping or closing it ends its
    threads.
    """

    def __init__(
        self, batches: _native.Batches, buckets: Mapping[str, int | None], place: Place
    ) -> None:
        self._batches = batches
        self._buckets = buckets
        self._place = place

    def __next__(self) -> dict[str, Any]:
        batch = next(self._batches)
        return {
            name: _column(column, self._buckets.get(name), self._place)
            for name, column in batch.items()
        }

    def close(self) -> None:
        """Ends the iteration: stops its threads and waits for them."""
        self._batches.close()

    def stats(self) -> dict[str, Any]:
        """Figures of the iteration up to now; see :meth:`atds.Dataset.stats`."""
        return self._batches.stats()


def _column(column: Any, buckets: int | None, place: Place) -> Column:
    """A column of a batch as JAX has it, whose values may be ids below a number of buckets."""
    if isinstance(column, SparseTensor):
        values = _values(column.values, buckets, place)
        indices = jax_indices(column.indices, column.dense_shape, place)
        coo: BCOO = _BCOO((values, indices), shape=column.dense_shape)
        return coo
    if isinstance(column, RaggedTensor):
        splits = (_row_splits(splits, place) for splits in column.row_splits)
        return (_values(column.values, buckets, place), *splits)
    if isinstance(column, RaggedSparseTensor):
        indices = jax_indices(column.indices, column.dense_shape, place)
        values = _values(column.values, buckets, place)
        return (indices, values, _row_splits(column.row_splits, place))
    array: Array = _values(column, buckets, place)
    return array


def _values(values: Any, buckets: int | None, place: Place) -> Array:
    if buckets is None:
        array: Array = jax_arrays(values, place)
    else:
        array = jax_indices(values, (buckets,), place)
    return array


def _row_splits(splits: Any, place: Place) -> Array:
    indices: Array = jax_indices(splits, (int(splits[-1]),), place)
    return indices


def _place(device: Device | Sharding | None) -> Place:
    """Puts arrays on a device, without copying where it is the one that has them already."""
    if device is None:
        device = jax.config.jax_default_device
    if isinstance(device, str):
        device = jax.local_devices(backend=device)[0]
    if _has_the_memory(jax.local_devices()[0] if device is None else device):
        from_dlpack: Place = jax.numpy.from_dlpack
        return from_dlpack
    # Without a device JAX may move arrays to that of others.
    return lambda values: jax.device_put(np.asarray(values), device)


def _has_the_memory(device: Any) -> bool:
    """Whether a device is the one that JAX takes memory of the CPU to be on."""
    is_cpu = getattr(device, "platform", None) == "cpu"
    return is_cpu and device == jax.local_devices(backend="cpu")[0]


def _check(spec: Mapping[str, TensorSpec], features: Mapping[str, Feature]) -> None:
    """Refuses columns that JAX does not have, before the first batch."""
    has_64_bits = bool(jax.config.jax_enable_x64)
    for name, column in spec.items():
        if column.dtype in ("string", "bytes"):
            raise no_strings(name, features[name], "JAX")
        is_wide = column.dtype in ("int64", "float64")
        if not has_64_bits and is_wide and not _has_few_buckets(features[name]):
            raise _loses_bits(name, column.dtype, features[name])
        if not has_64_bits and not isinstance(column, (ArraySpec, RaggedTensorSpec)):
            _check_indices(name, column.shape)


def _has_few_buckets(feature: Feature) -> bool:
    """Whether its values are ids that int32 has."""
    return feature.hash_buckets is not None and feature.hash_buckets <= _MOST


def _loses_bits(name: str, dtype: str, feature: Feature) -> OptionError:
    narrow = {"int64": "int32", "float64": "float32"}[dtype]
    if feature.hash_buckets is not None:
        instead = f", or ask for hash_buckets={_MOST} or fewer"
    elif feature.vocabulary is not None:
        instead = f", or ask for the ids of the vocabulary as dtype='{narrow}'"
    elif feature.unit is not None:
        instead = ": times in a unit= are int64"
    else:
        cast = _instead(feature, dtype=narrow, cast=True)
        instead = f", or ask for 32 bits with cast=, such as atds.{cast!r}"
    return OptionError(
        f"feature '{name}' is {dtype}, of which JAX would keep 32 bits: switch jax_enable_x64 on "
        f"(jax.config.update('jax_enable_x64', True)){instead}"
    )


def _check_indices(name: str, shape: tuple[int | None, ...]) -> None:
    if any(dim is not None and dim > _MOST for dim in shape):
        raise OptionError(
            f"feature '{name}' has the dense shape {shape}, whose indices are beyond 32 bits: "
            "switch jax_enable_x64 on (jax.config.update('jax_enable_x64', True))"
        )


def _instead(feature: Feature, **changes: Any) -> Feature:
    return dataclasses.replace(feature, **changes)
