"""Decompression libraries alone, on the blocks of Avro files, one by one."""

import importlib.metadata
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import deflate
from isal import isal_zlib
from zlib_ng import zlib_ng

from .protocol import files_of, serve

# A limit above the decompressed size of each block.
MOST_BYTES = 1 << 20
RAW = -15

INFLATERS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "libdeflate": (lambda payload: deflate.deflate_decompress(payload, MOST_BYTES), "deflate"),
    "ISA-L": (lambda payload: isal_zlib.decompress(payload, wbits=RAW), "isal"),
    "zlib-ng": (lambda payload: zlib_ng.decompress(payload, wbits=RAW), "zlib-ng"),
    "zlib": (lambda payload: zlib.decompress(payload, wbits=RAW), ""),
}


def blocks(file: bytes) -> Iterator[tuple[int, bytes]]:
    """The count and the payload of each block of a container file (Avro 1.12, "Object Container
    Files")."""
    at = len(b"Obj\x01")
    while entries := (found := long(file, at))[0]:
        at = found[1]
        for _ in range(2 * entries):
            length, at = long(file, at)
            at += length
    at = found[1] + 16
    while at < len(file):
        count, at = long(file, at)
        length, at = long(file, at)
        yield count, file[at : at + length]
        at += length + 16


def long(file: bytes, at: int) -> tuple[int, int]:
    """The number at a position, and the position after it."""
    shift = number = 0
    while True:
        byte = file[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at


def main() -> None:
    """Serve the library that the command line names."""
    (name,) = sys.argv[1:]
    inflate, package = INFLATERS[name]
    version = importlib.metadata.version(package) if package else zlib.ZLIB_RUNTIME_VERSION
    known: dict[tuple[str, ...], list[tuple[int, bytes]]] = {}

    def epoch(job: dict) -> tuple[int, float]:
        files = tuple(files_of(job))
        if files not in known:
            known[files] = [block for file in files for block in blocks(Path(file).read_bytes())]
        start = time.perf_counter()
        for _, payload in known[files]:
            inflate(payload)
        seconds = time.perf_counter() - start
        return sum(count for count, _ in known[files]), seconds

    serve({name: version}, epoch)


if __name__ == "__main__":
    main()
