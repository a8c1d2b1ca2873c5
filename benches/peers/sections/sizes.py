"""The sizes of the same records in each format."""

from ..bench import Bench
from ..text import megabytes, table

TITLE = "Sizes"


def run(bench: Bench) -> dict:
    """Files of other writers: fastavro, pyarrow, and the packages `tfrecord` and `btable-py`."""
    return {"file_bytes": bench.make_files("sizes", "sizes")}


def text(result: dict) -> list[str]:
    """The table."""
    found = result["file_bytes"]
    names = dict.fromkeys(name for sizes in found.values() for name in sizes)
    rows = [
        [name, *(megabytes(sizes[name]) if name in sizes else "–" for sizes in found.values())]
        for name in names
    ]
    return [
        "The same records in each format: the table of the section BTable, with the columns and values of"
        " its cells as two lists, and the Examples of the section TFRecord. Values as the format has them:"
        " float64 for the table, but float32 in TFRecord, which has no other. Default compression levels.",
        "",
        *table(["", "sparse table", "Examples"], rows, left=1),
    ]
