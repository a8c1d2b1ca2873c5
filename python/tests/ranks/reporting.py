"""The report of a rank to the test that started it."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import atds
import atds.torch

#: The folder of the records and of the reports.
FOLDER = Path(sys.argv[1])

NUMBER = {"n": atds.DenseFeature([], "int64")}
POINT = {**NUMBER, "x": atds.DenseFeature([2], "float32")}
SHUFFLED: dict[str, Any] = {"shuffle_buffer_size": 50, "shuffle_blocks": True, "seed": 3}

_REPORTS: dict[str, Any] = {}


def dataset(features: Any = None, **options: Any) -> atds.torch.Dataset:
    """The records in batches of 32."""
    return atds.torch.Dataset(FOLDER / "numbers.avro", 32, features or POINT, **options)


class _Said(logging.Handler):
    def __init__(self, texts: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.texts = texts

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@contextlib.contextmanager
def case(name: str) -> Iterator[dict[str, Any]]:
    """Reports the epochs and the length of a case, its warnings, and its error."""
    report: dict[str, Any] = {"epochs": [], "length": None, "said": [], "error": None}
    _REPORTS[name] = report
    handler = _Said(report["said"])
    logging.getLogger("atds").addHandler(handler)
    try:
        yield report
    except Exception as error:  # noqa: BLE001
        report["error"] = f"{type(error).__name__}: {error}"
    finally:
        logging.getLogger("atds").removeHandler(handler)


def numbers(batches: Iterable[Any]) -> list[list[int]]:
    """The numbers of the records in each batch."""
    return [batch["n"].tolist() for batch in batches]


def write(rank: int | None = None) -> None:
    """Writes the reports of this rank. Keeps those of an earlier process of the rank."""
    rank = int(os.environ["RANK"]) if rank is None else rank
    path = FOLDER / f"{rank}.json"
    earlier = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(earlier | _REPORTS))
