"""Arrays of bfloat16, which NumPy lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from atds import _native
from atds._packages import need


class BFloat16Array:
    """An array of bfloat16 over the batch's memory.

    Frameworks that have the dtype convert it by DLPack without copying: ``torch.from_dlpack(x)``,
    ``jax.numpy.from_dlpack(x)``.

    Attributes:
        bits: A uint16 array of the values' bits, of the same shape, over the same memory.
    """

    __slots__ = ("bits",)

    def __init__(self, bits: np.ndarray[Any, np.dtype[np.uint16]]) -> None:
        self.bits = bits

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        shape: tuple[int, ...] = self.bits.shape
        return shape

    @property
    def dtype(self) -> str:
        """``bfloat16``."""
        return "bfloat16"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.bits.ndim

    @property
    def size(self) -> int:
        """The number of values."""
        return self.bits.size

    @property
    def nbytes(self) -> int:
        """The size of the values in bytes."""
        return self.bits.nbytes

    def to_numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """An array over the same memory, of the dtype that ``ml_dtypes`` adds to NumPy.

        Raises:
            MissingPackageError: ``ml_dtypes`` is not installed.
        """
        ml_dtypes = need("ml_dtypes", "bfloat16 in NumPy")
        return self.bits.view(ml_dtypes.bfloat16)

    def to_float32(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """A copy as float32, which has every value of bfloat16."""
        return (self.bits.astype(np.uint32) << 16).view(np.float32)

    def tolist(self) -> Any:
        """The values as nested lists, as ``numpy.ndarray.tolist`` returns them."""
        return self.to_float32().tolist()

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule over the same memory, on the CPU."""
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the memory is the CPU's, and not of the device {dl_device}")
        return _native.bfloat16_dlpack(self.bits.copy() if copy else self.bits)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's device: the CPU."""
        return (1, 0)

    def __array__(
        self, dtype: Any = None, copy: bool | None = None
    ) -> np.ndarray[Any, np.dtype[Any]]:
        array = self.to_numpy()
        if dtype is None or dtype == array.dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError(f"bfloat16 cannot be {np.dtype(dtype)} without a copy")
        return array.astype(dtype)

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, index: Any) -> BFloat16Array:
        """Part of the array, as an array."""
        return BFloat16Array(np.asarray(self.bits[index]))

    def __repr__(self) -> str:
        return f"BFloat16Array({np.array2string(self.to_float32(), separator=', ')})"

    def __reduce__(self) -> tuple[Any, ...]:
        return BFloat16Array, (self.bits,)
