"""Every changed byte and every truncation of small files of each codec.

A reader may fail at a change, or not see it. It may not crash, hang, or give a value that neither fastavro
gives for the same bytes nor the healthy file has, and it may not end early without an error.
"""

import json
import os
import signal
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import atds

from . import files, processes, reading
from .checks import Context, Tally

RECORDS, BLOCK = 12, 4

# Of one file and one codec, a case in so many is taken in the quick form; and a command in so many cases.
QUICK_EVERY = 97
REPAIR_EVERY = 23

# Files that one run of `atds verify` is given.
VERIFIED = 200

# Each bit, every second one, and all of them.
CHANGES = [*(1 << bit for bit in range(8)), 0x55, 0xAA, 0xFF]

# How long a case may take, where the fault of one is that it hangs.
PLANTED_SECONDS = 4


@dataclass(frozen=True)
class Case:
    """A change of a file."""

    codec: str
    at: int
    # What is xored to the byte, or None for a file that ends before it.
    change: int | None

    def apply(self, data: bytes) -> bytes:
        """The damaged file."""
        if self.change is None:
            return data[: self.at]
        return data[: self.at] + bytes([data[self.at] ^ self.change]) + data[self.at + 1 :]


def run(context: Context) -> Tally:
    """All cases, through the package and the command."""
    tally = Tally()
    healthy = {}
    for codec in files.CODECS:
        path = files.write(context.folder / f"{codec}.avro", 1000, RECORDS, BLOCK, codec)
        healthy[codec] = path.read_bytes()
    cases = _cases(context, healthy)
    examine = partial(_examine, context, healthy)
    seconds = PLANTED_SECONDS if context.plant else processes.SECONDS
    tally.begin("no crash").begin("no hang")
    tally.add(processes.side_by_side(cases, examine, context.jobs, seconds))
    parts = [cases[first : first + VERIFIED] for first in range(0, len(cases), VERIFIED)]
    verify = partial(_verify, context, healthy)
    tally.add(processes.side_by_side(list(enumerate(parts)), verify, context.jobs, 600))
    return tally


def _cases(context: Context, healthy: dict[str, bytes]) -> list[Case]:
    changes: list[int | None] = [None, *(range(1, 256) if context.every_value else CHANGES)]
    cases = [
        Case(codec, at, change)
        for codec, data in healthy.items()
        for at in range(len(data))
        for change in changes
    ]
    if context.quick:
        sample = context.random("changes").sample(cases, len(cases) // QUICK_EVERY)
        cases = [case for case in cases if case.at == 0] + sample
    return cases


def _examine(context: Context, healthy: dict[str, bytes], case: Case) -> Tally:
    """Compare the package's answer with fastavro's."""
    if context.plant:
        _crash_or_hang(case)
    data = case.apply(healthy[case.codec])
    whole, _ = files.read(healthy[case.codec])
    theirs, they_end = files.read(data)
    path = _path(context, "case")
    path.write_bytes(data)
    ours, error, _ = reading.read(str(path))
    if context.plant and ours:
        # A value that is nobody's.
        ours[-1] = (ours[-1][0] + 1, *ours[-1][1:])
    tally = Tally().begin("read")
    tally.count("cases")
    tally.count("with an error" if error else "without", 1)
    is_prefix = ours in (theirs[: len(ours)], whole[: len(ours)])
    tally.expect(is_prefix, f"{case}: rows {ours}, fastavro's are {theirs}")
    if error is None:
        is_whole = ours == whole or (they_end and ours == theirs)
        tally.expect(is_whole, f"{case}: {len(ours)} rows without an error, fastavro {theirs}")
    _skip(context, case, data, healthy[case.codec], path, theirs, tally.begin("skip_block"))
    _skip_file(context, case, path, error is None, ours, tally.begin("skip_file"))
    return tally


def _crash_or_hang(case: Case) -> None:
    """In two cases that all samples have."""
    if case.change == 1 and case.at == 0:
        if case.codec == "null":
            os.kill(os.getpid(), signal.SIGSEGV)
        if case.codec == "snappy":
            time.sleep(3600)


def _skip(
    context: Context,
    case: Case,
    data: bytes,
    healthy: bytes,
    path: Path,
    theirs: list[files.Row],
    tally: Tally,
) -> None:
    """With `skip_block`: only rows of one of the two files, each of the blocks that were not hit, and no
    loss without a line in the list."""
    ours, error, skipped = reading.read(str(path), on_error="skip_block")
    if context.plant:
        # A row that is lost.
        ours = ours[1:]
    whole, _ = files.read(healthy)
    ranges = files.blocks(healthy)
    hit = {number for number, block in enumerate(ranges) if _is_hit(case, block)}
    may = Counter(whole) | Counter(theirs)
    for number in hit:
        rest = data[: ranges[0].start] + data[ranges[number].start :]
        # Records after one whose text is not UTF-8 can be found.
        may |= Counter(files.read(rest)[0]) | Counter(files.read(rest, "replace")[0])
    tally.expect(not Counter(ours) - may, f"{case}: skip_block gives {Counter(ours) - may}")
    tally.count("cases of skip_block")
    if error is not None:
        # Nothing can be read without the header.
        in_header = case.at < ranges[0].start
        tally.expect(in_header and not ours, f"{case}: skip_block raises {error}")
        return
    tally.count("records given by skip_block", len(ours))
    if case.at >= ranges[0].start:
        kept = [r for n in range(len(ranges)) if n not in hit for r in whole[n * BLOCK :][:BLOCK]]
        tally.expect(not Counter(kept) - Counter(ours), f"{case}: skip_block loses healthy blocks")
    if not skipped:
        # Then it is what is read without it.
        plain, plain_error, _ = reading.read(str(path))
        tally.expect(plain_error is None and plain == ours, f"{case}: a loss that is not listed")
    else:
        tally.count("losses that are listed", len(skipped))


def _skip_file(
    context: Context,
    case: Case,
    path: Path,
    is_well: bool,
    plain: list[files.Row],
    tally: Tally,
) -> None:
    """With `skip_file`: all of a file without an error, nothing of another."""
    ours, error, skipped = reading.read(str(path), on_error="skip_file")
    if context.plant:
        # As if nothing was left out.
        skipped = []
    if error is None:
        tally.expect(ours == (plain if is_well else []), f"{case}: skip_file gives {ours}")
        tally.expect(is_well != bool(skipped), f"{case}: skip_file lists {skipped}")
    else:
        tally.expect(not ours and not is_well, f"{case}: skip_file raises {error}")
        tally.count(f"{type(error).__name__} with skip_file")


def _is_hit(case: Case, block: range) -> bool:
    if case.change is None:
        return case.at < block.stop
    return case.at in block


def _verify(context: Context, healthy: dict[str, bytes], part: tuple[int, list[Case]]) -> Tally:
    """Run `atds verify` on many files, and `atds repair` and `atds head` on some."""
    number, cases = part
    tally = Tally().begin("verify")
    folder = context.folder / f"verify-{number}"
    folder.mkdir()
    paths = {str(folder / f"{i:04}.avro"): case for i, case in enumerate(cases)}
    for path, case in paths.items():
        Path(path).write_bytes(case.apply(healthy[case.codec]))
    command = [context.command, "verify", "--json", str(folder)]
    ran = processes.run(command, seconds=600)
    tally.expect(ran.crash is None, f"verify of {cases[0]} and others: {ran.crash}")
    answers = {}
    for line in ran.out.splitlines():
        answer = json.loads(line)
        answers[answer.get("file")] = answer
    for i, (path, case) in enumerate(paths.items()):
        answer = answers.get(path)
        if answer is None:
            tally.fail(f"{case}: verify says nothing")
            continue
        tally.count("files verified")
        rows, error, _ = reading.read(path)
        # The fault is to take all files for healthy ones.
        is_well = answer["well"] is True or context.plant
        # All fields are read, so that both see the same; but a field of another name is well.
        is_same = is_well == (error is None) or (is_well and isinstance(error, atds.FeatureError))
        tally.expect(is_same, f"{case}: verify says well={is_well}, reading {error}")
        if i % REPAIR_EVERY == 0:
            _repair(context, case, path, rows, healthy[case.codec], tally.begin("repair"))
            _skip_in_bench(context, case, path, tally.begin("bench"))
            tally.begin("verify")
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    return tally


def _repair(
    context: Context, case: Case, path: str, rows: list[files.Row], healthy: bytes, tally: Tally
) -> None:
    out = Path(path).with_suffix(".mended")
    ran = processes.run([context.command, "repair", path, str(out)])
    tally.count("repairs")
    tally.expect(ran.crash is None, f"{case}: repair: {ran.crash}")
    tally.expect(out.exists() == (ran.code == 0), f"{case}: repair {ran.code}: {ran.err}")
    if ran.code == 0:
        again, error, _ = reading.read(str(out))
        if context.plant and again:
            # A value that is nobody's.
            again[0] = (again[0][0] + 1, *again[0][1:])
        is_well = error is None or isinstance(error, atds.FeatureError)
        tally.expect(is_well, f"{case}: the mended file has an error: {error}")
        known = [files.read(healthy)[0], files.read(Path(path).read_bytes())[0], rows]
        other = Counter(again) - (Counter(known[0]) | Counter(known[1]) | Counter(known[2]))
        tally.expect(not other, f"{case}: the mended file has {other}")
        out.unlink()
    ran = processes.run([context.command, "head", "-n", "100", path])
    tally.expect(ran.crash is None, f"{case}: head: {ran.crash}")


def _skip_in_bench(context: Context, case: Case, path: str, tally: Tally) -> None:
    """The command reads as many records as the package, and lists the same damage."""
    rows, error, skipped = reading.read(path, on_error="skip_block")
    log = Path(path).with_suffix(".log")
    skipping = ["--on-error", "skip_block", "--skip-log", str(log)]
    ran = processes.run([context.command, "bench", "--json", *skipping, path])
    tally.expect(ran.crash is None, f"{case}: bench: {ran.crash}")
    # It infers the features, so that a field of another name is well.
    is_named = not isinstance(error, atds.FeatureError)
    is_same = (ran.code == 0) == (error is None) or not is_named
    tally.expect(is_same, f"{case}: bench {ran.code}: {ran.err}")
    if ran.code == 0 and is_named:
        records = json.loads(ran.out)["records"]
        tally.expect(records == len(rows), f"{case}: bench reads {records}, not {len(rows)}")
        if context.plant:
            # A place of damage that is not listed.
            skipped = [*skipped, None]
        lines = log.read_text().splitlines()
        tally.expect(len(lines) == len(skipped), f"{case}: {lines} are not {skipped}")
    log.unlink(missing_ok=True)


def _path(context: Context, name: str) -> Path:
    """A file of this process."""
    return context.folder / f"{name}-{os.getpid()}.avro"
