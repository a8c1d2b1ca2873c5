"""Helpers that build schemas and features."""


def record(name, fields, **attributes):
    return {"type": "record", "name": name, **attributes, "fields": fields}


def field(name, avro_type, **attributes):
    return {"name": name, "type": avro_type, **attributes}


def array(items):
    return {"type": "array", "items": items}


def nested(avro_type, rank):
    """The type, nested in `rank` arrays."""
    return array(nested(avro_type, rank - 1)) if rank else avro_type


def sparse_value(name, avro_type, index_types, order):
    """The record of a sparse feature, with its fields in the given order."""
    types = {
        "values": array(avro_type),
        **{f"indices{i}": array(each) for i, each in enumerate(index_types)},
    }
    return record(name, [field(each, types[each]) for each in order])


def dense(shape, dtype):
    return {"kind": "dense", "shape": shape, "dtype": dtype}


def sparse(shape, dtype):
    return {"kind": "sparse", "shape": shape, "dtype": dtype}


def varlen(shape, dtype):
    return {"kind": "varlen", "shape": shape, "dtype": dtype}
