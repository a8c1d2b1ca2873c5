#!/usr/bin/env python3
"""Makes the Avro files in testdata/ with independent writers, and their expected tensors.

    pip install -r scripts/requirements.txt
    python scripts/make_testdata.py [FOLDER] [--compare OTHER]

For each case of `testdata/cases.py`, FOLDER (default: testdata) gets

- NAME.avro, written by fastavro or by the Apache `avro` package;
- NAME.expected.json: the columns of the file as one batch, by the rules of `testdata/expected.py`,
  from the records that fastavro reads (never from the values to write);
- rows/NAME.jsonl, for some cases: all records as JSON.

The output is the same on every run. With --compare, the exit code is 1 if FOLDER differs from OTHER.
"""

import argparse
import json
import pathlib
import sys
import warnings

import avro.errors
import fastavro

from testdata import compare, expected, rows, writers
from testdata.cases import all_cases

# One case has unknown logical types.
warnings.simplefilter("ignore", avro.errors.IgnoredLogicalType)
# Values of logical types are read as the underlying type.
fastavro.read.LOGICAL_READERS.clear()


def main():
    parser = argparse.ArgumentParser(
        description="Makes Avro test files and their expected tensors."
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=pathlib.Path,
        default=pathlib.Path(__file__).parents[1] / "testdata",
    )
    parser.add_argument(
        "--compare",
        type=pathlib.Path,
        metavar="OTHER",
        help="fail if the result differs from this folder",
    )
    arguments = parser.parse_args()

    clear(arguments.folder)
    cases = list(all_cases())
    for case in cases:
        make(case, arguments.folder)
    print(f"{len(cases)} files made in {arguments.folder}")
    if arguments.compare:
        found = list(compare.differences(arguments.folder, arguments.compare))
        print("\n".join(found) or f"same as {arguments.compare}")
        sys.exit(1 if found else 0)


def clear(folder):
    """Remove the files of earlier runs, so that no file stays without a case."""
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    for pattern in ("*.avro", "*.expected.json", "rows/*.jsonl"):
        for path in folder.glob(pattern):
            path.unlink()


def make(case, folder):
    path = folder / f"{case.name}.avro"
    writers.write(case, path)
    blocks, records = read(path)
    assert len(records) == len(case.records), (
        f"{case.name}: fastavro reads {len(records)} of {len(case.records)} records"
    )
    (folder / f"{case.name}.expected.json").write_text(
        expected_json(case, blocks, records), encoding="utf-8"
    )
    if case.rows:
        lines = "".join(rows.json_line(record) + "\n" for record in records)
        (folder / "rows" / f"{case.name}.jsonl").write_text(lines, encoding="utf-8")


def read(path):
    """The record count of each block and all records, as fastavro reads them."""
    blocks, records = [], []
    with open(path, "rb") as file:
        for block in fastavro.block_reader(file):
            blocks.append(block.num_records)
            records.extend(block)
    return blocks, records


def expected_json(case, blocks, records):
    """JSON with one feature or column a line, so that diffs are readable."""
    head = {
        "file": f"{case.name}.avro",
        "writer": writers.VERSIONS[case.writer],
        "codec": case.codec,
        "metadata": case.metadata,
        "records": len(records),
        "blocks": blocks,
    }
    parts = [f"{dump(key)}: {dump(value)}" for key, value in head.items()]
    for key, entries in (
        ("features", dict(sorted(case.features.items()))),
        ("columns", expected.columns(records, case.features)),
    ):
        lines = ",\n".join(f"  {dump(name)}: {dump(entry)}" for name, entry in entries.items())
        parts.append(f"{dump(key)}: {{\n{lines}\n}}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
