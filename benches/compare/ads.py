"""The files that both systems read, and the features they ask of them."""

import json
import subprocess
from pathlib import Path

import fastavro

BLOCK_BYTES = 16_000

# kind, shape and dtype of every field of `atds generate --preset ads`, as in a features file.
FEATURES = {
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


def make(folder: Path, atds: Path, records: int, files: int, codecs: list[str]) -> dict:
    """Makes `folder/CODEC/*.avro` for each codec and `folder/ads.json`; returns what was made.

    The records come from `atds generate`; the files are fastavro's, since a comparison should
    not rest on files that one side wrote.
    """
    generated = folder / "generated"
    options = ["--records", str(records), "--files", str(files), "--codec", "null"]
    command = [atds, "generate", generated, "--preset", "ads", *options, "--json"]
    made = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    for codec in codecs:
        (folder / codec).mkdir()
    for path in sorted(generated.glob("*.avro")):
        _rewrite(path, [(codec, folder / codec / path.name) for codec in codecs])
        path.unlink()
    (folder / "ads.json").write_text(json.dumps(FEATURES, indent=2) + "\n")
    return {
        "records": records,
        "files": files,
        "block_bytes": BLOCK_BYTES,
        "inflated_bytes": made["inflated_bytes"],
        "raw_bytes": {codec: _size(folder / codec) for codec in codecs},
    }


def _rewrite(path: Path, targets: list[tuple[str, Path]]) -> None:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        schema, records = reader.writer_schema, list(reader)
    for codec, target in targets:
        with target.open("wb") as file:
            fastavro.writer(file, schema, records, codec=codec, sync_interval=BLOCK_BYTES)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
