#!/usr/bin/env python3
"""Runs `atds generate`, and writes the records that fastavro reads from the files.

    pip install -r scripts/requirements.txt
    python scripts/make_generated.py ATDS FOLDER

FOLDER gets PRESET.avro and rows/PRESET.jsonl for each preset, with and without byte sizes. The test `interop` of the
command compares the output of `atds head` with the rows, if `ATDS_TESTDATA` names the folder.
"""

import argparse
import pathlib
import subprocess
import tempfile

import fastavro

from testdata import rows

PRESETS = ["ads", "ads-nullable", "wide", "varlen", "strings", "people"]
OPTIONS = {"": ["--codec", "null"], "-byte-sizes": ["--codec", "deflate", "--byte-sizes"]}


def main():
    parser = argparse.ArgumentParser(
        description="Runs `atds generate`, and writes the records that fastavro reads."
    )
    parser.add_argument("atds", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    (arguments.folder / "rows").mkdir(parents=True, exist_ok=True)
    for preset in PRESETS:
        for suffix, options in OPTIONS.items():
            path = arguments.folder / f"{preset}{suffix}.avro"
            generate(arguments.atds, path, ["--preset", preset, *options])
            with open(path, "rb") as file:
                lines = "".join(rows.json_line(record) + "\n" for record in fastavro.reader(file))
            (arguments.folder / "rows" / f"{path.stem}.jsonl").write_text(lines, encoding="utf-8")


def generate(atds, path, options):
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        command = [atds, "generate", folder, "--records", "200", "--files", "1", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (made,) = pathlib.Path(folder).iterdir()
        made.replace(path)


if __name__ == "__main__":
    main()
