"""What iterators, data sets, batches and inspections look like, as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

#: Columns, features or files that are shown; the others are counted.
MAX_SHOWN = 20

#: Characters of a line.
MAX_WIDTH = 100


def batches_text(name: str, stats: Mapping[str, Any] | None) -> str:
    """An iterator with the figures that it has so far; None is that of another process."""
    return f"<{name}: {_progress(stats)}>"


def batches_html(name: str, stats: Mapping[str, Any] | None) -> str:
    """The same for a notebook."""
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
    """A number of things."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def listed(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A title, and a line for each name and what it stands for, as many as fit a screen."""
    lines = [clipped(title)]
    lines += [clipped(f"  {name}: {said}") for name, said in rows[:MAX_SHOWN]]
    if len(rows) > MAX_SHOWN:
        lines.append(f"  and {len(rows) - MAX_SHOWN:,} more")
    return "\n".join(lines)


def clipped(text: str, width: int = MAX_WIDTH) -> str:
    """A text as one line that is not too long; what cannot be printed is escaped."""
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: width + 1])
    return line if len(line) <= width else line[: width - 1] + "…"


def html(
    title: str,
    rows: Iterable[Sequence[str]],
    *tables: tuple[Sequence[str], Sequence[Sequence[str]]],
) -> str:
    """A table of names and values for a notebook, and tables with a header below it. All texts
    are escaped; tables that are too long are cut."""
    parts = [f"<strong>{_cell(title)}</strong>"]
    parts += [_table(header, body) for header, body in [((), list(rows)), *tables] if body]
    return f"<div>{''.join(parts)}</div>"


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
