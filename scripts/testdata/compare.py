"""Compares two folders of test data."""

import pathlib

import fastavro

# Files and folders that other scripts make.
OTHERS = ("README.md", "hash_golden.json", "java")


def differences(one, other):
    """A line for each difference; none if all files are equal byte by byte.

    Other versions of a compression library can give other bytes. So compressed payloads can differ, if
    the header and each block's record count and decompressed payload are equal.
    """
    names = sorted(
        {
            path.relative_to(root)
            for root in (one, other)
            for path in root.rglob("*")
            if path.is_file() and path.relative_to(root).parts[0] not in OTHERS
        }
    )
    for name in names:
        a, b = one / name, other / name
        if not (a.exists() and b.exists()):
            yield f"{name}: only in {one if a.exists() else other}"
        elif a.read_bytes() != b.read_bytes() and not (
            name.suffix == ".avro" and _same_blocks(a, b)
        ):
            yield f"{name}: differs"


def _same_blocks(a: pathlib.Path, b: pathlib.Path):
    try:
        return _header_and_blocks(a) == _header_and_blocks(b)
    except Exception:  # A damaged file: each codec raises its own kind.
        return False


def _header_and_blocks(path):
    with open(path, "rb") as file:
        reader = fastavro.block_reader(file)
        if reader.codec == "null":
            return path.read_bytes()
        return reader._header, [(block.num_records, block.bytes_.getvalue()) for block in reader]
