"""The page cache: takes files out of it, and finds out whether they are gone."""

import ctypes
import mmap
import os
import time
from collections.abc import Iterable
from pathlib import Path

from .jobs import UnableError

# Pages that the kernel is still writing or reading stay: try again later.
ATTEMPTS = 5
WAIT_SECONDS = 0.1

_LIBC = ctypes.CDLL(None, use_errno=True)


def evict(paths: Iterable[Path]) -> None:
    """Take files out of the page cache. Fails if a page of them stays."""
    left = list(paths)
    try:
        for attempt in range(ATTEMPTS):
            time.sleep(WAIT_SECONDS if attempt > 0 else 0)
            for path in left:
                _ask_to_evict(path)
            left = [path for path in left if resident_pages(path) > 0]
            if not left:
                return
        pages = sum(resident_pages(path) for path in left)
    except OSError as error:
        raise UnableError(f"the page cache cannot be controlled here: {error}") from error
    raise UnableError(f"{pages:,} pages of the files stay in the page cache")


def resident_pages(path: Path) -> int:
    """Number of pages of a file that are in the page cache."""
    size = path.stat().st_size
    if size == 0:
        return 0
    pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    # A private mapping that nobody writes to shares its pages with the page cache. Python gives the
    # address of a writable one only.
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as mapped:
        first = ctypes.c_char.from_buffer(mapped)
        start = ctypes.c_void_p(ctypes.addressof(first))
        status = _LIBC.mincore(start, ctypes.c_size_t(size), pages)
        # A mapping that is borrowed from cannot be closed.
        del first
    if status != 0:
        raise OSError(ctypes.get_errno(), "mincore: " + os.strerror(ctypes.get_errno()))
    return sum(page & 1 for page in pages)


def _ask_to_evict(path: Path) -> None:
    with path.open("rb") as file:
        # Pages that are not yet on the device cannot go.
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
