"""MkDocs hooks that adapt the repository's own pages to the site."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]

#: A line that stands for a file of the repository, from its second heading on.
INCLUDE = re.compile(r"^<!-- include: (\S+) -->$", re.MULTILINE)

#: The fence of a block, with a word that says what the block is.
FENCE = re.compile(r"^( *```(?:json|text)) ([a-z-]+)$", re.MULTILINE)

#: A link, or an image, without a title.
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


DOCS = REPOSITORY / "docs"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Includes files, turns links that the site lacks into plain text, and turns the words after a
    fence into titles."""
    here = (DOCS / page.file.src_path).parent

    def included(found: re.Match[str]) -> str:
        text = (REPOSITORY / found[1]).read_text()
        return with_links(text[text.index("\n## ") :], REPOSITORY, here)

    markdown = INCLUDE.sub(included, with_links(markdown, here, here))
    return FENCE.sub(r'\1 title="\2"', markdown)


def with_links(text: str, folder: Path, here: Path) -> str:
    """The text of a file of a folder with links as a page in the folder `here` has them."""

    def link(found: re.Match[str]) -> str:
        path, anchor, of_anchor = found[2].partition("#")
        file = (folder / path).resolve()
        # MkDocs reports missing files.
        if not path or ":" in path or not file.exists():
            return found[0]
        if file.is_file() and file.is_relative_to(DOCS):
            return f"[{found[1]}]({os.path.relpath(file, here)}{anchor}{of_anchor})"
        return found[1]

    return LINK.sub(link, text)
