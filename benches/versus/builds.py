"""Builds the command twice: from the working tree, and from another commit."""

import os
import shutil
import subprocess
from pathlib import Path

from peers import machine

TARGET = (machine.REPOSITORY / os.environ.get("CARGO_TARGET_DIR", "target")).resolve()
BUILD = ["cargo", "build", "--release", "--locked", "-p", "atds-cli", "--bin", "atds"]


def working_tree() -> Path:
    """Build the command from the working tree."""
    subprocess.run(BUILD, cwd=machine.REPOSITORY, check=True)
    return TARGET / "release/atds"


def commit(reference: str) -> str:
    """The full hash of a commit."""
    command = ["git", "rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}"]
    done = subprocess.run(
        command, check=False, cwd=machine.REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise ValueError(f"REF={reference} is no commit here")
    return done.stdout.strip()


def of_commit(sha: str) -> Path:
    """Build the command from a commit, in a folder that later calls reuse."""
    folder = TARGET / "versus" / sha[:12]
    source = folder / "source"
    if not source.exists():
        _extract(sha, source)
    # It may depend on crates that the working tree does not. Without a network, those at hand must do.
    fetch = ["cargo", "fetch", "--quiet", "--locked"]
    offline = subprocess.run(
        [*fetch, "--offline"], check=False, cwd=source, stderr=subprocess.DEVNULL
    )
    if offline.returncode != 0:
        subprocess.run(fetch, cwd=source, check=True)
    target = folder / "target"
    subprocess.run([*BUILD, "--offline", "--target-dir", target], cwd=source, check=True)
    return target / "release/atds"


def _extract(sha: str, source: Path) -> None:
    """Write the files of a commit. They are no worktree of git, so nothing of them is left in .git."""
    partial = source.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with subprocess.Popen(
        ["git", "archive", sha], cwd=machine.REPOSITORY, stdout=subprocess.PIPE
    ) as archive:
        subprocess.run(["tar", "-x"], cwd=partial, stdin=archive.stdout, check=True)
    if archive.returncode != 0:
        raise RuntimeError(f"git archive {sha} ended with {archive.returncode}")
    partial.rename(source)
