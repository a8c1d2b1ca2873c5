"""Columns as the arrays of frameworks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from atds._packages import need
from atds.errors import OptionError
from atds.strings import StringArray

#: A function that places an array on a device or sharding.
DevicePut: TypeAlias = Callable[[Any], Any]

IDS = "ask for ids with hash_buckets= or vocabulary="


def torch_tensor(torch: Any, values: Any) -> Any:
    """An array as a tensor of PyTorch over the same memory."""
    if isinstance(values, StringArray):
        raise TypeError(f"PyTorch has no strings: {IDS}")
    return torch.from_dlpack(values)


def tf_values(tf: Any, values: Any) -> Any:
    """An array as a tensor of TensorFlow."""
    if isinstance(values, StringArray):
        return tf.convert_to_tensor(values.to_numpy())
    if isinstance(values, np.ndarray):
        return tf.convert_to_tensor(values)
    return tf.bitcast(tf.convert_to_tensor(values.bits), tf.bfloat16)


def jax_arrays(values: Any, device_put: DevicePut | None = None) -> Any:
    """An array as a JAX array. It shares the memory if that is aligned and ``device_put`` is None.

    Raises:
        OptionError: The values have 64 bits, which JAX would cut to 32.
    """
    jax = need("jax", "to_jax")
    if isinstance(values, StringArray):
        raise TypeError(f"JAX has no strings: {IDS}")
    if isinstance(values, np.ndarray) and values.dtype.itemsize == 8 and not _wide(jax):
        raise OptionError(
            f"JAX would keep 32 bits of these {values.dtype} values: switch jax_enable_x64 on "
            "(jax.config.update('jax_enable_x64', True)), or ask for a dtype of 32 bits with cast="
        )
    return (device_put or jax.numpy.from_dlpack)(values)


def jax_indices(
    indices: Any, dense_shape: tuple[int, ...], device_put: DevicePut | None = None
) -> Any:
    """Indices as a JAX array; int32 unless 64 bits are enabled."""
    jax = need("jax", "to_jax")
    device_put = device_put or jax.numpy.from_dlpack
    if _wide(jax):
        return device_put(indices)
    if max(dense_shape, default=0) > np.iinfo(np.int32).max:
        raise OptionError(
            f"a dimension of the dense shape {dense_shape} is beyond 32 bits: switch "
            "jax_enable_x64 on (jax.config.update('jax_enable_x64', True))"
        )
    return device_put(indices.astype(np.int32))


def _wide(jax: Any) -> bool:
    return bool(jax.config.jax_enable_x64)
