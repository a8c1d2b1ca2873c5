"""Records as JSON lines, for each Avro type: the output of `atds head`, except for the form of numbers."""

import json
import math


def json_line(record):
    """One record: bytes and fixed as ISO-8859-1 text, union values plain, NaN and infinities as strings."""
    return json.dumps(_plain(record), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("iso-8859-1")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
