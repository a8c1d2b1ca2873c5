"""The cells: what is read, in which order, by how many threads, into batches of which size."""

import itertools
from dataclasses import dataclass
from pathlib import Path

# Epochs that count, so that they take 0.05 to 0.3 s.
EPOCHS = {"null": 3, "deflate": 1, "zstandard": 2}
CODECS = list(EPOCHS)

# As in the table of README.md.
RECORDS, FILES = 40_960, 8

SHUFFLE_BUFFER = 8_192


@dataclass(frozen=True)
class Cell:
    """A way to read the files."""

    codec: str
    shuffled: bool
    threads: int
    batch_size: int

    @property
    def name(self) -> str:
        """The name that `--only` is searched in."""
        order = "shuffled" if self.shuffled else "in order"
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.codec}, {order}, {threads}, batch {self.batch_size:,}"

    def arguments(self, files: Path, epochs: int, options: list[str]) -> list[str]:
        """Arguments of the command. Builds of all ages know these options."""
        buffer = SHUFFLE_BUFFER if self.shuffled else 0
        return [
            *["bench", "--json", "--epochs", str(epochs), "--threads", str(self.threads)],
            *["--batch-size", str(self.batch_size), "--shuffle-buffer", str(buffer)],
            *options,
            str(files),
        ]


CELLS = [
    Cell(*cell) for cell in itertools.product(CODECS, (False, True), (1, 2), (64, 1_024, 8_192))
]


def chosen(only: list[str]) -> list[Cell]:
    """The cells with one of these texts in their names, or all cells if there is no text."""
    cells = [cell for cell in CELLS if not only or any(text in cell.name for text in only)]
    if not cells:
        raise ValueError(f"no cell has {' or '.join(only)} in its name")
    return cells
