#!/usr/bin/env python3
"""Makes testdata/hash_golden.json: the ids that TensorFlow gives to strings and numbers.

    pip install tensorflow
    python scripts/make_hash_golden.py [FILE]

The ids come from `tf.strings.to_hash_bucket_fast`; numbers go through `tf.strings.as_string` first.
TensorFlow is large and the ids never change, so `make check` does not run this.
"""

import argparse
import json
import pathlib
import random

import tensorflow as tf

BUCKETS = [1, 10, 1_000_003, 2**31, 2**63 - 1]
WORDS = ["a", "male", "female", "hello, world", "naïve", "東京", "🦀", "\0", "-1", "0"]
INTS = [0, 1, -1, 9, 10, -10, 12345, -54321, 2**31 - 1, -(2**31)]
LONGS = INTS + [2**31, -(2**31) - 1, 10**12, -(10**18), 2**63 - 1, -(2**63)]


def main():
    parser = argparse.ArgumentParser(
        description="Makes golden ids of hashed strings with TensorFlow."
    )
    default = pathlib.Path(__file__).parents[1] / "testdata" / "hash_golden.json"
    parser.add_argument("file", nargs="?", type=pathlib.Path, default=default)
    arguments = parser.parse_args()

    golden = {
        "made_by": f"tensorflow {tf.__version__}",
        "buckets": BUCKETS,
        "strings": [{"hex": string.hex(), "ids": ids} for string, ids in hashed(list(strings()))],
        "int": [{"value": value, "ids": ids} for value, ids in hashed_numbers(INTS, tf.int32)],
        "long": [{"value": value, "ids": ids} for value, ids in hashed_numbers(LONGS, tf.int64)],
    }
    arguments.file.write_text(in_lines(golden))


def strings():
    """Words, and random bytes of each length around the limits where the algorithm changes."""
    yield from (word.encode() for word in WORDS)
    bytes_of = random.Random(0)
    lengths = [*range(135), *range(140, 300, 13), 191, 192, 193, 255, 256, 257, 300, 1000]
    for length in lengths:
        yield bytes_of.randbytes(length)


def hashed(values):
    """Each value with its ids, one for each number of buckets."""
    tensor = tf.constant(values, tf.string)
    columns = [
        tf.strings.to_hash_bucket_fast(tensor, buckets).numpy().tolist() for buckets in BUCKETS
    ]
    return zip(values, map(list, zip(*columns)))


def hashed_numbers(values, dtype):
    texts = tf.strings.as_string(tf.constant(values, dtype)).numpy().tolist()
    return zip(values, (ids for _, ids in hashed(texts)))


def in_lines(golden):
    """JSON with one line for each object of a list."""
    parts = []
    for key, value in golden.items():
        text = json.dumps(value)
        if isinstance(value, list) and isinstance(value[0], dict):
            text = "[\n    " + ",\n    ".join(map(json.dumps, value)) + "\n  ]"
        parts.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
