"""The rank of this process, and the number of ranks."""

from __future__ import annotations

import os

import torch

from atds import _options
from atds.errors import OptionError


def given(rank: int | None, world_size: int | None) -> tuple[int, int] | None:
    """The rank and the number of ranks that a user gave, or None.

    Raises:
        OptionError: Only one of both is given, or the rank is not below the number of ranks.
    """
    if rank is None and world_size is None:
        return None
    if rank is None or world_size is None:
        raise OptionError("rank and world_size must be given together, or neither")
    size = _options.whole("world_size", world_size, 1)
    return _options.whole("rank", rank, 0, size - 1, ", below world_size"), size


def distributed() -> tuple[int, int] | None:
    """The rank and the number of ranks of ``torch.distributed``; None if it is not initialised."""
    module = torch.distributed
    if module.is_available() and module.is_initialized():
        return module.get_rank(), module.get_world_size()
    return None


def launched() -> tuple[int, int] | None:
    """The rank and the number of ranks that ``torchrun`` put into the environment, or None.

    Other launchers are recognised if they set all variables that
    ``torch.distributed.init_process_group()`` needs.
    """
    environment = os.environ
    is_launched = "TORCHELASTIC_RUN_ID" in environment or (
        "MASTER_ADDR" in environment and "MASTER_PORT" in environment
    )
    rank, size = environment.get("RANK", ""), environment.get("WORLD_SIZE", "")
    if is_launched and rank.isdecimal() and size.isdecimal() and int(rank) < int(size) > 1:
        return int(rank), int(size)
    return None
