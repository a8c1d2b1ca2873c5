"""Files that are replaced, truncated, deleted, made unreadable or overwritten while they are read.

Each row is a row of the old or of the new file. A file's rows are all of the one or all of the other, each once,
or there is an error that names the file. A state is refused once a file is another.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from . import files, processes, reading
from .checks import Context, Tally

FILES, RECORDS, BLOCK, BATCH = 3, 800, 20, 16
# Added to the ids of new files.
NEW = 1_000_000
# A user who may read nothing that others may not.
NOBODY = 65534

Action = Callable[[Path, Path, bytes], None]


def _replace(path: Path, new: Path, _: bytes) -> None:
    copy = path.with_suffix(".copy")
    shutil.copyfile(new, copy)
    copy.replace(path)


def _truncate(part: str, path: Path, _new: Path, data: bytes) -> None:
    ranges = files.blocks(data)
    middle = ranges[len(ranges) // 2]
    size = {"nothing": 0, "the header": 30, "a block": middle.start + 9, "blocks": middle.start}
    os.truncate(path, size[part])


def _delete(path: Path, _new: Path, _: bytes) -> None:
    path.unlink()


def _make_unreadable(path: Path, _new: Path, _: bytes) -> None:
    path.chmod(0)


def _become_folder(path: Path, _new: Path, _: bytes) -> None:
    path.unlink()
    path.mkdir()


def _overwrite(path: Path, new: Path, _: bytes) -> None:
    with path.open("r+b") as file:
        file.write(new.read_bytes())


def _append(path: Path, new: Path, _: bytes) -> None:
    with path.open("ab") as file:
        file.write(new.read_bytes())


ACTIONS: dict[str, Action] = {
    "replaced": _replace,
    "truncated to nothing": partial(_truncate, "nothing"),
    "truncated in the header": partial(_truncate, "the header"),
    "truncated in a block": partial(_truncate, "a block"),
    "truncated between blocks": partial(_truncate, "blocks"),
    "deleted": _delete,
    "unreadable": _make_unreadable,
    "a folder": _become_folder,
    "overwritten": _overwrite,
    "appended to": _append,
}

OPTIONS: dict[str, dict[str, Any]] = {
    "in order": {"prefetch": 0, "reader_buffer_size": 2048},
    "shuffled": {"shuffle_buffer_size": 300, "shuffle_blocks": True, "seed": 4},
    "headers later": {"check_files": False, "reader_buffer_size": 2048},
    "two epochs": {"epochs": 2, "shuffle_files": True, "seed": 1, "num_parallel_calls": 3},
    "skip_block": {"on_error": "skip_block", "reader_buffer_size": 2048, "prefetch": 0},
}


@dataclass(frozen=True)
class Case:
    """What happens to a file, and when."""

    action: str
    options: str
    # Batches that are taken before.
    taken: int
    # The number of the file.
    file: int


def run(context: Context) -> Tally:
    """All actions, at some moments each, on files that are being read and files that are not yet."""
    tally = Tally()
    random = context.random("moments")
    batches = FILES * RECORDS // BATCH
    cases = []
    for action in ACTIONS:
        for options in OPTIONS:
            for _ in range(1 if context.quick else 12):
                moment = random.randrange(1, batches)
                cases.append(Case(action, options, moment, random.randrange(FILES)))
    if context.quick:
        cases = random.sample(cases, len(cases) // 2)
    for number, case in enumerate(cases):
        folder = context.folder / f"{number}"
        folder.mkdir()
        folder.chmod(0o777)
        answer, failure = processes.isolated(partial(_examine, context, folder, case))
        if failure:
            tally.fail(f"{case}: {failure}")
        else:
            tally.add(answer)
        shutil.rmtree(folder)
    return tally


def _examine(context: Context, folder: Path, case: Case) -> Tally:
    tally = Tally().begin("rows")
    codec = "deflate" if case.taken % 2 else "null"
    (folder / "new").mkdir()
    data, new = [], []
    for number in range(FILES):
        data.append(files.write(folder / f"{number}.avro", number * RECORDS, RECORDS, BLOCK, codec))
        first = NEW + number * RECORDS
        new.append(files.write(folder / f"new/{number}.avro", first, RECORDS, BLOCK, codec))
    for path in (folder / "new", *data, *new):
        path.chmod(0o777)
    if os.getuid() == 0:
        for path in data:
            os.chown(path, NOBODY, NOBODY)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    options = OPTIONS[case.options]
    dataset = reading.dataset([str(path) for path in data], BATCH, **options)
    batches = iter(dataset)
    before = [row for _ in range(case.taken) for row in reading.rows(next(batches))]
    state = batches.state_dict()
    path = data[case.file]
    ACTIONS[case.action](path, new[case.file], path.read_bytes())
    after, error = reading.taken(batches)
    skipped = dataset.skipped()
    batches.close()
    if context.plant:
        # A reader that takes an error for the end of the data.
        error, skipped = None, []
    _judge(case, before, after, error, skipped, path, tally)
    if context.plant:
        # A data set that begins anew.
        state = None
    _resume(case, data, options, state, path, tally.begin("state"))
    tally.count("cases")
    tally.count("with an error" if error else "without", 1)
    return tally


def _judge(
    case: Case,
    before: list[files.Row],
    after: list[files.Row],
    error: Exception | None,
    skipped: list[Any],
    path: Path,
    tally: Tally,
) -> None:
    epochs = OPTIONS[case.options].get("epochs", 1)
    rows = before + after
    for row in rows:
        if row != files.row(files.record(row[0])):
            tally.fail(f"{case}: a row of neither file: {row}")
            return
    own = range(case.file * RECORDS, (case.file + 1) * RECORDS)
    found: dict[int, int] = {}
    for row in rows:
        found[row[0]] = found.get(row[0], 0) + 1
    strangers = [id_ for id_ in found if id_ >= NEW and id_ - NEW not in own]
    tally.expect(not strangers, f"{case}: ids of other files: {strangers[:5]}")
    most = max(found.values(), default=0)
    tally.expect(most <= epochs, f"{case}: an id comes {most} times")
    if error is not None:
        is_named = str(path) in str(error)
        tally.expect(is_named, f"{case}: the error does not name {path}: {error}")
        return
    others = [n for n in range(FILES * RECORDS) if n not in own and found.get(n, 0) != epochs]
    tally.expect(not others, f"{case}: records of other files are lost: {others[:5]}")
    if skipped:
        tally.count("losses that are listed", len(skipped))
        return
    in_place = case.action in ("overwritten", "appended to")
    old = sum(found.get(n, 0) for n in own)
    new = sum(found.get(n + NEW, 0) for n in own)
    what = f"{case}: {old} old and {new} new rows, and no error"
    is_new = not any(row[0] in own for row in before)
    is_next_epoch = old == RECORDS + RECORDS // 2
    if case.action == "truncated between blocks" and (is_new or is_next_epoch):
        # A shorter file is a file, if nothing of it was read before in the epoch.
        tally.count("shorter files, which nothing can tell")
        return
    if in_place:
        tally.expect(old + new >= RECORDS * epochs, what)
    else:
        is_whole = old % RECORDS == 0 and new % RECORDS == 0 and old + new == RECORDS * epochs
        tally.expect(is_whole, what)


def _resume(
    case: Case, data: list[Path], options: dict[str, Any], state: Any, path: Path, tally: Tally
) -> None:
    """A data set of the files as they are now does not go on from the state of the old ones."""
    if case.action in ("unreadable", "truncated between blocks", "overwritten"):
        # Sizes and markers may be the same.
        return
    given: list[files.Row] = []
    error: Exception | None = None
    try:
        dataset = reading.dataset([str(path) for path in data], BATCH, **options)
        if state is not None:
            dataset.load_state_dict(state)
        given, error = reading.taken(dataset)
    except reading.ERRORS as raised:
        error = raised
    tally.count("states of other files")
    if case.action == "replaced":
        # The same size, marker and number of records: a copy with other values cannot be told.
        return
    refused = error is not None and not given
    tally.expect(refused, f"{case}: the state is accepted for {path}: {len(given)} rows, {error}")
