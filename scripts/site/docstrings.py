"""Converts docstrings to Markdown for the site."""

from __future__ import annotations

import builtins
import re
import sys
from typing import Any

import griffe

#: A name in a docstring, such as :class:`Batch`.
ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`~?([^`]+)`")

#: Names and modules that the site does not have.
FOREIGN = {*dir(builtins), *sys.stdlib_module_names, "jax", "numpy", "tensorflow", "torch"}

#: The line above, below and within a table.
RULE = re.compile(r"^(\s*)=+(?:  +=+)+\s*$")


class Docstrings(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """A docstring with examples as code, names as links and tables as Markdown has them."""
    lines, out = text.split("\n"), []
    while lines:
        line = lines[0]
        if line.lstrip().startswith(">>> "):
            end = next((i for i, one in enumerate(lines) if not one.strip()), len(lines))
            indent = line[: len(line) - len(line.lstrip())]
            out += [f"{indent}```pycon", *lines[:end], f"{indent}```"]
            lines = lines[end:]
        elif RULE.match(line):
            rules = [i for i, one in enumerate(lines) if RULE.match(one)][:3]
            out += table(lines[: rules[2] + 1], rules[1])
            lines = lines[rules[2] + 1 :]
        else:
            out.append(with_links(line))
            lines = lines[1:]
    return "\n".join(out)


def table(lines: list[str], below_heading: int) -> list[str]:
    """A simple table of reStructuredText as one of Markdown."""
    columns = [found.span() for found in re.finditer("=+", lines[0])]
    ends = [start for start, _ in columns[1:]] + [None]
    rows = [
        [line[start:end].strip() for (start, _), end in zip(columns, ends, strict=True)]
        for line in lines
        if not RULE.match(line)
    ]
    heading, body = rows[: below_heading - 1], rows[below_heading - 1 :]
    made = [*heading, ["---"] * len(columns), *body]
    return [f"| {' | '.join(map(with_links, row))} |" for row in made]


def with_links(line: str) -> str:
    """The line with names of the package as links, and all others as code."""

    def link(found: re.Match[str]) -> str:
        name = found[1]
        is_foreign = name.partition(".")[0] in FOREIGN or name == "atds"
        return f"`{name}`" if is_foreign else f"[`{name}`][{name}]"

    return ROLE.sub(link, line)
