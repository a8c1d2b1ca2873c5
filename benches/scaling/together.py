"""Runs processes of the command at the same time."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Together:
    """The figures of processes that ran together."""

    # The sum of the processes' rates, each over its own epochs after the first.
    records_per_s: float
    # The records of all processes over the time of the slowest one.
    records_per_s_of_slowest: float
    # The longest epoch, first epoch, and the time besides epochs (start and end of the processes).
    epoch_seconds: float
    first_epoch_seconds: float
    other_seconds: float


def together(commands: list[list[str]], timeout: float) -> Together:
    """Run commands of `atds bench --json` at the same time. The first epoch does not count.

    Raises RuntimeError if one fails, and TimeoutError if they are not done after `timeout` seconds.
    """
    started = time.monotonic()
    outputs = _outputs(commands, started + timeout)
    took = time.monotonic() - started
    figures = [json.loads(output) for output in outputs]
    counted = [sum(each["epoch_seconds"][1:]) for each in figures]
    records = [_counted_records(each) for each in figures]
    whole = max(sum(each["epoch_seconds"]) for each in figures)
    return Together(
        records_per_s=sum(n / seconds for n, seconds in zip(records, counted, strict=True)),
        records_per_s_of_slowest=sum(records) / max(counted),
        epoch_seconds=max(counted) / (len(figures[0]["epoch_seconds"]) - 1),
        first_epoch_seconds=max(each["epoch_seconds"][0] for each in figures),
        other_seconds=max(0.0, took - whole),
    )


def _counted_records(figures: dict) -> int:
    epochs = len(figures["epoch_seconds"])
    return figures["records"] // epochs * (epochs - 1)


def _outputs(commands: list[list[str]], deadline: float) -> list[bytes]:
    """The outputs of commands that start together."""
    with contextlib.ExitStack() as cleanup:
        gate, opener = os.pipe()
        try:
            processes = [cleanup.enter_context(_waiting(command, gate)) for command in commands]
        finally:
            os.close(gate)
            # All shells wait for the end of this pipe.
            os.close(opener)
        outputs = []
        for process in processes:
            try:
                output, errors = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired as expired:
                raise TimeoutError("it took too long, and was stopped") from expired
            if process.returncode != 0:
                said = errors.decode(errors="replace").strip()
                raise RuntimeError(f"ended with {process.returncode}: {said}")
            outputs.append(output)
        return outputs


@contextlib.contextmanager
def _waiting(command: list[str], gate: int) -> Iterator[subprocess.Popen]:
    """A shell that becomes the command when the gate opens. It is killed if the run fails."""
    shell = ["/bin/sh", "-c", 'read -r _; exec "$@"', "sh", *command]
    pipes = {"stdin": gate, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(shell, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()
