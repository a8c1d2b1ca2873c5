"""The library that makes system calls fail, built from inject.c with the C compiler that Rust links with."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .checks import Context

NOT_BUILT = "no C compiler: nothing was injected"


@dataclass(frozen=True)
class Shim:
    """The built library, and where it notes that a call failed."""

    library: Path
    notes: Path

    def environment(self, path: str, call: str, **settings: int) -> dict[str, str]:
        """The environment of a process whose calls on `path` fail. The settings are those of inject.c."""
        self.notes.unlink(missing_ok=True)
        named = {f"FAULT_{name.upper()}": str(value) for name, value in settings.items()}
        return {
            "LD_PRELOAD": str(self.library),
            "FAULT_PATH": path,
            "FAULT_CALL": call,
            "FAULT_NOTE": str(self.notes),
            **named,
        }

    def injected(self) -> int:
        """How many calls failed since the environment was made."""
        return self.notes.stat().st_size if self.notes.exists() else 0


def build(context: Context) -> Shim | None:
    """Build the library into the check's folder; None if there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    library = context.folder / "inject.so"
    source = Path(__file__).with_name("inject.c")
    options = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *options, "-o", library, source, "-ldl"], check=True)
    return Shim(library, context.folder / "notes")
