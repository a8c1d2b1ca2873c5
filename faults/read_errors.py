"""Read errors, interrupted and short reads, injected at many places of a file.

A read error is an error that names the file and what the system says, after the rows before it, whatever
`on_error` is. Interrupted and short reads change nothing.
"""

import errno
import json
import os
import sys
from typing import Any

from . import files, processes, reading, shim
from .checks import Context, Tally

RECORDS, BLOCK = 240, 20
QUICK_PLACES, PLACES = 2, 40
COMMANDS = {
    "head": ["head", "-n", "1000"],
    "inspect": ["inspect"],
    "bench": ["bench", "--json", "--threads", "1"],
    "verify": ["verify", "--json"],
}
SAYS = "Input/output error"


def run(context: Context) -> Tally:
    """Inject all faults into the command, `atds repair` and the package."""
    tally = Tally()
    harmless = [{"eintr": 1}, {"most": 3}]
    if context.plant:
        harmless = [{"after": 0, "errno": errno.EIO}]
    library = shim.build(context)
    if library is None:
        tally.count(shim.NOT_BUILT, 0)
        return tally
    for codec in ("null", "deflate"):
        path = str(files.write(context.folder / f"{codec}.avro", 0, RECORDS, BLOCK, codec))
        size = os.path.getsize(path)
        number = QUICK_PLACES if context.quick else PLACES
        places = [0, *sorted(context.random(codec).sample(range(1, size), number))]
        for place in places:
            tally.begin("command")
            settings = {"after": place, "errno": errno.EIO, "lie": int(context.plant)}
            for name, arguments in COMMANDS.items():
                _command(
                    context, library, [*arguments, path], settings, f"{name} at {place}", tally
                )
            _repair(context, library, path, settings, tally.begin("repair"))
            for options in _options(context):
                _package(library, path, settings, options, tally.begin("package"))
        tally.begin("harmless")
        for name, arguments in COMMANDS.items():
            for fault in harmless:
                _harmless(context, library, name, [*arguments, path], fault, tally)
        for fault in harmless:
            _harmless_package(library, path, fault, tally)
    return tally


def _options(context: Context) -> list[dict[str, Any]]:
    options: list[dict[str, Any]] = [{}, {"on_error": "skip_block"}]
    if not context.quick:
        options.append({"shuffle_blocks": True, "shuffle_buffer_size": 50, "seed": 1})
        options.append({"reader_buffer_size": 100, "num_parallel_calls": 3})
    return options


def _command(
    context: Context,
    library: shim.Shim,
    arguments: list[str],
    settings: dict[str, int],
    what: str,
    tally: Tally,
) -> None:
    path = arguments[-1]
    environment = library.environment(path, "read", **settings)
    ran = processes.run([context.command, *arguments], environment)
    tally.expect(ran.crash is None, f"{what}: {ran.crash}")
    if not library.injected():
        # The place is in bytes that are not read again, or the last.
        tally.expect(ran.code == 0, f"{what}: no read failed, but: {ran.err}")
        tally.count("runs without a failed read")
        return
    tally.count("failed reads of the command")
    said = ran.out + ran.err
    is_named = SAYS in said and path in said
    tally.expect(ran.code == 1 and is_named, f"{what}: {ran.code}: {said[-300:]}")


def _repair(
    context: Context, library: shim.Shim, path: str, settings: dict[str, int], tally: Tally
) -> None:
    out = context.folder / "mended.avro"
    environment = library.environment(path, "read", **settings)
    ran = processes.run([context.command, "repair", path, str(out)], environment)
    what = f"repair at {settings['after']}"
    tally.expect(ran.crash is None, f"{what}: {ran.crash}")
    if library.injected():
        tally.count("failed reads of the command")
        tally.expect(ran.code == 1 and SAYS in ran.err, f"{what}: {ran.code}: {ran.err[-300:]}")
        tally.expect(not out.exists(), f"{what}: there is a file")
    out.unlink(missing_ok=True)


def _package(
    library: shim.Shim,
    path: str,
    settings: dict[str, int],
    options: dict[str, Any],
    tally: Tally,
) -> None:
    what = f"{path} at {settings['after']} with {options}"
    answer = _read(library, path, settings, options, what, tally)
    if answer is None:
        return
    whole = list(range(RECORDS))
    ids, kind = answer["ids"], answer["kind"]
    if not library.injected():
        tally.expect(kind is None and sorted(ids) == whole, f"{what}: no read failed, but {answer}")
        return
    tally.count("failed reads of the package")
    tally.expect(kind == "FileError", f"{what}: {answer}")
    tally.expect(SAYS in answer["error"] and path in answer["error"], f"{what}: {answer['error']}")
    tally.expect(len(set(ids)) == len(ids) < RECORDS, f"{what}: ids {ids}")
    if "shuffle_blocks" not in options:
        tally.expect(ids == whole[: len(ids)], f"{what}: ids {ids}")


def _harmless(
    context: Context,
    library: shim.Shim,
    name: str,
    arguments: list[str],
    fault: dict[str, int],
    tally: Tally,
) -> None:
    plain = processes.run([context.command, *arguments])
    environment = library.environment(arguments[-1], "read", **fault)
    ran = processes.run([context.command, *arguments], environment)
    tally.count("runs with short or interrupted reads")
    what = f"{name} with {fault}"
    tally.expect(ran.code == 0 and ran.crash is None, f"{what}: {ran.err[-300:]}")
    tally.expect(library.injected() > 0, f"{what}: nothing was injected")
    if name != "bench":
        tally.expect(ran.out == plain.out, f"{what}: another answer: {ran.out[:300]}")


def _harmless_package(library: shim.Shim, path: str, fault: dict[str, int], tally: Tally) -> None:
    what = f"{path} with {fault}"
    answer = _read(library, path, fault, {}, what, tally)
    if answer is not None:
        tally.count("runs with short or interrupted reads")
        tally.expect(library.injected() > 0, f"{what}: nothing was injected")
        whole = list(range(RECORDS))
        tally.expect(answer["ids"] == whole and answer["kind"] is None, f"{what}: {answer}")


def _read(
    library: shim.Shim,
    path: str,
    settings: dict[str, int],
    options: dict[str, Any],
    what: str,
    tally: Tally,
) -> dict[str, Any] | None:
    """Read with the package in a process whose reads fail."""
    command = [sys.executable, "-m", "faults.read_errors", path, json.dumps(options)]
    ran = processes.run(command, library.environment(path, "read", **settings))
    if ran.crash is not None or ran.code != 0:
        tally.fail(f"{what}: {ran.crash or ran.err}")
        return None
    answer: dict[str, Any] = json.loads(ran.out)
    return answer


def main() -> None:
    """Read a file, and print the ids and the error."""
    path, options = sys.argv[1], json.loads(sys.argv[2])
    rows, error, _ = reading.read(path, batch=16, **options)
    kind = type(error).__name__ if error else None
    print(json.dumps({"ids": [row[0] for row in rows], "kind": kind, "error": str(error)}))


if __name__ == "__main__":
    main()
