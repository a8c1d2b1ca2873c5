"""A Python environment for one page of the documentation, with only the packages that the page
installs.

Packages are links to the packages of the Python that runs this script. `pip`, `make` and `cargo`
are stand-ins that check what a page tells its reader to do, without building everything again.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

PACKAGE = "avro-tensor-dataset"

#: Distributions that stand for others in the tests' environment.
STAND_INS = {"tensorflow": "tensorflow-cpu"}

#: The profile of all builds of examples, so that they compile `atds` and its dependencies once.
RUST_BUILD = {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_INCREMENTAL": "0"}

#: Options of `pip install` with a value.
VALUED = {"-f", "--find-links"}


class NotInstalled(Exception):
    """A package that this Python does not have."""


class PageVenv:
    """The environment in a folder; with `atds` and NumPy from the beginning."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self.folder = folder
        #: The file to which `pip` writes the name of a missing package.
        self.missing = folder / "missing"
        self._repository = repository
        if not folder.exists():
            venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
            for name in ("pip", "make", "cargo"):
                self._script(name, f"exec {shlex.quote(sys.executable)} {__file__} {name} ")
            self.install(Requirement(PACKAGE))

    @property
    def python(self) -> Path:
        return self.folder / "bin/python"

    def environment(self) -> dict[str, str]:
        """Environment variables for a command, without variables that make other packages visible."""
        dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        path = f"{self.folder / 'bin'}{os.pathsep}{kept.get('PATH', os.defpath)}"
        of_stand_ins = {
            "EXAMPLES_VENV": str(self.folder),
            "EXAMPLES_PATH": kept.get("PATH", ""),
        }
        quiet = {
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "HF_HUB_OFFLINE": "1",
            "JAX_PLATFORMS": "cpu",
        }
        home = Path.home()
        rust = {
            "CARGO_HOME": str(home / ".cargo"),
            "RUSTUP_HOME": str(home / ".rustup"),
        }
        own = {"PATH": path, "HOME": str(self.folder)}
        return rust | kept | own | of_stand_ins | quiet

    def install(self, requirement: Requirement) -> None:
        """Links a distribution and its dependencies."""
        version = find(requirement.name).version
        if not requirement.specifier.contains(version, prereleases=True):
            raise NotInstalled(str(requirement))
        todo, seen = [requirement], set()
        while todo:
            requirement = todo.pop()
            key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
            if key in seen:
                continue
            seen.add(key)
            distribution = find(requirement.name)
            self._link(distribution)
            for line in distribution.requires or []:
                needed = Requirement(line)
                extras = requirement.extras or {""}
                if needed.marker and not any(
                    needed.marker.evaluate({"extra": extra}) for extra in extras
                ):
                    continue
                # A missing package of an extra is not the page's fault.
                if has(needed.name) or "extra" in str(needed.marker or ""):
                    todo.append(needed)

    def _link(self, distribution: metadata.Distribution) -> None:
        site = Path(next(self.folder.glob("lib/python*/site-packages")))
        parts = {file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."}
        sources = [Path(str(distribution.locate_file(part))) for part in parts]
        if canonicalize_name(distribution.name) == PACKAGE and "atds" not in parts:
            # Installed from its sources, in place.
            sources = [source for source in sources if source.suffix != ".pth"]
            sources.append(package_folder())
        for source in sources:
            target = site / source.name
            if source.name != "__pycache__" and not target.exists():
                target.symlink_to(source)
        for entry in distribution.entry_points.select(group="console_scripts"):
            call = f"import sys; from {entry.module} import {entry.attr} as main; sys.exit(main())"
            name = shlex.quote(f"sys.argv[0] = '{entry.name}'")
            self._script(
                entry.name,
                f'exec {self.python} -c "import sys; "{name}"; {call}" ',
            )

    def _script(self, name: str, text: str) -> None:
        script = self.folder / "bin" / name
        script.write_text(f'#!/bin/sh\n{text}"$@"\n')
        script.chmod(0o755)


def find(name: str) -> metadata.Distribution:
    for known in (name, STAND_INS.get(canonicalize_name(name), name)):
        try:
            return metadata.distribution(known)
        except metadata.PackageNotFoundError:
            continue
    raise NotInstalled(name)


def has(name: str) -> bool:
    try:
        find(name)
    except NotInstalled:
        return False
    return True


def package_folder() -> Path:
    import atds

    return Path(atds.__file__).parent


def pip(arguments: list[str], venv: PageVenv) -> None:
    """`pip install` of packages that this Python has already."""
    if arguments[:1] != ["install"]:
        sys.exit(f"pip {shlex.join(arguments)}: only pip install is known")
    rest = iter(arguments[1:])
    for argument in rest:
        if argument in VALUED:
            next(rest)
        elif not argument.startswith("-"):
            # A path of a wheel, which the tests do not build.
            wheel = re.search(r"avro_tensor_dataset-[^/\[]*\.whl(\[.*\])?$", argument)
            try:
                requirement = Requirement(PACKAGE + (wheel[1] or "") if wheel else argument)
            except InvalidRequirement as error:
                sys.exit(f"pip install {argument}: {error}")
            try:
                venv.install(requirement)
            except NotInstalled as error:
                venv.missing.write_text(str(error))
                sys.exit(f"{error} is not installed")


def make(arguments: list[str], repository: Path, path: str) -> None:
    """A dry run of `make` in the repository, which must have the target."""
    command = ["make", "-n", "-C", str(repository), *arguments]
    subprocess.run(command, check=True, env=os.environ | {"PATH": path}, stdout=subprocess.DEVNULL)


def cargo(arguments: list[str], repository: Path, path: str) -> None:
    """`cargo`, with the repository's crates for `--path`; the command `atds` is there already."""
    arguments = [in_repository(argument, repository) for argument in arguments]
    if arguments[:1] == ["install"]:
        manifest = Path(arguments[arguments.index("--path") + 1], "Cargo.toml")
        if 'name = "atds"' not in manifest.read_text():
            sys.exit(f"{manifest} has no command atds")
        return
    if arguments[:1] in (["add"], ["build"], ["run"]):
        arguments.insert(1, "--offline")
        lock = Path("Cargo.lock")
        if not lock.exists():
            lock.write_bytes((repository / "Cargo.lock").read_bytes())
    elif arguments[:1] != ["new"]:
        sys.exit(f"cargo {shlex.join(arguments)}: not known")
    target = os.environ.get("CARGO_TARGET_DIR", str(repository / "target"))
    env = os.environ | {"PATH": path, "CARGO_TARGET_DIR": target} | RUST_BUILD
    done = subprocess.run(["cargo", *arguments], check=False, env=env)
    sys.exit(done.returncode)


def in_repository(argument: str, repository: Path) -> str:
    """The path in this repository for a path in a clone."""
    found = re.search(r"(?:^|/)(crates/[\w-]+)$", argument)
    return str(repository / found[1]) if found else argument


def main() -> None:
    tool, arguments = sys.argv[1], sys.argv[2:]
    repository = Path(__file__).resolve().parents[1]
    path = os.environ["EXAMPLES_PATH"]
    if tool == "pip":
        pip(arguments, PageVenv(Path(os.environ["EXAMPLES_VENV"]), repository))
    elif tool == "make":
        make(arguments, repository, path)
    else:
        cargo(arguments, repository, path)


if __name__ == "__main__":
    main()
