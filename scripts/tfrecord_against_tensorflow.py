"""Compare how atds and TensorFlow parse Examples and SequenceExamples, value by value.

    cargo build -p atds-tfrecord --example decode_cases
    python scripts/tfrecord_against_tensorflow.py [--cases N] [--seed N] [--program PATH]
    python scripts/tfrecord_against_tensorflow.py --cases 250 \\
        --write crates/tfrecord/tests/tensorflow.jsonl

Every case has features of one kind of TensorFlow's table, and records, right and wrong. Both parse
them. They must give the same values, or both an error; where TensorFlow names a count or a key, so
must atds. What protocol buffers allow and TensorFlow's parser refuses is counted apart.

TensorFlow 2.21 crashes (SIGSEGV in `tf.io.parse_sequence_example`, and in the one for single
examples) for a string `VarLenFeature`, of the context or a feature list, when a value's length is
beyond the end of its `BytesList`. These bytes do it, with `{"a": tf.io.VarLenFeature(tf.string)}`
for the feature lists; `parse_example`, and features of other kinds, have an error there:

    120e 0a0c 0a0161 1207 0a05 0a03 0a04 78     (the value "x" has the length 4)

TensorFlow therefore parses in a process of its own, which is started again. A crash is counted and
printed; it must be rare, repeat in a new process, and come from a record with damage.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")

DTYPES = {"int64": tf.int64, "float32": tf.float32, "string": tf.string}
KEYS = ["a", "image/shape", "b", "long key with spaces"]


class Case:
    """Features of one kind, and records."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.is_sequence = random.random() < 0.35
        self.records = []
        self.is_damaged = False
        self.features: list[dict] = []
        self.pool = [self.values(dtype) for dtype in ("int64", "float32", "string") * 2]
        for i in range(random.choice([1, 1, 2, 3])):
            self.features.append(self.feature(f"f{i}"))
        # The values that the features ask for, mostly; the lengths are right, mostly.
        for _ in range(random.choice([1, 2, 3, 5])):
            self.records.append(self.record())

    def values(self, dtype: str, count: int | None = None) -> tuple[str, list]:
        r = self.random
        count = r.choice([0, 1, 1, 1, 2, 3, 4, 6]) if count is None else count
        if dtype == "int64":
            pick = lambda: r.choice([0, 1, 2, 5, -1, 127, 128, 300, 2**31, -(2**63), 2**63 - 1])
        elif dtype == "float32":
            pick = lambda: r.choice([0.0, -0.0, 1.5, -2.25, 1e30, float("inf"), float("nan")])
        else:
            pick = lambda: r.choice([b"", b"a", b"text", b"\xff\x00\x80", "größe".encode()])
        return dtype, [pick() for _ in range(count)]

    def feature(self, name: str) -> dict:
        r = self.random
        dtype = r.choice(["int64", "float32", "string"])
        feature = {"name": name, "key": r.choice(KEYS), "dtype": dtype}
        kinds = ["fixed", "fixed", "var", "ragged"]
        part = ""
        if self.is_sequence:
            part = r.choice(["context.", "feature_lists.", "feature_lists."])
            kinds = ["sequence", "sequence", "var", "ragged"] if part != "context." else kinds
        else:
            kinds += ["sequence", "sparse"]
        kind = feature["type"] = r.choice(kinds)
        feature["part"] = part
        shape = r.choice([[], [], [1], [2], [3], [2, 2]])
        if kind == "sparse":
            rank = r.choice([1, 1, 2])
            keys = [f"i{d}" for d in range(rank)]
            shape = [r.choice([3, 10, 2**40]) for _ in range(rank)]
            feature |= {"index_keys": keys, "already_sorted": r.random() < 0.4}
        if kind == "sequence":
            feature["allow_missing"] = part == "" or r.random() < 0.6
        if kind in ("fixed", "sequence") and part != "feature_lists." and r.random() < 0.5:
            count = int(np.prod(shape)) if kind == "fixed" else 1
            _, default = self.values(dtype, count)
            # TensorFlow takes -0.0 for 0.0 in constants, and JSON has no NaN.
            is_plain = lambda v: dtype != "float32" or (v != 0 and np.isfinite(v))
            default = [as_json(dtype, value) for value in default if is_plain(value)]
            if len(default) == count:
                feature["default"] = default[0] if kind == "sequence" or not shape else default
        return feature | {"shape": shape}

    def wanted(self, feature: dict) -> tuple[str, list]:
        """Values for a feature: of its kind and number, mostly."""
        r = self.random
        dtype = feature["dtype"] if r.random() < 0.95 else r.choice(list(DTYPES))
        size = int(np.prod(feature["shape"]))
        count = None
        if feature["type"] == "fixed" or feature["part"] == "feature_lists.":
            count = size if r.random() < 0.95 else None
        elif feature["type"] == "sequence":
            count = size * r.choice([0, 1, 2, 3]) if r.random() < 0.95 else None
        elif feature["type"] == "sparse":
            count = r.choice([0, 1, 2, 3])
        return self.values(dtype, count)

    def record(self) -> bytes:
        r = self.random
        context: dict[str, tf.train.Feature] = {}
        lists: dict[str, tf.train.FeatureList] = {}
        for feature in self.features:
            if r.random() < 0.06:
                continue
            key = feature["key"]
            if feature["part"] == "feature_lists.":
                steps = [self.wanted(feature) for _ in range(r.choice([0, 1, 2, 3]))]
                lists[key] = tf.train.FeatureList(feature=[filled(step, r) for step in steps])
                continue
            dtype, values = self.wanted(feature)
            context[key] = filled((dtype, values), r)
            for dimension, index in enumerate(feature.get("index_keys", [])):
                count = len(values) if r.random() < 0.96 else len(values) + 1
                most = min(feature["shape"][dimension], 12)
                indices = [r.randrange(most) for _ in range(count)]
                if feature["already_sorted"]:
                    indices.sort()
                if indices and r.random() < 0.02:
                    indices[-1] = r.choice([-1, feature["shape"][dimension]])
                context[index] = filled(("int64", indices), r)
        for dtype, values in self.pool[: r.choice([0, 0, 1, 2])]:
            context[r.choice(["other", "zz"])] = filled((dtype, values), r)
        encoded = submessage(1, entries(tf.train.Features, "feature", context, r))
        if self.is_sequence:
            encoded += submessage(2, entries(tf.train.FeatureLists, "feature_list", lists, r))
        if r.random() < 0.1:
            encoded += unknown_field(r)
        if r.random() < 0.03:
            encoded = damaged(encoded, r)
            self.is_damaged = True
        return encoded


def entries(message: type, field: str, values: dict, r: random.Random) -> bytes:
    """A map's entries in an order that only `r` decides: protocol buffers' own differs each run."""
    encoded = [
        message(**{field: {key: value}}).SerializeToString() for key, value in values.items()
    ]
    r.shuffle(encoded)
    return b"".join(encoded)


def submessage(field: int, encoded: bytes) -> bytes:
    length, rest = b"", len(encoded)
    while rest >= 0x80:
        length += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return bytes([field << 3 | 2]) + length + bytes([rest]) + encoded


def filled(values: tuple[str, list], r: random.Random) -> tf.train.Feature:
    """A feature with the values; sometimes without, which counts as missing."""
    dtype, values = values
    if r.random() < 0.03:
        return tf.train.Feature()
    if dtype == "int64":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    if dtype == "float32":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def unknown_field(r: random.Random) -> bytes:
    return r.choice([b"\x78\x05", b"\x7d\x01\x02\x03\x04", b"\x7a\x02hi", b"\x79" + bytes(8)])


def damaged(encoded: bytes, r: random.Random) -> bytes:
    if not encoded:
        return encoded
    at = r.randrange(len(encoded))
    if r.random() < 0.5:
        return encoded[:at]
    return encoded[:at] + bytes([encoded[at] ^ (1 << r.randrange(8))]) + encoded[at + 1 :]


def as_json(dtype: str, value: object) -> object:
    return value.hex() if dtype == "string" else value


def of_json(dtype: str, value: object) -> object:
    if isinstance(value, list):
        return [of_json(dtype, one) for one in value]
    return bytes.fromhex(value) if dtype == "string" else value


def of_tensorflow(feature: dict) -> object:
    dtype, key, shape = DTYPES[feature["dtype"]], feature["key"], feature["shape"]
    default = feature.get("default")
    if default is not None:
        default = of_json(feature["dtype"], default)
        if isinstance(default, list):
            default = np.array(default, dtype=object if dtype == tf.string else None)
            default = default.reshape(shape).tolist()
    match feature["type"]:
        case "fixed":
            return tf.io.FixedLenFeature(shape, dtype, default)
        case "sequence":
            allow = feature["allow_missing"]
            return tf.io.FixedLenSequenceFeature(shape, dtype, allow, default)
        case "var":
            return tf.io.VarLenFeature(dtype)
        case "ragged":
            return tf.io.RaggedFeature(dtype, value_key=key, row_splits_dtype=tf.int64)
        case "sparse":
            keys = feature["index_keys"]
            sorted_ = feature["already_sorted"]
            return tf.io.SparseFeature(keys, key, dtype, shape, already_sorted=sorted_)
    raise ValueError(feature["type"])


def answers_of_tensorflow(lines: list[str]) -> list[dict]:
    """What TensorFlow gives for each case: columns, an error, or a crash."""
    command = [sys.executable, __file__, "--answer"]
    answers: list[dict] = []
    while len(answers) < len(lines):
        rest = lines[len(answers) :]
        text = "\n".join(rest)
        child = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, check=False)
        given = [json.loads(line) for line in child.stdout.splitlines()]
        answers += given
        if child.returncode >= 0:
            # Anything but a crash is a fault of this script.
            child.check_returncode()
        elif not given:
            # The first case of a new process: no case before it is the cause.
            answers.append({"crash": signal.Signals(-child.returncode).name})
        else:
            print(f"TensorFlow crashed at case {len(answers)}; tried alone", file=sys.stderr)
    return answers


def answer() -> None:
    """Parse the cases of standard input; an answer is written before the next case is parsed."""
    for line in sys.stdin:
        case = json.loads(line)
        records = [bytes.fromhex(record) for record in case["records"]]
        print(json.dumps(parse(case["features"], records)), flush=True)


def parse(features: list[dict], records: list[bytes]) -> dict:
    """What TensorFlow gives: columns, or an error."""
    names = {}
    # TensorFlow names features by their keys, but for those that have keys of their own.
    for feature in features:
        own = feature["type"] in ("ragged", "sparse")
        names[feature["name"]] = feature["name"] if own else feature["key"]
    of = lambda part: {names[f["name"]]: of_tensorflow(f) for f in features if (f["part"] == part)}
    try:
        if features[0]["part"]:
            context, lists, _ = tf.io.parse_sequence_example(
                records, of("context.") or None, of("feature_lists.") or None
            )
            found = {"context.": context, "feature_lists.": lists}
        else:
            found = {"": tf.io.parse_example(records, of(""))}
    except (tf.errors.InvalidArgumentError, tf.errors.DataLossError) as error:
        return {"error": error.message}
    except ValueError as error:
        # A sparse feature with another number of indices than of values.
        return {"error": str(error)}
    columns = {}
    for feature in features:
        columns[feature["name"]] = column(found[feature["part"]][names[feature["name"]]])
    return {"columns": columns}


def column(tensor: object) -> dict:
    if isinstance(tensor, tf.SparseTensor):
        return {
            "indices": tensor.indices.numpy().ravel().tolist(),
            "values": values(tensor.values.numpy()),
            "shape": tensor.dense_shape.numpy().tolist(),
        }
    if isinstance(tensor, tf.RaggedTensor):
        splits = [splits.numpy().tolist() for splits in tensor.nested_row_splits]
        return {"splits": splits, "values": values(tensor.flat_values.numpy())}
    return {"shape": tensor.shape.as_list(), "values": values(tensor.numpy().ravel())}


def values(array: np.ndarray) -> list:
    if array.dtype == np.float32:
        # The bits, so that NaN and -0.0 are compared, too.
        return array.view(np.uint32).tolist()
    if array.dtype == object:
        return [value.hex() for value in array.tolist()]
    return array.tolist()


def is_distinct(case: Case) -> bool:
    """Whether TensorFlow can take the features: two of one key are one to it."""
    keys = [(f["part"], f["key"]) for f in case.features]
    indices = [key for f in case.features for key in f.get("index_keys", [])]
    return len(set(keys)) == len(keys) and len(set(indices)) == len(indices)


# Numbers that both errors name, by what TensorFlow's says.
COUNTS = re.compile(r"values size: (\d+) but output shape: \[([\d,]*)\]")


WRONG = (
    "different",
    "only atds refuses",
    "only TensorFlow refuses",
    "TensorFlow crashed: no damage, for which atds has values",
    "TensorFlow crashed: no damage, for which atds has an error",
)

# The part of all cases that may crash TensorFlow.
MOST_CRASHES = 0.001


def compare(case: Case, ours: dict, theirs: dict) -> str:
    """What a case shows: how both agree, or `different`."""
    if "crash" in theirs:
        ending = "an error" if "error" in ours else "values"
        where = "a damaged message" if case.is_damaged else "no damage"
        return f"TensorFlow crashed: {where}, for which atds has {ending}"
    if "columns" in ours and "columns" in theirs:
        return "same values" if ours["columns"] == theirs["columns"] else "different"
    if "error" in ours and "error" in theirs:
        counts = COUNTS.search(theirs["error"])
        # Of several features or records that are wrong, each may name another.
        is_one = len(case.features) == len(case.records) == 1
        if counts and is_one and "has " in ours["error"]:
            found = counts[1]
            if not re.search(rf"has {found} values?\b", ours["error"]):
                return "different"
        return "both an error"
    if "error" in ours:
        # TensorFlow checks no index, and stops reading a message when it has what it needs.
        if "is outside dimension" in ours["error"]:
            return "only atds refuses: an index outside its dimension"
        # It adds up the numbers of indices of all rows.
        if re.search("has .* of dimension .* but", ours["error"]):
            return "only atds refuses: other indices than values in a row"
        if case.is_damaged:
            return "only atds refuses: a damaged message"
        return "only atds refuses"
    if "match" in theirs["error"] or "number of elements" in theirs["error"]:
        # Its parser of SequenceExamples takes a feature without a kind for one of another kind.
        return "only TensorFlow refuses: a feature without a kind"
    if case.is_damaged:
        return "only TensorFlow refuses: a damaged message that is one of protocol buffers"
    return "only TensorFlow refuses"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    program = Path("target/debug/examples/decode_cases")
    parser.add_argument("--program", type=Path, default=program)
    # TensorFlow's process.
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, help="a file for the cases on which both agree")
    args = parser.parse_args()
    if args.answer:
        answer()
        return 0
    generator = random.Random(args.seed)
    cases = []
    while len(cases) < args.cases:
        case = Case(generator)
        if is_distinct(case):
            cases.append(case)
    lines = [
        json.dumps({"features": case.features, "records": [r.hex() for r in case.records]})
        for case in cases
    ]
    # A crash of atds is an exception here.
    decoded = subprocess.run(
        [args.program], input="\n".join(lines), text=True, capture_output=True, check=True
    )
    agreed = []
    seen: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    outputs = [json.loads(line) for line in decoded.stdout.splitlines()]
    expected = answers_of_tensorflow(lines)
    for number, (case, ours, theirs) in enumerate(zip(cases, outputs, expected, strict=True)):
        verdict = compare(case, ours, theirs)
        seen[verdict] += 1
        if verdict in ("same values", "both an error"):
            columns = {"columns": theirs["columns"]} if "columns" in theirs else {}
            agreed.append(json.dumps(json.loads(lines[number]) | columns))
        for feature in case.features:
            kinds[f"{feature['part']}{feature['type']}: {verdict}"] += 1
        if verdict in WRONG or "crash" in theirs:
            shown[verdict] += 1
            if shown[verdict] <= 5:
                print(f"--- {verdict}: case {number} of seed {args.seed}", file=sys.stderr)
                print(json.dumps(case.features), file=sys.stderr)
                print([record.hex() for record in case.records], file=sys.stderr)
                print("atds:      ", str(ours)[:600], file=sys.stderr)
                print("TensorFlow:", str(theirs)[:600], file=sys.stderr)
    if args.write:
        args.write.write_text("".join(f"{line}\n" for line in agreed))
    for kind, count in sorted(kinds.items()):
        print(f"{count:6} {kind}")
    print(dict(seen), f"of {args.cases} cases, TensorFlow {tf.__version__}")
    crashes = sum("crash" in theirs for theirs in expected)
    if crashes > max(1, args.cases * MOST_CRASHES):
        print(f"TensorFlow crashed {crashes} times, which is not rare", file=sys.stderr)
        return 1
    return 1 if any(seen[verdict] for verdict in WRONG) else 0


if __name__ == "__main__":
    sys.exit(main())
