"""Text and HTML representations of iterators, data sets, batches and inspections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

#: Columns, features or files that are shown; the others are counted.
MAX_SHOWN = 20

#: Characters of a line.
MAX_WIDTH = 100


def batches_text(name: str, stats: Mapping[str, Any] | None) -> str:
    """The repr of an iterator, with its figures so far. ``stats`` is None for an iterator of a
    parent process."""
    return f"<{name}: {_progress(stats)}>"


def batches_html(name: str, stats: Mapping[str, Any] | None) -> str:
    """The HTML of an iterator, for a notebook."""
    if stats is None:
        return html(name, [("state", _progress(None))])
    rows = [
        ("batches so far", f"{stats['steps']:,}"),
        ("records so far", f"{stats['records']:,}"),
        ("records per second", f"{stats['records_per_s']:,.0f}"),
    ]
    return html(name, rows)


def _progress(stats: Mapping[str, Any] | None) -> str:
    if stats is None:
        return "made by the process that this one was forked from"
    batches, records = stats["steps"], stats["records"]
    return f"{counted(batches, 'batch', 'batches')}, {counted(records, 'record')} so far"


def counted(number: int, one: str, several: str | None = None) -> str:
    """A number with a noun, such as ``2 files``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def listed(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A title, and a line for each name with its value. Lines that do not fit a screen are only
    counted."""
    lines = [clipped(title)]
    lines += [clipped(f"  {name}: {said}") for name, said in rows[:MAX_SHOWN]]
    if len(rows) > MAX_SHOWN:
        lines.append(f"  and {len(rows) - MAX_SHOWN:,} more")
    return "\n".join(lines)


def clipped(text: str, width: int = MAX_WIDTH) -> str:
    """A text as one line of at most ``width`` characters; unprintable characters are escaped."""
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: width + 1])
    return line if len(line) <= width else line[: width - 1] + "…"


def html(
    title: str,
    rows: Iterable[Sequence[str]],
    *tables: tuple[Sequence[str], Sequence[Sequence[str]]],
) -> str:
    """HTML for a notebook: a table of names and values, then tables with headers. All texts are
    escaped; long tables are truncated."""
    parts = [f"<strong>{_cell(title)}</strong>"]
    parts += [_table(header, body) for header, body in [((), list(rows)), *tables] if body]
    return f"<div>{''.join(parts)}</div>"


def dataset_text(
    files: Sequence[str], batch_size: int, features: int, options: Iterable[tuple[str, object]]
) -> str:
    """The repr of a data set, with the options that are shown."""
    shown = f"{len(files)} files" if len(files) > 1 else repr(files[0])
    parts = [shown, f"batch_size={batch_size}", counted(features, "feature", "features")]
    parts += [f"{name}={value}" for name, value in options]
    return f"atds.Dataset({', '.join(parts)})"


def dataset_html(
    title: str, files: Sequence[str], rows: Sequence[tuple[str, str]], features: Mapping[str, Any]
) -> str:
    """HTML with a table of the files and options of a data set, and one of its features."""
    said = files[0] if len(files) == 1 else counted(len(files), "file") + f", the first {files[0]}"
    named = [(name, repr(feature)) for name, feature in features.items()]
    return html(title, [("files", said), *rows], (("name", "feature"), named))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_row("th", header)] if header else []
    lines += [_row("td", row) for row in rows[:MAX_SHOWN]]
    if len(rows) > MAX_SHOWN:
        lines.append(_row("td", [f"and {len(rows) - MAX_SHOWN:,} more"]))
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    inner = "".join(f'<{tag} style="text-align: left">{_cell(cell)}</{tag}>' for cell in cells)
    return f"<tr>{inner}</tr>"


def _cell(text: str) -> str:
    return escape(clipped(text))
