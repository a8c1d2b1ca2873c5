"""The command behind `make faults`: injects faults, and checks what becomes of the data."""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from . import changes, kills, load, read_errors, while_read, writing
from .checks import PRINTED, Check, Context

CHECKS = {
    "changes": Check(
        changes.run, "a crash, a hang, rows that are others, losses and damage that are not told"
    ),
    "read_errors": Check(read_errors.run, "failed reads give other bytes, harmless ones fail"),
    "writing": Check(
        writing.run, "failed writes say that all went well, disks are not full, files are cut"
    ),
    "while_read": Check(
        while_read.run, "an error is taken for the end of the data, a state is not loaded"
    ),
    "load": Check(load.run, "a row is lost, memory and files are kept"),
    "kills": Check(kills.run, "a consumer that goes on loses or repeats a batch, raises or hangs"),
}


def main() -> None:
    """Run the checks, print a line for each, and end with 1 if one does not hold."""
    options = parse_options()
    started = time.monotonic()
    held = [run(name, options) for name in options.only or CHECKS]
    seconds = time.monotonic() - started
    what = "find their own faults" if options.fault else "hold"
    print(f"faults: {sum(held)} of {len(held)} checks {what}, {seconds:.0f} s, seed {options.seed}")
    sys.exit(0 if all(held) else 1)


def run(name: str, options: argparse.Namespace) -> bool:
    """Run a check. Returns whether it holds, or with `--fault`, whether it fails."""
    check = CHECKS[name]
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix=f"atds-faults-{name}-", dir=options.folder))
    # Some cases run as another user.
    folder.chmod(0o755)
    context = Context(
        command=options.atds,
        folder=folder,
        quick=options.quick,
        seed=options.seed,
        plant=options.fault,
        jobs=options.jobs,
        kills=options.kills,
        every_value=options.every_value,
    )
    try:
        tally = check.run(context)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - started
    failed = len(tally.failures)
    if options.fault:
        unseen = [part for part, number in tally.parts.items() if number == 0]
        verdict = f"each of {len(tally.parts)} parts fails, as it must: {check.fault}"
        if unseen or not failed:
            verdict = f"DOES NOT FIND ITS FAULTS in {', '.join(unseen) or 'any part'}"
            failed = 0
    else:
        verdict = f"FAILS {failed:,} times" if failed else "holds"
    print(f"{name}: {verdict}; {tally.summary()}; {seconds:.0f} s", flush=True)
    if not options.fault:
        for failure in tally.failures[:PRINTED]:
            print(f"  {failure[:2000]}", flush=True)
        if options.keep:
            print(f"  files: {folder}", flush=True)
    return bool(failed) == options.fault


def parse_options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="a sample of the cases, in less than 90 s")
    add("--fault", action="store_true", help="plant each check's own fault: it must fail")
    add("--only", nargs="+", choices=CHECKS, metavar="NAME", help=", ".join(CHECKS))
    add("--seed", type=int, help="of all samples [default: 1 with --quick, else a random one]")
    add("--kills", type=int, help="number of kills [default: 1,000; with --quick few]")
    add("--every-value", action="store_true", help="change bytes to all values: takes hours")
    add("--jobs", type=int, default=os.cpu_count(), help="processes side by side")
    add("--atds", default=os.environ.get("ATDS", "target/debug/atds"), help="the command")
    add("--folder", help="where files are made [default: the system's temporary folder]")
    add("--keep", action="store_true", help="keep the files")
    options = parser.parse_args()
    options.atds = str(Path(options.atds).resolve())
    if not Path(options.atds).is_file():
        parser.error(f"no command at {options.atds}: set ATDS, or --atds")
    if options.seed is None:
        options.seed = 1 if options.quick else random.SystemRandom().randrange(1 << 32)
    return options


if __name__ == "__main__":
    main()
