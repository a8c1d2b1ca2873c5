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

Functions under ``jax.jit`` are compiled again for each new shape. With ``drop_remainder=True`` a
dense column has one shape. A sparse column also needs ``nse=`` for that. The shapes of other
columns vary with each batch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from atds import _native, _options
from atds._convert import DevicePut, jax_arrays, jax_indices
from atds._options import Shard
from atds._packages import need
from atds.bfloat16 import BFloat16Array
from atds.dataset import Dataset
from atds.errors import OptionError
from atds.feature_sets import ASK_FOR_IDS, is_string, leave_out, no_strings
from atds.features import Feature
from atds.ragged import RaggedSparseTensor, RaggedTensor
from atds.sparse import SparseTensor
from atds.specs import ArraySpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec

if TYPE_CHECKING:
    from jax import Array, Device
    from jax.experimental.sparse import BCOO
    from jax.sharding import Sharding
    from typing_extensions import Self

    #: A column of a batch.
    Column: TypeAlias = Array | BCOO | tuple[Array, ...]

#: The module ``jax``. If it is missing, the import fails with a helpful error.
jax: Any = need("jax", "atds.jax")
_BCOO: Any = need("jax.experimental.sparse", "atds.jax").BCOO

__all__ = ["Batches", "iterate"]

#: The largest number of indices and ids that JAX can hold in 32 bits.
_MOST = int(np.iinfo(np.int32).max)


def iterate(
    dataset: Dataset,
    device: Device | Sharding | None = None,
    *,
    shard: Shard | None = None,
    nse: int | Mapping[str, int] | None = None,
) -> Batches:
    """The batches of the next epoch of a data set, or of its next ``epochs``, as dicts of JAX arrays.

    ================  ===========================  ==============================================
    feature           layout                       column
    ================  ===========================  ==============================================
    dense                                          ``jax.Array`` ``[B, *shape]``
    sparse, varlen    ``coo``                      ``jax.experimental.sparse.BCOO``
    varlen            ``ragged``                   ``(values, row splits…)``, the outermost first
    sparse            ``ragged``                   ``(indices [nnz, rank], values, row splits)``
    ================  ===========================  ==============================================

    On the CPU arrays share the memory of the batch by DLPack, and keep it alive. Unless 64 bits are
    enabled in JAX, indices, row splits and the ids of ``hash_buckets=`` are copied to int32.

    With ``nse=`` each ``BCOO`` has this number of entries. It is filled up with zeros at indices
    outside the shape, which JAX ignores, and its ``mask=`` with false. So a function under
    ``jax.jit`` is compiled once:

    >>> dataset = atds.Dataset(
    ...     "clicks/*.avro", 64, {"sp0": atds.SparseFeature([50_001], "float32")}, drop_remainder=True
    ... )
    >>> step = jax.jit(lambda sp0: sp0.sum())
    >>> for batch in atds.jax.iterate(dataset, nse={"sp0": 1024}):
    ...     total = step(batch["sp0"])
    >>> batch["sp0"].nse, batch["sp0"].shape
    (1024, (64, 50001))

    >>> device = jax.devices("cpu")[0]
    >>> dataset = atds.Dataset("clicks/*.avro", 64, {"d0": atds.DenseFeature([8], "float32")})
    >>> batch = next(atds.jax.iterate(dataset, device))
    >>> jax.numpy.dot(batch["d0"], jax.numpy.ones(8)).shape
    (64,)

    Args:
        dataset: The data set. Each call starts its next epoch, or its next ``epochs``.
        device: The device or sharding of all arrays; None for JAX's default device. A sharding
            needs dense columns, ``drop_remainder=True``, and a batch size that is a multiple of its
            devices.
        shard: The index of the shard that this process reads, and the number of shards, such as
            ``(jax.process_index(), jax.process_count())``; None for all records. Shards can differ
            by one batch, see :class:`atds.Dataset`.
        nse: The number of entries of each ``BCOO``, or a dict with the number for some columns by
            name; None for the number of entries in each batch. A batch with more entries ends the
            iteration with an error that names the number. The columns must have a fixed shape.

    Raises:
        OptionError: A feature has 64 bits, which are not enabled in JAX. Inferred features of 64
            bits are left out with a warning in the log.
        FeatureError: A feature has strings, which JAX does not have. Inferred features of strings
            are left out with a warning; the error is raised if no others were inferred.
    """
    if not isinstance(dataset, Dataset):
        raise OptionError(f"dataset must be an atds.Dataset, not {type(dataset).__name__}")
    shard = dataset._checked_shard(shard)
    chosen = _without_what_jax_lacks(dataset)
    features = chosen.features
    _check(chosen.element_spec, features)
    buckets = {name: feature.hash_buckets for name, feature in features.items()}
    entries = _entries(nse, chosen.element_spec)
    native = chosen._here
    if shard is not None:
        native = dataset._part(native, shard)
    is_part = shard is not None
    return Batches(dataset._next_epoch(native, is_part), buckets, _device_put(device), entries)


class Batches(Iterator[dict[str, Any]]):
    """The batches of an iteration as dicts of JAX arrays, prefetched by its threads.

    Several threads may take batches from one iterator: each batch is yielded once. Its threads end
    when it is dropped or closed, or at the end of a ``with`` block.
    """

    def __init__(
        self,
        batches: _native.Batches,
        buckets: Mapping[str, int | None],
        device_put: DevicePut,
        entries: Mapping[str, int],
    ) -> None:
        self._batches = batches
        self._buckets = buckets
        self._device_put = device_put
        self._entries = entries

    def __next__(self) -> dict[str, Any]:
        batch = next(self._batches)
        for name, entries in self._entries.items():
            found = len(batch[name].values)
            if found > entries:
                # This batch would be lost, so the iteration ends, and a state is before it.
                self._batches.stats_handle().refuse()
                self.close()
                raise OptionError(
                    f"feature '{name}' has {found} entries in a batch, more than nse={entries}: "
                    f"give nse={found} or more, or a smaller batch_size"
                )
            batch[name] = _padded(batch[name], entries)
            for mask, owner in batch.masks.items():
                if owner == name:
                    batch[mask] = np.pad(batch[mask], (0, entries - found))
        return {
            name: _column(column, self._buckets.get(name), self._device_put)
            for name, column in batch.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._batches).replace("atds.Batches", "atds.jax.Batches", 1)

    def _repr_html_(self) -> str:
        return self._batches._repr_html_().replace("atds.Batches", "atds.jax.Batches", 1)

    def close(self) -> None:
        """Ends the iteration: stops its threads and waits for them."""
        self._batches.close()

    def state_dict(self) -> dict[str, Any]:
        """Where the iterator is, after the last batch that it has yielded; see
        :meth:`atds.Dataset.state_dict`."""
        return self._batches.state_dict()

    def get_state(self) -> dict[str, Any]:
        """As :meth:`state_dict`."""
        return self.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state of the same data set and ``shard``, whatever was yielded before. If no
        ``seed`` was given, the iterator takes that of the state.

        Raises:
            StateError: As for :meth:`atds.Dataset.load_state_dict`.
        """
        self._batches.load_state_dict(state)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """As :meth:`load_state_dict`."""
        self.load_state_dict(state)

    def stats(self) -> dict[str, Any]:
        """Figures of the iteration up to now; see :meth:`atds.Dataset.stats`."""
        return self._batches.stats()


def _column(column: Any, buckets: int | None, device_put: DevicePut) -> Column:
    """A column as JAX arrays. If ``buckets`` is given, the values are ids below it."""
    if isinstance(column, SparseTensor):
        values = _values(column.values, buckets, device_put)
        indices = jax_indices(column.indices, column.dense_shape, device_put)
        coo: BCOO = _BCOO((values, indices), shape=column.dense_shape)
        return coo
    if isinstance(column, RaggedTensor):
        splits = (_row_splits(splits, device_put) for splits in column.row_splits)
        return (_values(column.values, buckets, device_put), *splits)
    if isinstance(column, RaggedSparseTensor):
        indices = jax_indices(column.indices, column.dense_shape, device_put)
        values = _values(column.values, buckets, device_put)
        return (indices, values, _row_splits(column.row_splits, device_put))
    array: Array = _values(column, buckets, device_put)
    return array


def _padded(column: SparseTensor, entries: int) -> SparseTensor:
    """A column filled up to ``entries`` entries, with zeros at indices outside its shape."""
    indices, values, dense_shape = column
    missing = entries - len(values)
    outside = np.tile(np.array(dense_shape, np.int64), (missing, 1))
    is_bfloat16 = isinstance(values, BFloat16Array)
    numbers = values.bits if is_bfloat16 else values
    numbers = np.concatenate([numbers, np.zeros(missing, numbers.dtype)])
    return SparseTensor(
        np.concatenate([indices, outside]),
        BFloat16Array(numbers) if is_bfloat16 else numbers,
        dense_shape,
    )


def _values(values: Any, buckets: int | None, device_put: DevicePut) -> Array:
    if buckets is None:
        array: Array = jax_arrays(values, device_put)
    else:
        array = jax_indices(values, (buckets,), device_put)
    return array


def _row_splits(splits: Any, device_put: DevicePut) -> Array:
    indices: Array = jax_indices(splits, (int(splits[-1]),), device_put)
    return indices


def _device_put(device: Device | Sharding | None) -> DevicePut:
    """A function that places arrays on a device. Arrays that are there already are not copied."""
    if device is None:
        device = jax.config.jax_default_device
    if isinstance(device, str):
        device = jax.local_devices(backend=device)[0]
    if _has_the_memory(jax.local_devices()[0] if device is None else device):
        from_dlpack: DevicePut = jax.numpy.from_dlpack
        return from_dlpack
    # Without a device, JAX may move arrays to the device of other operands.
    return lambda values: jax.device_put(np.asarray(values), device)


def _has_the_memory(device: Any) -> bool:
    """Whether a device is the CPU device on which JAX imports arrays."""
    is_cpu = getattr(device, "platform", None) == "cpu"
    return is_cpu and device == jax.local_devices(backend="cpu")[0]


def _entries(nse: Any, spec: Mapping[str, TensorSpec]) -> dict[str, int]:
    """The fixed number of entries, for each column that has one."""
    sparse = [name for name, column in spec.items() if isinstance(column, SparseTensorSpec)]
    if nse is None:
        return {}
    if not isinstance(nse, Mapping):
        nse = dict.fromkeys(sparse, _options.optional("nse", nse, 0, _MOST))
        if not sparse:
            raise OptionError("nse is given, but no column is a BCOO: leave it out")
    for name, entries in nse.items():
        _options.whole(f"nse of '{name}'", entries, 0, _MOST)
        if name not in sparse:
            raise OptionError(
                f"nse is given for {name!r}, which is not a BCOO column; the BCOO columns are "
                f"{', '.join(map(repr, sparse)) or 'none'}"
            )
        shape = spec[name].shape[1:]
        if None in shape:
            raise OptionError(
                f"feature '{name}' has a dimension that varies from batch to batch, {shape}, so "
                "that nse= cannot fix its shape: give nse= as a dict of the other columns"
            )
    return {name: int(entries) for name, entries in nse.items()}


def _without_what_jax_lacks(dataset: Dataset) -> Dataset:
    """The data set without inferred columns that JAX cannot hold."""
    if not dataset._is_inferred:
        return dataset
    has_64_bits = bool(jax.config.jax_enable_x64)
    features = dataset.features
    strings = {name for name, feature in features.items() if is_string(feature)}
    spec = dataset.element_spec
    dtypes = {
        name: column.dtype
        for name, column in spec.items()
        if name in strings or (not has_64_bits and column.dtype in _WIDE)
    }
    if not dtypes:
        return dataset
    names = frozenset(dtypes)
    if dataset._less is None or dataset._less[0] != names:
        remedies = [ASK_FOR_IDS] if strings else []
        if len(dtypes) > len(strings):
            remedies.append(
                "switch jax_enable_x64 on (jax.config.update('jax_enable_x64', True)) or ask for "
                "32 bits with cast="
            )
        leave_out(dtypes, len(dtypes) == len(spec), "JAX", "; ".join(remedies))
    return dataset._without(names)


#: The dtypes of 64 bits, which JAX disables by default, with their replacements.
_WIDE = ("int64", "float64")


def _check(spec: Mapping[str, TensorSpec], features: Mapping[str, Feature]) -> None:
    """Raises an error for columns that JAX cannot hold, before the first batch."""
    has_64_bits = bool(jax.config.jax_enable_x64)
    for name, column in spec.items():
        if column.dtype in ("string", "bytes"):
            raise no_strings(name, features[name], "JAX")
        is_wide = column.dtype in _WIDE
        if not has_64_bits and is_wide and not _has_few_buckets(features[name]):
            raise _loses_bits(name, column.dtype, features[name])
        if not has_64_bits and not isinstance(column, (ArraySpec, RaggedTensorSpec)):
            _check_indices(name, column.shape)


def _has_few_buckets(feature: Feature) -> bool:
    """Whether the feature's values are ids that fit int32."""
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
