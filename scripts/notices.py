"""Writes the licences of all code that is linked into the wheel to python/THIRD-PARTY-NOTICES.txt.

The licences come from the sources of the crates in Cargo.lock, and of the C libraries in them. scripts/wheels.sh
calls this before it builds.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTICES = ROOT / "python" / "THIRD-PARTY-NOTICES.txt"
CRATE = "atds-python"

HEADER = """\
Third-party notices

The native module of this package has code of the projects below linked into it. Each is listed with the licence that it
names, above each text that comes with its sources; a text that several have stands once, below all their names. Made by
scripts/notices.py.
"""

#: Code in the module that belongs to no crate of Cargo.lock.
OTHERS = {
    "The Rust standard library (MIT OR Apache-2.0)": "Copyright (c) The Rust Project Contributors",
    "FarmHash, whose Fingerprint64 is written anew in Rust (MIT)": "Copyright (c) 2014 Google, Inc.",
}

MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.
"""

RULE = "\n" + "=" * 80 + "\n\n"


def linked_packages() -> list[dict]:
    """The third-party crates that are linked into the module on this platform."""
    host = re.search("^host: (.*)$", output("rustc", "-vV"), re.MULTILINE)[1]
    metadata = json.loads(
        output("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host)
    )
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    linked = set()
    waiting = [id for id, package in packages.items() if package["name"] == CRATE]
    while waiting:
        id = waiting.pop()
        # Macros run at build time, and leave none of their code in the module.
        is_macro = any("proc-macro" in target["kind"] for target in packages[id]["targets"])
        if id in linked or is_macro:
            continue
        linked.add(id)
        for dependency in nodes[id]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    others = [packages[id] for id in linked if packages[id]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def output(*command: str) -> str:
    """The output of a command."""
    return subprocess.run(
        command, cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout


def texts(package: dict) -> list[str]:
    """The licences in the sources of a crate, and of the C library in one of its folders."""
    folder = Path(package["manifest_path"]).parent
    name = re.compile(r"(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE)
    found = []
    for path in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        if not (path.is_file() and name.match(path.name)) or path.suffix in (
            ".rs",
            ".sh",
            ".c",
            ".h",
        ):
            continue
        text = (
            path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip("\n")
            + "\n"
        )
        # xz has it for parts that are not built; zstd offers it beside the BSD licence.
        if "GENERAL PUBLIC LICENSE" not in text[:500] and text not in found:
            found.append(text)
    if not found:
        sys.exit(
            f"error: {package['name']} {package['version']} comes without the text of its licence"
        )
    return found


def notices() -> str:
    by_text: dict[str, list[str]] = {}
    for package in linked_packages():
        title = f"{package['name']} {package['version']} ({package['license']})"
        for text in texts(package):
            by_text.setdefault(text, []).append(title)
    sections = ["\n".join(titles) + "\n\n" + text for text, titles in by_text.items()]
    sections += [f"{title}\n\n{holder}\n\n{MIT}" for title, holder in OTHERS.items()]
    return RULE.join([HEADER, *sections])


if __name__ == "__main__":
    NOTICES.write_text(notices(), encoding="utf-8")
