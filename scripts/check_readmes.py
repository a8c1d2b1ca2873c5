#!/usr/bin/env python3
"""Checks the links in the crates' READMEs, which package sites show without the repository.

    python scripts/check_readmes.py DOC

A link must be absolute. A link into the documentation of these crates must lead to a page of DOC, the
folder that `cargo doc` writes.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)
OWN = re.compile(r"https://docs\.rs/([a-z-]+)(?:/latest/([^#]*)(?:#(.*))?)?")


def main() -> None:
    doc = Path(sys.argv[1])
    crates = {path.parent.name: path for path in doc.glob("*/index.html")}
    faults = []
    for readme in sorted(ROOT.glob("crates/*/README.md")):
        # Brackets in code are no links.
        text = re.sub(r"^```.*?^```$", "", readme.read_text(), flags=re.MULTILINE | re.DOTALL)
        links = [inline or reference for inline, reference in LINK.findall(text)]
        for link in links:
            own = OWN.fullmatch(link)
            if not link.startswith("https://"):
                faults.append(f"{readme.relative_to(ROOT)}: {link} is relative")
            elif own and own[1].replace("-", "_") in crates and not leads(doc, own):
                faults.append(f"{readme.relative_to(ROOT)}: {link} leads nowhere")
    if faults:
        sys.exit("\n".join(faults))


def leads(doc: Path, link: re.Match[str]) -> bool:
    """Whether the documentation has the page and its anchor."""
    if link[2] is None:
        return True
    page = doc / (link[2] + "index.html" if link[2].endswith("/") else link[2])
    return page.is_file() and (link[3] is None or f'id="{link[3]}"' in page.read_text())


if __name__ == "__main__":
    main()
