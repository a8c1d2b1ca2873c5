"""The expected tensors of a file, computed from the records that fastavro reads.

The rules are those of the original ATDS reader: dense, sparse and varlen features, the whole file as
one batch of N rows. The code is simple rather than fast, and shares nothing with the Rust code.
"""

import struct


def columns(records, features):
    """The column of each feature, for `records` as one batch."""
    build = {"dense": _dense, "sparse": _sparse, "varlen": _varlen}
    return {
        name: build[feature["kind"]]([_field(record, name) for record in records], feature)
        for name, feature in sorted(features.items())
    }


def _field(record, dotted):
    for name in dotted.split("."):
        record = record[name]
    assert record is not None, f"{dotted}: a null"
    return record


def _dense(rows, feature):
    """All values of `[N, d1..dr]` in row-major order."""
    shape, values = feature["shape"], []
    for row in rows:
        _flatten(row, shape, values)
    return {
        "shape": [len(rows), *shape],
        "values": [_encode(value, feature["dtype"]) for value in values],
    }


def _flatten(node, shape, values):
    if not shape:
        values.append(node)
        return
    assert len(node) == shape[0], f"{len(node)} items where the shape says {shape[0]}"
    for item in node:
        _flatten(item, shape[1:], values)


def _sparse(rows, feature):
    """COO: `[row, index0, index1, ..]` per value in document order; `row_splits` bound each row's values."""
    rank = len(feature["shape"])
    indices, values, splits = [], [], [0]
    for number, row in enumerate(rows):
        assert set(row) == {"values"} | {f"indices{i}" for i in range(rank)}
        by_dimension = [row[f"indices{i}"] for i in range(rank)]
        assert all(len(each) == len(row["values"]) for each in by_dimension)
        for k, value in enumerate(row["values"]):
            index = [each[k] for each in by_dimension]
            assert all(0 <= i < size for i, size in zip(index, feature["shape"], strict=True))
            indices.append([number, *index])
            values.append(_encode(value, feature["dtype"]))
        splits.append(len(values))
    return {
        "indices": indices,
        "values": values,
        "dense_shape": [len(rows), *feature["shape"]],
        "row_splits": [splits],
    }


def _varlen(rows, feature):
    """COO with the position of each value, and a list of row splits for each level, rows first.

    A dimension of -1 becomes the largest index of a value plus one. Empty arrays do not count, so the
    dimension is 0 without values.
    """
    shape = feature["shape"]
    splits = [[0] for _ in shape]
    indices, values = [], []

    def walk(node, level, place):
        if level == len(shape):
            indices.append(place)
            values.append(_encode(node, feature["dtype"]))
            return
        assert shape[level] in (-1, len(node)), (
            f"{len(node)} items where the shape says {shape[level]}"
        )
        splits[level].append(splits[level][-1] + len(node))
        for i, item in enumerate(node):
            walk(item, level + 1, [*place, i])

    for number, row in enumerate(rows):
        walk(row, 0, [number])
    dense_shape = [len(rows)]
    for dimension, size in enumerate(shape, start=1):
        dense_shape.append(
            size if size != -1 else max((place[dimension] + 1 for place in indices), default=0)
        )
    return {"indices": indices, "values": values, "dense_shape": dense_shape, "row_splits": splits}


def _encode(value, dtype):
    """Exact values: floats as hex digits of their IEEE 754 bits, strings as hex digits of their bytes."""
    if dtype == "float32":
        return f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08x}"
    if dtype == "float64":
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"
    if dtype == "string":
        return (value.encode() if isinstance(value, str) else value).hex()
    assert isinstance(value, bool) == (dtype == "bool")
    return value
