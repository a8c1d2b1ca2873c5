"""Kills consumers with SIGKILL and has them go on, many times; judge.py holds that nothing is lost or repeated.

A process that has imported the frameworks forks the consumers, so that a life takes a fraction of a second.
Half of the consumers read through torchdata's StatefulDataLoader with 4 workers, half are shuffled.
"""

import contextlib
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from . import consumer, files
from .checks import Context, Tally
from .consumer import Job

KILLS, QUICK_KILLS = 1000, 24
# A run is let go to its end after so many kills.
KILLS_OF_A_RUN = 12

# A life that goes on for so long hangs.
SECONDS, PLANTED_SECONDS = 60, 8
PLANTED = ("loses", "raises", "repeats", "hangs")

# The parts of the kills that are aimed at the first batch and at the end of an epoch. Some miss.
AT_FIRST, AT_END = 0.1, 0.1
# The least part of all that must have hit them.
LEAST = 0.1


def run(context: Context) -> Tally:
    """Start some processes that kill, and judge the logs of all their consumers."""
    tally = Tally()
    data = context.folder / "data"
    data.mkdir()
    share = consumer.RECORDS // consumer.FILES
    for number in range(consumer.FILES):
        path = data / f"{number}.avro"
        files.write(path, number * share, share, consumer.BLOCK, files.CODECS[number])
    has_torch = all(importlib.util.find_spec(name) for name in ("torch", "torchdata"))
    if not has_torch:
        tally.count("with StatefulDataLoader, which is not installed", 0)
        required = os.environ.get("FRAMEWORKS") == "all"
        tally.expect(not required, "FRAMEWORKS=all, but torchdata is not installed")
    total = context.kills or (QUICK_KILLS if context.quick else KILLS)
    jobs = 2 if context.quick else context.jobs
    killers = []
    for number in range(jobs):
        folder = context.folder / f"killer-{number}"
        folder.mkdir()
        settings = {
            "data": str(data),
            "folder": str(folder),
            "seed": f"{context.seed} kills {number}",
            "kills": total // jobs + (1 if number < total % jobs else 0),
            "torch": has_torch,
            "plant": context.plant,
            "first": number,
        }
        command = [sys.executable, "-m", "faults.kills", json.dumps(settings)]
        killers.append((folder, subprocess.Popen(command)))
    for folder, killer in killers:
        code = killer.wait()
        answer = folder / "answer.json"
        if code != 0 or not answer.exists():
            tally.fail(f"the process that kills ended with {code}")
            continue
        found = json.loads(answer.read_text())
        tally.add(Tally(Counter(found["counts"]), found["failures"], Counter(found["parts"])))
        for log in sorted(folder.glob("*.log")):
            # The fault is a part of the name.
            _judge(log, tally.begin(f"logs {log.stem.split('-')[-1]}"))
    kills = tally.counts["kills"]
    aimed = tally.counts["within the first batch"] + tally.counts["at an epoch's end"]
    if kills >= 100 and not context.plant:
        tally.expect(
            aimed >= LEAST * kills, f"only {aimed} of {kills} kills at a first batch or end"
        )
    return tally


def _judge(log: Path, tally: Tally) -> None:
    script = Path(__file__).with_name("judge.py")
    limits = ["--records", str(consumer.RECORDS), "--passes", str(consumer.PASSES)]
    # A script of its own, without this package and without atds.
    done = subprocess.run(
        [sys.executable, "-I", str(script), str(log), *limits],
        check=False,
        capture_output=True,
        text=True,
    )
    tally.count("logs judged")
    tally.expect(done.returncode == 0, f"{log.name}: {done.stdout}{done.stderr}")


class _Killer:
    """Runs consumers, one after another, and kills them."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.random = random.Random(settings["seed"])
        self.tally = Tally()
        # Kills by the kind of consumer: with a loader, shuffled.
        self.kills: Counter = Counter()
        # Seconds from a start to the first batch, as measured last, by the kind of reader.
        self.first_batch: dict[bool, float] = {}

    def kill_all(self) -> None:
        """Run consumers until there were enough kills."""
        number = self.settings["first"]
        # Each kind of consumer gets its part of few kills, too.
        self.most = max(1, min(KILLS_OF_A_RUN, self.settings["kills"] // 4))
        while self.tally.counts["kills"] < self.settings["kills"]:
            self._run(self._job(number))
            number += 1

    def _job(self, number: int) -> Job:
        # The kind of which there were the fewest kills.
        kinds = [(loader, shuffled) for loader in (True, False) for shuffled in (True, False)]
        if not self.settings["torch"]:
            kinds = kinds[2:]
        loader, shuffled = min(kinds, key=lambda kind: self.kills[kind])
        planted = PLANTED[number % 4] if self.settings["plant"] else None
        return Job(
            files=self.settings["data"],
            log=str(Path(self.settings["folder"]) / f"run-{number:04}-{planted}.log"),
            seed=number,
            shuffled=shuffled,
            workers=4 if loader else None,
            snapshot_every=[1, 3][number // 4 % 2],
            planted=planted,
        )

    def _run(self, job: Job) -> None:
        """One consumer: lives that end with a kill, and a last life."""
        self.tally.count("consumers")
        for _ in range(self.most):
            if self.tally.counts["kills"] >= self.settings["kills"]:
                break
            if not self._live(job, self._aim()):
                return
        self._live(job, "nothing")

    def _aim(self) -> str:
        drawn = self.random.random()
        if drawn < AT_FIRST:
            return "first"
        return "end" if drawn < AT_FIRST + AT_END else "any"

    def _live(self, job: Job, aim: str) -> bool:
        """A life of a consumer. Returns whether it was killed."""
        threads = self.random.randrange(1, 4)
        # Checkpoints may be older than the last step.
        back = self.random.choice([0, 0, 0, 1, 4])
        life = _Life(job, threads, back)
        try:
            hit = self._watch(job, life, aim)
        finally:
            life.end()
        if hit is None:
            if life.code not in (0, -signal.SIGKILL):
                what = f"{job}: the consumer ended with {life.code}: {life.errors()}"
                self.tally.begin("no error").fail(what)
            return False
        self.kills[job.workers is not None, job.shuffled] += 1
        self.tally.count("kills")
        self.tally.count("with StatefulDataLoader", int(job.workers is not None))
        self.tally.count("shuffled", int(job.shuffled))
        self.tally.count(hit)
        return True

    def _watch(self, job: Job, life: "_Life", aim: str) -> str | None:
        """Wait for the moment to kill, and kill. Returns where the kill hit, or None if the consumer ended
        before."""
        started = time.monotonic()
        is_loader = job.workers is not None
        first = self.first_batch.get(is_loader, 0.05)
        delay = self.random.random() * first * 1.2 if aim == "first" else 0
        after = self.random.randrange(1, consumer.steps(job))
        pause = self.random.random() * 0.005
        while not life.has_ended():
            waited = time.monotonic() - started
            if waited > (PLANTED_SECONDS if self.settings["plant"] else SECONDS):
                self.tally.begin("no hang").fail(f"{job}: no end after {waited:.0f} s")
                life.kill()
                return None
            seen = life.read_log()
            if seen.batches and not life.has_begun:
                life.has_begun = True
                self.first_batch[is_loader] = waited
            is_time = {
                "first": waited >= delay,
                "end": seen.rest_of_pass <= 1 and seen.batches > 0,
                "any": seen.batches >= after,
                "nothing": False,
            }[aim]
            if is_time:
                if aim != "first":
                    time.sleep(pause)
                if not life.kill():
                    return None
                return self._hit(life)
            time.sleep(0.0005)
        return None

    def _hit(self, life: "_Life") -> str:
        seen = life.read_log()
        if seen.batches <= 1:
            return "within the first batch"
        # The last batch of a pass was logged, and at most one of the next.
        if seen.of_pass <= 1 or seen.rest_of_pass == 0:
            return "at an epoch's end"
        return "elsewhere"


class _Seen:
    """What the log has of this life."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        # Batches of this life, and of the pass in this life.
        self.batches = self.of_pass = 0
        # Ids of the pass in which the consumer is that are still to come.
        self.rest_of_pass = steps
        self.number_of_pass = -1


class _Life:
    """A consumer, in a process of its own with its own group."""

    def __init__(self, job: Job, threads: int, back: int) -> None:
        self.job = job
        self.log = Path(job.log)
        self.at = self.log.stat().st_size if self.log.exists() else 0
        self.ids: dict[int, int] = {}
        self.earlier = self._ids_that_count(back)
        self.seen_log = _Seen(consumer.steps(job))
        self.has_begun = False
        self.code: int | None = None
        self.messages = self.log.with_suffix(".err")
        self.pid = os.fork()
        if self.pid == 0:
            self._consume(threads, back)

    def _consume(self, threads: int, back: int) -> None:
        code = 1
        try:
            os.setsid()
            messages = os.open(self.messages, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(messages, 1)
            os.dup2(messages, 2)
            consumer.consume(self.job, threads, back)
            code = 0
        except BaseException:  # noqa: BLE001 - a forked child must not return
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _ids_that_count(self, back: int) -> dict[int, int]:
        """The number of ids of each pass before the state that this life starts from."""
        if not self.log.exists():
            return {}
        number, _, _ = consumer.Log(self.log).state(back)
        counted: dict[int, int] = {}
        for_state: dict[int | None, dict[int, int]] = {None: {}}
        for line in self.log.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
                if "resumed" in entry:
                    counted = dict(for_state[entry["resumed"]])
                elif "ids" in entry:
                    counted[entry["pass"]] = counted.get(entry["pass"], 0) + len(entry["ids"])
                elif "state" in entry:
                    for_state[entry["state"]] = dict(counted)
        return dict(for_state[number])

    def read_log(self) -> _Seen:
        """What this life has logged up to now."""
        if not self.log.exists():
            return self.seen_log
        with self.log.open("rb") as log:
            log.seek(self.at)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self.at += len(whole)
        for line in whole.splitlines():
            with contextlib.suppress(ValueError):
                self._see(json.loads(line))
        return self.seen_log

    def _see(self, entry: dict[str, Any]) -> None:
        seen = self.seen_log
        if "ids" not in entry:
            return
        of = entry["pass"]
        seen.batches += 1
        seen.of_pass = seen.of_pass + 1 if of == seen.number_of_pass else 1
        seen.number_of_pass = of
        self.earlier[of] = self.earlier.get(of, 0) + len(entry["ids"])
        seen.rest_of_pass = -(-(consumer.RECORDS - self.earlier[of]) // consumer.BATCH)

    def has_ended(self) -> bool:
        """Whether the consumer has ended by itself."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def kill(self) -> bool:
        """Kill the consumer, not its workers, as the kernel does when memory is short."""
        if self.has_ended():
            return False
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        # It may have ended just before.
        return self.code == -signal.SIGKILL

    def end(self) -> None:
        """End what is left of the consumer's processes."""
        if self.code is None:
            self.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def errors(self) -> str:
        """What the consumer printed last."""
        return self.messages.read_text(errors="replace")[-1500:] if self.messages.exists() else ""


def main() -> None:
    """Kill as the settings say, and write what was found."""
    settings = json.loads(sys.argv[1])
    if settings["torch"]:
        # Once, for all that are forked.
        import torchdata.stateful_dataloader  # noqa: F401

        import atds.torch  # noqa: F401
    killer = _Killer(settings)
    killer.kill_all()
    killer.tally.begin("no hang").begin("no error")
    answer = {name: getattr(killer.tally, name) for name in ("counts", "failures", "parts")}
    (Path(settings["folder"]) / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
