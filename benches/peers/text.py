"""Formats figures, paragraphs and tables in Markdown."""

import textwrap

WIDTH = 120


def paragraph(text: str) -> str:
    """Wrap text to `WIDTH`."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def table(heads: list[str], rows: list[list[str]], left: int) -> list[str]:
    """A table with `left` columns of words, then columns of figures."""
    rules = ["---" if i < left else "---:" for i in range(len(heads))]
    lines = [" | ".join(heads), "|".join(rules), *(" | ".join(row) for row in rows)]
    return [f"|{line}|" if line.startswith("-") else f"| {line} |" for line in lines]


def rounded(figure: float) -> str:
    """Round to three significant figures; more would be noise."""
    digits = len(str(int(figure)))
    return f"{round(figure, 3 - digits):,.0f}" if digits > 3 else f"{figure:,.0f}"


def ratio(value: float) -> str:
    """Format a ratio."""
    return f"{value:,.0f}×" if value >= 100 else f"{value:.1f}×"


def megabytes(size: float) -> str:
    """Format bytes as MB."""
    return f"{size / 1e6:,.1f} MB"
