"""Runs code in a new interpreter."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

#: Seconds after which a program that should end at once counts as hanging.
HANGS = 120


def run(code: str, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs code in a new interpreter, and waits for its end."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *args]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=HANGS, check=False, **options
    )


def succeeds(code: str, *args: str) -> str:
    done = run(code, *args)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()
