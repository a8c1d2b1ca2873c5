"""The cells: what is read, in which order, into batches of which size."""

import itertools
import math
from dataclasses import dataclass

SHUFFLE_BUFFER = 8_192


@dataclass(frozen=True)
class Cell:
    """A way to read the files."""

    codec: str
    mapped: bool
    shuffled: bool
    batch_size: int

    @property
    def name(self) -> str:
        """The name that `--only` is searched in."""
        source = "mapped" if self.mapped else "read"
        order = "shuffled" if self.shuffled else "in order"
        return f"{self.codec} {source}, {order}, {self.batch_size:,}"

    def arguments(self, threads: int, epochs: int) -> list[str]:
        """Arguments of the command, without the files."""
        buffer = SHUFFLE_BUFFER if self.shuffled else 0
        return [
            *["bench", "--json", "--threads", str(threads), "--epochs", str(epochs)],
            *["--batch-size", str(self.batch_size), "--shuffle-buffer", str(buffer)],
            *(["--mmap"] if self.mapped else []),
        ]

    def passes(self, records: int) -> int:
        """How often an epoch reads a share, so that it fills two batches.

        A batch does not go on in the next epoch. Processes with a share of less than a batch would have
        smaller batches than the one pipeline.
        """
        return math.ceil(2 * self.batch_size / records)


CELLS = [
    Cell(codec, mapped, shuffled, batch_size)
    for (codec, mapped), batch_sizes in [
        (("null", True), (64, 1_024, 65_536)),
        (("null", False), (64, 1_024, 65_536)),
        (("deflate", False), (64, 1_024, 65_536)),
        (("deflate", True), (1_024,)),
        (("zstandard", False), (1_024,)),
        (("zstandard", True), (1_024,)),
    ]
    for shuffled, batch_size in itertools.product((False, True), batch_sizes)
]


def chosen(only: list[str]) -> list[Cell]:
    """The cells with one of these texts in their names, or all cells if there is no text."""
    cells = [cell for cell in CELLS if not only or any(text in cell.name for text in only)]
    if not cells:
        raise ValueError(f"no cell has {' or '.join(only)} in its name")
    return cells
