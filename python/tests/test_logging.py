"""Log records of the native module, in Python's logging and in the command."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import atds
from atds import _native


@pytest.fixture
def folder(tmp_path: Path, write: Any) -> Path:
    """A folder with two files: one is read, and one is skipped with a warning."""
    folder = tmp_path / "data"
    folder.mkdir()
    Path(write([{"name": "n", "type": "long"}], [{"n": 1}])).rename(folder / "a.avro")
    (folder / "._a.avro").write_bytes(b"\0\5\x16\7")
    return folder


@pytest.fixture
def handlers() -> Iterator[logging.Logger]:
    """The package's logger. Handlers that a test adds are removed after it."""
    logger = logging.getLogger("atds")
    before = list(logger.handlers)
    yield logger
    logger.handlers[:] = before


def test_a_warning_is_logged_once_at_the_end_of_the_call(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert _native.Files([str(folder)], False).paths() == [str(folder / "a.avro")]
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("atds", "WARNING")
    assert "hidden" in record.getMessage()
    assert str(folder) in record.getMessage()
    _native.forward_logs()
    assert len(caplog.records) == 1


def test_percent_signs_are_text(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    odd = folder.rename(folder.with_name("100%s %(x)d"))
    _native.Files([str(odd)], False)
    assert str(odd) in caplog.records[0].getMessage()


def test_a_handler_that_fails_does_not_take_the_result(
    folder: Path, handlers: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("no room")

    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda failed: seen.append(failed.exc_value))
    handlers.addHandler(Failing())
    assert len(_native.Files([str(folder)], False).paths()) == 1
    assert [str(error) for error in seen] == ["no room"]


def test_an_interrupt_while_logging_is_raised(folder: Path, handlers: logging.Logger) -> None:
    class Interrupted(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise KeyboardInterrupt

    handlers.addHandler(Interrupted())
    with pytest.raises(KeyboardInterrupt):
        _native.Files([str(folder)], False)


def test_a_handler_can_use_the_package(folder: Path, handlers: logging.Logger) -> None:
    lengths = []

    class Reading(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lengths.append(atds.Dataset(folder / "a.avro", 1).num_records)

    handlers.addHandler(Reading())
    _native.Files([str(folder)], False)
    assert lengths == [1]


def test_records_beyond_the_queue_are_counted(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Each folder in the list logs a record. Records arrive faster than they are forwarded.
    _native.Files([str(folder)] * 20_000, False)
    said = [record.getMessage() for record in caplog.records]
    dropped = [text for text in said if text.endswith("were dropped: too many were waiting")]
    counts = [int(text.split()[0]) for text in dropped]
    assert len(said) - len(dropped) + sum(counts) == 20_000
    assert counts


def test_many_threads_log_each_record_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    threads = [
        threading.Thread(target=lambda: [_native.Files([str(folder)], False) for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caplog.records) == 80


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_logs_its_own_records_only(folder: Path) -> None:
    # The parent logs all the time, so a fork can happen while the logger's lock is held.
    code = """
import logging, os, sys, threading
import atds
from atds import _native
logging.basicConfig(level="WARNING", stream=open(os.devnull, "w"))
folder = sys.argv[1]
over = False
def log():
    while not over:
        _native.Files([folder] * 200, False)
threads = [threading.Thread(target=log) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(30):
    child = os.fork()
    if child == 0:
        seen = []
        logging.getLogger("atds").addFilter(lambda record: seen.append(record) or False)
        _native.forward_logs()
        before = len(seen)
        _native.Files([folder], False)
        grandchild = os.fork()
        if grandchild == 0:
            seen.clear()
            _native.Files([folder], False)
            os._exit(0 if len(seen) == 1 else 3)
        of_grandchild = os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1])
        os._exit(of_grandchild or (0 if (before, len(seen)) == (0, 1) else 2))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, code
over = True
for thread in threads: thread.join()
"""
    python = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code, str(folder)]
    done = subprocess.run(python, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_prints_warnings(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "atds", "inspect", str(folder), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr.startswith("atds: warning: ")
    assert done.stderr.count("\n") == 1
