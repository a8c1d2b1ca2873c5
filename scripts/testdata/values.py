"""Values to write: special values of each Avro type first, then seeded random values."""

import random
import struct

AVRO_TYPES = ("int", "long", "float", "double", "boolean", "string", "bytes")

DTYPE_OF = {
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "boolean": "bool",
    "string": "string",
    "bytes": "string",
}

INF = float("inf")
NAN = float("nan")

# Zig-zag varints change length at 2^6, 2^13, 2^20, ...
_INTS = [0, -1, 1, 63, 64, -64, -65, 8191, 8192, -8192, -8193, 2**20, 2**27, -(2**27) - 1]

SPECIAL = {
    "int": _INTS + [2**31 - 1, -(2**31)],
    "long": _INTS + [2**34, -(2**41), 2**48, -(2**55), 2**62, 2**63 - 1, -(2**63)],
    # Zeros, infinities, NaN, the largest, the smallest normal, the smallest denormal.
    "float": [0.0, -0.0, INF, -INF, NAN]
    + [
        struct.unpack("<f", struct.pack("<I", bits))[0]
        for bits in (0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 1, 0x80000001, 0x3DCCCCCD)
    ],
    "double": [
        0.0,
        -0.0,
        INF,
        -INF,
        NAN,
        1.7976931348623157e308,
        -1.7976931348623157e308,
        2.2250738585072014e-308,
        5e-324,
        -5e-324,
        0.1,
    ],
    "boolean": [True, False],
    "string": [
        "",
        "a",
        "naïve",
        "Ελλάδα",
        "日本語",
        "🦀🎲",
        "a\u0000b",
        '"quoted\\\n\t',
        "\u2028",
        "x" * 63,
        "y" * 64,
        "z" * 300,
    ],
    "bytes": [b"", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", bytes(range(256)), b"plain"],
}


class Values:
    """An endless series of values of one Avro type: each special value once, then random values."""

    def __init__(self, avro_type, seed):
        self.avro_type = avro_type
        self.rng = random.Random(f"{avro_type}/{seed}")
        self.special = list(SPECIAL[avro_type])
        self.rng.shuffle(self.special)

    def next(self):
        if self.special:
            return self.special.pop()
        return RANDOM[self.avro_type](self.rng)

    def nested(self, lengths):
        """Nested arrays. `lengths` has the length of each level, as a number or a function."""
        if not lengths:
            return self.next()
        length = lengths[0](self.rng) if callable(lengths[0]) else lengths[0]
        return [self.nested(lengths[1:]) for _ in range(length)]


def _short_text(rng):
    return "".join("abcdé漢🙂 "[rng.getrandbits(3)] for _ in range(rng.getrandbits(3)))


RANDOM = {
    "int": lambda rng: rng.getrandbits(rng.getrandbits(5)) - 1000,
    "long": lambda rng: rng.getrandbits(rng.getrandbits(6)) - 1000,
    "float": lambda rng: (rng.getrandbits(20) - 2**19) / 1024,
    "double": lambda rng: (rng.getrandbits(50) - 2**49) / 2**30,
    "boolean": lambda rng: rng.getrandbits(1) == 1,
    "string": _short_text,
    "bytes": lambda rng: rng.getrandbits(64).to_bytes(8, "little")[: rng.getrandbits(3)],
}
