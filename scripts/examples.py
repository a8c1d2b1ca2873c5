"""Runs every example of the documentation as it is printed; see CONTRIBUTING.md.

    python scripts/examples.py [--frameworks all] [PAGE..]

Each page is run from the top in a fresh folder. Only the Python package `atds` and the packages in
`pip install` lines of the page are installed there. The Python that runs this script must have all
of them.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from examples_venv import RUST_BUILD, NotInstalled, PageVenv

REPOSITORY = Path(__file__).resolve().parents[1]

#: The maximum number of seconds for a block.
TIMEOUT = 600

#: The page whose groups of schema, records, features and tensors a test of the crate runs.
EXPRESSIONS = Path("docs/expressions.md")
EXPRESSION_WORDS = {"schema", "reader-schema", "records", "features", "tensors"}

#: The page whose formats a crate compiles, with its build script.
FORMATS = Path("docs/adding-a-format.md")

#: The languages of blocks that are files.
FILE_LANGUAGES = {"json", "python", "rust", "toml", "sh"}

#: An opening fence, also within a list or an admonition.
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")
#: What a line that prints is said to print.
PRINTED = re.compile(r"^print\(.*\)  # (.+)$", re.MULTILINE)
TITLE = re.compile(r'title="([^"]+)"')


class Failed(Exception):
    """An example that does not do what it should."""


@dataclass
class Block:
    """A fenced block: the words after its fence, its text and the line of its fence."""

    info: str
    text: str
    line: int

    @property
    def words(self) -> list[str]:
        return TITLE.sub("", self.info).split()

    @property
    def language(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def title(self) -> str | None:
        """The name of the file, if the block is a file."""
        found = TITLE.search(self.info)
        return found[1] if found else None

    @property
    def is_output(self) -> bool:
        return "output" in self.words[1:]


@dataclass
class Report:
    """The results of a page's blocks."""

    page: Path
    ran: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failure: str | None = None

    def line(self) -> str:
        said = [f"{count} {kind}" for kind, count in self.ran.items()]
        said += [f"{count} skipped for want of {name}" for name, count in self.skipped.items()]
        return f"{self.page!s:<32} {', '.join(said) or 'no blocks'}"


def pages() -> list[Path]:
    found = [REPOSITORY / "README.md", REPOSITORY / "python/README.md"]
    found += sorted(REPOSITORY.glob("crates/*/README.md"))
    found += sorted(REPOSITORY.glob("docs/**/*.md"))
    return [page.relative_to(REPOSITORY) for page in found]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    opened: tuple[str, str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None:
            if fence:
                opened, lines = (fence["fence"], fence["info"].strip(), number), []
        elif fence and fence["fence"].startswith(opened[0]) and not fence["info"].strip():
            text = textwrap.dedent("\n".join(lines)) + "\n"
            found.append(Block(opened[1], text, opened[2]))
            opened = None
        else:
            lines.append(line)
    if opened is not None:
        raise Failed(f"the fence of line {opened[2]} is not closed")
    return found


def rust_program(block: Block) -> str:
    """The block as a program, made as rustdoc makes it, without hidden lines."""
    if "fn main" in block.text:
        return block.text
    body = textwrap.indent(block.text, "    ")
    result = "Result<(), Box<dyn std::error::Error>>"
    return f"fn main() -> {result} {{\n{body}    Ok(())\n}}\n"


class RustPrograms:
    """The blocks of Rust, compiled together in a package that depends on `atds` alone."""

    def __init__(self, folder: Path, programs: dict[str, str]) -> None:
        self._folder = folder
        self._target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve()
        (folder / "src/bin").mkdir(parents=True)
        for name, text in programs.items():
            (folder / "src/bin" / f"{name}.rs").write_text(text)
        path = REPOSITORY / "crates/atds"
        manifest = '[package]\nname = "atds-examples"\nversion = "0.0.0"\nedition = "2024"\n'
        manifest += f'[dependencies]\natds = {{ path = "{path}" }}\n'
        (folder / "Cargo.toml").write_text(manifest)
        (folder / "Cargo.lock").write_bytes((REPOSITORY / "Cargo.lock").read_bytes())
        if programs:
            command = ["cargo", "build", "--quiet", "--offline", "--bins"]
            env = os.environ | {"CARGO_TARGET_DIR": str(self._target)} | RUST_BUILD
            done = subprocess.run(
                command,
                cwd=folder,
                env=env,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise Failed(f"examples in Rust do not compile:\n{done.stderr}")

    def program(self, name: str) -> Path:
        return self._target / "debug" / name


class Page:
    """A page, whose blocks are run from the top."""

    def __init__(self, page: Path, all_frameworks: bool) -> None:
        self.path = page
        self.text = (REPOSITORY / page).read_text()
        self.blocks = blocks(self.text)
        self._all_frameworks = all_frameworks
        self._rust = {}
        is_crate = page.parts[0] == "crates"
        for block in self.blocks:
            if block.language == "rust" and not block.title and not is_crate:
                self._rust[self._rust_name(block)] = rust_program(block)

    def _rust_name(self, block: Block) -> str:
        return re.sub(r"\W+", "_", f"{self.path}_{block.line}").lower()

    @property
    def rust_programs(self) -> dict[str, str]:
        return self._rust

    def run(self, rust: RustPrograms) -> Report:
        report = Report(self.path)
        with tempfile.TemporaryDirectory(prefix="atds-page-") as folder:
            work = Path(folder, "work")
            work.mkdir()
            venv = PageVenv(Path(folder, "venv"), REPOSITORY)
            missing = None
            for number, block in enumerate(self.blocks):
                try:
                    kind = self._checked(block, self.blocks[number + 1 :])
                    if kind in ("sh", "python", "rust") and missing:
                        report.skipped[missing] += 1
                        continue
                    self._run(kind, block, work, venv, rust)
                    report.ran[kind] += 1
                except NotInstalled as error:
                    if self._all_frameworks:
                        report.failure = self._said(block, f"{error} is not installed")
                        break
                    missing = str(error)
                    report.skipped[missing] += 1
                except Failed as error:
                    report.failure = self._said(block, str(error))
                    break
        return report

    def _said(self, block: Block, what: str) -> str:
        return f"{self.path}:{block.line}: {what.rstrip()}"

    def _checked(self, block: Block, later: list[Block]) -> str:
        """The way in which the block is run, checked."""
        if block.is_output:
            return "output"
        if self.path == FORMATS and block.language == "rust" and block.title:
            build = (REPOSITORY / "test-formats/build.rs").read_text()
            if f'"{block.title}"' not in build:
                raise Failed(f"test-formats/build.rs does not take {block.title}")
            return "rust of test-formats"
        if block.title:
            if block.language not in FILE_LANGUAGES:
                raise Failed(f"a file in '{block.language}', which is not known")
            is_used = any(block.title.rpartition("/")[2] in other.text for other in later)
            if not is_used and block.language != "rust":
                raise Failed(f"no block after it uses the file {block.title}")
            return "file"
        if self.path == EXPRESSIONS and (
            (block.language == "json" and block.words[1:2] and block.words[1] in EXPRESSION_WORDS)
            or block.words in (["text", "error"], ["text", "grammar"])
        ):
            return "block of crates/atds/tests/docs"
        if block.language == "rust" and self.path.parts[0] == "crates":
            library = REPOSITORY / self.path.parent / "src/lib.rs"
            if '#![doc = include_str!("../README.md")]' not in library.read_text():
                raise Failed(f"{library} does not include the page, so that nothing runs it")
            return "rust by cargo test --doc"
        if block.language in ("sh", "python", "rust"):
            return block.language
        raise Failed(f"a block of '{block.info}': what it is, and how it is run, is not known")

    def _run(self, kind: str, block: Block, work: Path, venv: PageVenv, rust: RustPrograms) -> None:
        if kind == "file":
            file = work / (block.title or "")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif kind == "sh":
            venv.missing.unlink(missing_ok=True)
            try:
                execute(["bash", "-euo", "pipefail", "-c", block.text], work, venv)
            except Failed:
                if venv.missing.exists():
                    raise NotInstalled(venv.missing.read_text()) from None
                raise
        elif kind == "python":
            script = work.parent / f"line_{block.line}.py"
            script.write_text(block.text)
            check_printed(
                block, execute([str(venv.python), "-W", "ignore", str(script)], work, venv)
            )
        elif kind == "rust":
            execute([str(rust.program(self._rust_name(block)))], work, venv)


def check_printed(block: Block, output: str) -> None:
    """Checks that a `print` with a comment behind it prints that comment."""
    lines = output.splitlines()
    for expected in PRINTED.findall(block.text):
        if expected not in lines:
            raise Failed(f"no line of the output is {expected!r}:\n{output}")


def execute(command: list[str], work: Path, venv: PageVenv) -> str:
    """Runs a command in the page's folder, which must succeed, and returns its output."""
    try:
        done = subprocess.run(
            command,
            cwd=work,
            env=venv.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"takes longer than {TIMEOUT} s") from None
    if done.returncode != 0:
        said = "\n".join(done.stdout.splitlines()[-30:])
        raise Failed(f"ends with {done.returncode}:\n{said}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description="Run every example of the documentation.")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE")
    frameworks = os.environ.get("ATDS_FRAMEWORKS") or os.environ.get("FRAMEWORKS") or ""
    parser.add_argument("--frameworks", default=frameworks, help="all: skip nothing")
    arguments = parser.parse_args()
    try:
        walked = [Page(page, arguments.frameworks == "all") for page in arguments.pages or pages()]
        with tempfile.TemporaryDirectory(prefix="atds-rust-") as folder:
            programs = {name: text for page in walked for name, text in page.rust_programs.items()}
            rust = RustPrograms(Path(folder), programs)
            with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
                reports = list(pool.map(lambda page: page.run(rust), walked))
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    total: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for report in reports:
        print(report.line())
        total += report.ran
        skipped += report.skipped
    outputs = total.pop("output", 0)
    kinds = ", ".join(f"{count} {kind}" for kind, count in total.items())
    print(
        f"{total.total()} examples of {len(reports)} pages ran: {kinds}; {outputs} outputs",
        end="",
    )
    print(f"; {skipped.total()} skipped: make test FRAMEWORKS=all" if skipped else "")
    failures = [report.failure for report in reports if report.failure]
    for failure in failures:
        print(f"\n{failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
