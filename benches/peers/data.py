"""The files that the systems read, and their features files."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

BLOCK_BYTES = 16_000
RECORDS = 40_960
FILES = 8
CODECS = ["null", "deflate", "snappy", "zstandard"]

# kind, shape and dtype of each field of `atds generate --preset ads`, as in a features file.
ADS = {
    name: {"kind": kind, "shape": shape, "dtype": dtype}
    for name, kind, shape, dtype in [
        ("s_label", "dense", [], "int32"),
        ("s_weight", "dense", [], "float32"),
        ("s_member", "dense", [], "int64"),
        ("s_bid", "dense", [], "float64"),
        ("s_click", "dense", [], "bool"),
        ("s_country", "dense", [], "string"),
        ("d0", "dense", [8], "float32"),
        ("d1", "dense", [16], "float32"),
        ("d2", "dense", [16], "float64"),
        ("d3", "dense", [32], "int64"),
        ("d4", "dense", [32], "int32"),
        ("d5", "dense", [64], "float32"),
        ("d6", "dense", [64], "float32"),
        ("d7", "dense", [128], "float32"),
        ("sp0", "sparse", [50_001], "float32"),
        ("sp1", "sparse", [200_000], "float32"),
        ("sp2", "sparse", [1_000], "float32"),
        ("sp3", "sparse", [5_000_000], "int64"),
        ("sp4", "sparse", [100], "float64"),
    ]
}

# Expressions into the records of `atds generate --preset people`, two of them filters.
PEOPLE = {
    "name.first": {"kind": "fixed_len"},
    "friends[2].name.first": {"kind": "fixed_len", "default": ""},
    "cars['nickname'].color": {"kind": "fixed_len", "default": ""},
    "friends[*].name.first": {"kind": "var_len"},
    "friends[*].address[*].street": {"kind": "var_len"},
    "friends[*].jobs[*].coworkers[*].name.first": {"kind": "var_len"},
    "friends[gender='unknown'].name.first": {"kind": "var_len"},
    "friends[name.first=name.last].name.initial": {"kind": "var_len"},
}


@dataclass(frozen=True)
class Data:
    """A folder for data, and the command that generates it."""

    folder: Path
    atds: Path

    def ads(self, codecs: list[str]) -> dict:
        """Make `ads/CODEC/*.avro` and `ads/features.json`, and return a description."""
        return self._preset("ads", ADS, codecs)

    def people(self, codecs: list[str]) -> dict:
        """Make `people/CODEC/*.avro` and `people/features.json`, and return a description."""
        features = {
            name: entry
            | {"dtype": "string"}
            | ({"shape": []} if entry["kind"] == "fixed_len" else {})
            for name, entry in PEOPLE.items()
        }
        return self._preset("people", features, codecs) | {"expressions": list(PEOPLE)}

    def files(self, folder: str) -> list[Path]:
        """The files of a folder."""
        return sorted((self.folder / folder).glob("*.avro"))

    def device(self) -> str:
        """The name of the block device with the files, if one device has them."""
        number = self.folder.stat().st_dev
        entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
        return entry.resolve().name if entry.exists() else "unknown"

    def _preset(self, preset: str, features: dict[str, dict], codecs: list[str]) -> dict:
        """Make the files of a preset with some codecs, if they do not exist.

        The records come from `atds generate`. fastavro writes the files, because no side of a
        comparison should read files that it wrote itself.
        """
        folder = self.folder / preset
        missing = [codec for codec in codecs if not (folder / codec).exists()]
        if missing:
            generated = folder / "generated"
            self.generate(generated, RECORDS, "--preset", preset)
            for codec in missing:
                (folder / codec).mkdir()
            for path in sorted(generated.glob("*.avro")):
                _rewrite(path, [(codec, folder / codec / path.name) for codec in missing])
                path.unlink()
        self.write_features(f"{preset}/features.json", features)
        return {
            "records": RECORDS,
            "files": FILES,
            "block_bytes": BLOCK_BYTES,
            "file_bytes": {codec: _size(folder / codec) for codec in codecs},
        }

    def narrow(
        self, features: dict[str, dict], records: int, mean_length: int, block_bytes: int
    ) -> tuple[str, str]:
        """Make records for features. Replaces earlier records.

        Returns the folder and the features file.
        """
        folder, path = self.folder / "narrow", "narrow.json"
        shutil.rmtree(folder, ignore_errors=True)
        self.write_features(path, features)
        options = ["--features", str(self.folder / path), "--mean-length", str(mean_length)]
        self.generate(folder, records, *options, block_bytes=block_bytes)
        return "narrow", path

    def generate(
        self, folder: Path, records: int, *options: str, block_bytes: int = BLOCK_BYTES
    ) -> None:
        """Run `atds generate` without compression."""
        command = [self.atds, "generate", folder, "--codec", "null", "--json", *options]
        command += ["--records", str(records), "--files", str(FILES)]
        command += ["--block-bytes", str(block_bytes)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def write_features(self, path: str, features: dict[str, dict]) -> None:
        """Write a features file."""
        (self.folder / path).write_text(json.dumps(features, indent=2) + "\n")


def _rewrite(path: Path, targets: list[tuple[str, Path]]) -> None:
    # Imported here, so that report.py needs no fastavro.
    import fastavro

    with path.open("rb") as file:
        reader = fastavro.reader(file)
        schema, records = reader.writer_schema, list(reader)
    for codec, target in targets:
        with target.open("wb") as file:
            fastavro.writer(file, schema, records, codec=codec, sync_interval=BLOCK_BYTES)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
