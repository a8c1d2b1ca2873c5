"""Sample files, and what happens with skipped tests."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest

import atds
from atds import _native

#: If this is `all`, every framework must be installed: a skipped test counts as a failure.
ALL_FRAMEWORKS = os.environ.get("ATDS_FRAMEWORKS") == "all"

#: Files of independent writers, and their expected values.
TESTDATA = Path(__file__).resolve().parents[2] / "testdata"

# Tests send SIGINT, which a shell without job control ignores for background commands.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if ALL_FRAMEWORKS and skipped:
        terminalreporter.write_line(
            f"{len(skipped)} skipped, where ATDS_FRAMEWORKS=all allows none", red=True
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    if ALL_FRAMEWORKS and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def generate(folder: Path, *options: str) -> Path:
    """Makes sample files in a folder, with the package's command."""
    assert _native.run_command(["atds", "generate", str(folder), "--json", *options]) == 0
    return folder


def avro_file(path: Path, schema: Any, *records: bytes) -> str:
    """A file of one block without compression."""

    def number(value: int) -> bytes:
        value = (value << 1) ^ (value >> 63)
        out = bytearray()
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
        return bytes(out)

    def text(value: bytes) -> bytes:
        return number(len(value)) + value

    metadata = {b"avro.schema": json.dumps(schema).encode(), b"avro.codec": b"null"}
    entries = b"".join(text(key) + text(value) for key, value in metadata.items())
    payload = b"".join(records)
    head = b"Obj\x01" + number(len(metadata)) + entries + number(0) + bytes(16)
    path.write_bytes(head + number(len(records)) + number(len(payload)) + payload + bytes(16))
    return str(path)


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sample folders. Tests must not change it."""
    folder = tmp_path_factory.mktemp("samples")
    few = ("--files", "2", "--block-bytes", "4000")
    generate(folder / "clicks", "--records", "200", *few)
    generate(folder / "strings", "--preset", "strings", "--records", "100", *few)
    generate(folder / "varlen", "--preset", "varlen", "--records", "100", *few)
    generate(folder / "people", "--preset", "people", "--records", "100", *few)
    generate(folder / "many", "--records", "20000", "--files", "4")
    return folder


@pytest.fixture
def clicks(samples: Path) -> str:
    """200 records of advertising in 2 files."""
    return str(samples / "clicks")


@pytest.fixture
def many(samples: Path) -> str:
    """20,000 records of advertising in 4 files."""
    return str(samples / "many")


@pytest.fixture
def in_samples(samples: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Makes the folder of the samples the working directory."""
    monkeypatch.chdir(samples)
    yield samples


Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes records to a file with fastavro and returns its path."""

    def write(
        fields: list[dict[str, Any]],
        records: list[dict[str, Any]],
        name: str = "file.avro",
        **options: Any,
    ) -> str:
        schema = fastavro.parse_schema({"type": "record", "name": "R", "fields": fields})
        path = tmp_path / name
        with path.open("wb") as file:
            fastavro.writer(file, schema, records, **options)
        return str(path)

    return write


@pytest.fixture
def numbers(write: Write) -> str:
    """A file of 1,000 records with their number as `n`, in small blocks."""
    records = [{"n": n} for n in range(1000)]
    return write([{"name": "n", "type": "long"}], records, sync_interval=100)


#: The feature of `numbers`.
NUMBER = {"n": atds.DenseFeature([], "int64")}


@pytest.fixture
def number() -> dict[str, Any]:
    """The feature of `numbers`."""
    return dict(NUMBER)
