"""Tests of the cells, the processes, the budget and the report of `make scaling`."""

import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from . import cells, data, report
from .__main__ import side_commands
from .budget import LONGEST_RUN_S, MOST_EPOCHS, Cost, seconds_a_run
from .cells import CELLS, Cell
from .measure import ROUNDS, SIDES, Row, measure
from .together import Together, together


class Cells(unittest.TestCase):
    def test_the_named_cells_are_there(self):
        names = {cell.name for cell in CELLS}
        self.assertEqual(len(names), 24)
        for kind in ("null mapped", "null read", "deflate read"):
            for order in ("in order", "shuffled"):
                for batch_size in ("64", "1,024", "65,536"):
                    self.assertIn(f"{kind}, {order}, {batch_size}", names)
        self.assertIn("zstandard read, shuffled, 1,024", names)
        self.assertEqual(len(cells.chosen(["zstandard", "65,536"])), 4 + 6)
        with self.assertRaisesRegex(ValueError, "no cell"):
            cells.chosen(["snappy"])

    def test_both_sides_read_the_same_files_with_as_many_threads(self):
        shares = [Path(f"share-{i}") for i in range(4)]
        made = data.Data({"null": shares}, records=25_000, files=4)
        options = mock.Mock(atds=Path("atds"), quick=False)
        row = Row(Cell("null", True, True, 65_536), threads=3)
        [pipeline] = side_commands("pipeline", row, 2, options, made)
        processes = side_commands("processes", row, 2, options, made)
        self.assertEqual(len(processes), 3)
        files = [word for command in processes for word in command if word.startswith("share")]
        self.assertEqual(sorted(files), sorted(w for w in pipeline if w.startswith("share")))
        # Two batches of 65,536 of shares of 25,000.
        self.assertEqual(len(files), 3 * 6)
        self.assertEqual(pipeline[pipeline.index("--threads") + 1], "3")
        for command in [pipeline, *processes]:
            self.assertEqual(command[command.index("--epochs") + 1], "3")
            self.assertEqual(command[command.index("--shuffle-buffer") + 1], "8192")
            self.assertIn("--mmap", command)
        self.assertEqual({c[c.index("--threads") + 1] for c in processes}, {"1"})


def says(records, epochs, before=""):
    figures = json.dumps({"records": records, "epoch_seconds": epochs})
    return ["/bin/sh", "-c", f"{before} echo '{figures}'"]


class Processes(unittest.TestCase):
    def test_rates_are_added_and_the_first_epoch_does_not_count(self):
        found = together([says(300, [9.0, 1.0, 1.0]), says(300, [5.0, 2.0, 2.0])], timeout=30)
        self.assertEqual(found.records_per_s, 100 + 50)
        self.assertEqual(found.records_per_s_of_slowest, 400 / 4)
        self.assertEqual((found.epoch_seconds, found.first_epoch_seconds), (2.0, 9.0))

    def test_they_run_at_the_same_time(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = f"{folder}/pipe"
            os.mkfifo(pipe)
            # The first one waits for the second to open the pipe.
            first = says(20, [1.0, 1.0], f"cat {pipe} >/dev/null;")
            second = says(20, [1.0, 1.0], f"echo >{pipe};")
            self.assertEqual(together([first, second], timeout=30).records_per_s, 20)

    def test_if_one_fails_the_others_are_stopped(self):
        started = time.monotonic()
        fails = ["/bin/sh", "-c", "echo no memory >&2; exit 4"]
        with self.assertRaisesRegex(RuntimeError, "ended with 4: no memory"):
            together([fails, ["/bin/sleep", "60"]], timeout=30)
        with self.assertRaisesRegex(TimeoutError, "took too long"):
            together([["/bin/sleep", "60"]], timeout=0.1)
        self.assertLess(time.monotonic() - started, 20)


class Budget(unittest.TestCase):
    def test_runs_take_as_many_epochs_as_fit(self):
        costs = [Cost(epoch, 0.05) for epoch in (0.01, 0.1, 0.5, 2.0)]
        for seconds in (5.0, 4.0, 3.0):
            filled = seconds_a_run(costs, seconds)
            total = sum(cost.of(cost.epochs(filled)) for cost in costs)
            self.assertLessEqual(total, seconds)
            # What is left is less than the longest step: an epoch more of each but the last.
            self.assertGreater(total, min(seconds - 0.7, sum(c.of(1) for c in costs)))
        self.assertEqual(seconds_a_run(costs, 1_000.0), LONGEST_RUN_S)
        self.assertAlmostEqual(seconds_a_run(costs, 0.1), 0.0, places=5)

    def test_each_run_has_an_epoch_that_counts(self):
        self.assertEqual(Cost(3.0, 0.1).epochs(0.0), 1)
        self.assertEqual(Cost(1e-6, 0.1).epochs(1.0), MOST_EPOCHS)


class Clock:
    """A clock that only runs move on."""

    def __init__(self, epoch_seconds):
        self.now = 0.0
        self.epoch_seconds = epoch_seconds
        self.runs = []

    def run(self, side, row, epochs, seconds):
        self.runs.append((side, row, epochs))
        self.now += 0.1 + (1 + epochs) * self.epoch_seconds
        rate = 75.0 if side == "pipeline" else 100.0
        return Together(rate, rate, self.epoch_seconds, self.epoch_seconds, 0.1)

    def measure(self, rows, deadline):
        with mock.patch("time.monotonic", lambda: self.now):
            measure(rows, self.run, deadline)


class Rounds(unittest.TestCase):
    def rows(self):
        return [Row(cell, threads) for cell in CELLS for threads in (1, 8, 16)]

    def test_little_time_takes_epochs_and_not_cells(self):
        epochs = {}
        for deadline in (1_000.0, 310.0):
            clock, rows = Clock(epoch_seconds=0.2), self.rows()
            clock.measure(rows, deadline)
            self.assertLessEqual(clock.now, deadline)
            self.assertEqual({len(row.counted()) for row in rows}, {ROUNDS})
            epochs[deadline] = rows[0].epochs["pipeline"]
        self.assertEqual(epochs, {1_000.0: 5, 310.0: 1})

    def test_without_time_for_three_rounds_there_is_a_figure_for_each_cell(self):
        clock, rows = Clock(epoch_seconds=1.0), self.rows()
        clock.measure(rows, deadline=144 * 2.1 + 30)
        self.assertLessEqual(clock.now, 144 * 2.1 + 30)
        self.assertEqual({row.ratio() for row in rows}, {0.75})
        self.assertEqual({row.fault for row in rows}, {None})

    def test_the_sides_run_by_turns(self):
        clock, rows = Clock(epoch_seconds=0.01), self.rows()[:1]
        clock.measure(rows, deadline=100.0)
        firsts = [side for side, _, _ in clock.runs[2::2]]
        self.assertEqual(firsts, ["pipeline", "processes", "pipeline"])

    def test_a_cell_that_fails_costs_no_other_cell(self):
        clock, rows = Clock(epoch_seconds=0.01), self.rows()
        good = clock.run

        def run(side, row, epochs, seconds):
            if row is rows[3]:
                raise RuntimeError("ended with 1: out of memory")
            if row is rows[7]:
                clock.now += seconds
                raise TimeoutError("it took too long, and was stopped")
            return good(side, row, epochs, seconds)

        clock.run = run
        clock.measure(rows, deadline=1_000.0)
        self.assertEqual([row.fault is not None for row in rows].count(True), 2)
        self.assertIn("out of memory", report.row_result(rows[3])["fault"])
        self.assertEqual({len(row.counted()) for row in rows if row.fault is None}, {ROUNDS})
        self.assertLess(clock.now, 400)

    def test_a_run_that_the_end_cuts_off_leaves_the_figures_before_it(self):
        clock, rows = Clock(epoch_seconds=0.01), self.rows()[:3]
        good = clock.run

        def run(side, row, epochs, seconds):
            if len(clock.runs) == 3 * 2 + 3:
                clock.now += seconds
                raise TimeoutError("it took too long, and was stopped")
            return good(side, row, epochs, seconds)

        clock.run = run
        clock.measure(rows, deadline=10.0)
        self.assertEqual([len(row.rounds) for row in rows], [2, 1, 1])
        self.assertEqual({row.fault for row in rows}, {None})


class Report(unittest.TestCase):
    def result(self):
        rows = [Row(cell, threads) for cell in CELLS[:2] for threads in (1, 16)]
        for number, row in enumerate(rows):
            row.epochs = dict.fromkeys(SIDES, 4)
            # The trial would give other figures.
            for pipeline in (1e9, 7e6, 8e6, 9e6):
                both = (pipeline, 1e7)
                row.rounds.append(
                    {
                        side: Together(rate, rate, 0.1, 0.1, 0.1)
                        for side, rate in zip(SIDES, both, strict=True)
                    }
                )
            row.fault = "ended with 1: out of memory" if number == 3 else None
        return {
            "name": "scaling",
            "date": "2026-01-02",
            "machine": {
                "cpu": "a processor",
                "cores": 16,
                "memory_bytes": 2**37,
                "kernel": "Linux",
                "busy_before": None,
            },
            "versions": {"commit": "abc"},
            "command": "./run",
            "threads": [1, 16],
            "records_a_share": 25_000,
            "files_a_share": 1,
            "rounds": 3,
            "generating_seconds": 5.0,
            "seconds": 440.0,
            "results": [report.row_result(row) for row in rows],
        }

    def test_the_table_has_medians_without_the_trial(self):
        lines = report.markdown(self.result()).splitlines()
        first = "| null mapped, in order, 64 | 8,000,000 | 10,000,000 | 0.800 | 8,000,000"
        self.assertTrue(any(line.startswith(first) for line in lines), lines)
        self.assertTrue(any(line.endswith("| – | – | – |") for line in lines))
        self.assertIn("- null mapped, in order, 1,024, 16: ended with 1: out of memory", lines)
        self.assertEqual(len({line.count("|") for line in lines if line.startswith("|")}), 1)

    def test_the_text_says_how_many_rounds_there_are(self):
        result = self.result()
        self.assertIn("median of 3 rounds,", report.markdown(result).replace("\n", " "))
        rates = result["results"][0]["records_per_s"]
        rates["pipeline"]["rounds"] = rates["pipeline"]["rounds"][:1]
        text = report.markdown(result).replace("\n", " ")
        self.assertIn("median of 1 to 3 rounds (the time was too short for 3)", text)

    def test_the_plot_has_a_bar_for_each_ratio_and_a_mark_at_one(self):
        text = report.svg(self.result())
        # One rectangle more is the ground.
        self.assertEqual(text.count("<rect"), 3 + 1)
        self.assertEqual(text.count(">0.80</text>"), 3)
        self.assertEqual(text.count("<path"), 2)
        self.assertIn("16 threads beside 16 processes", text)


@unittest.skipUnless(os.environ.get("ATDS"), "ATDS= names no build of the command")
class Whole(unittest.TestCase):
    def test_two_threads_beside_two_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            pack = Path(__file__).with_name("scaling.sh")
            subprocess.run([pack, "pack", Path(os.environ["ATDS"]).resolve(), home], check=True)
            only = ["--only", "null read, shuffled, 1,024", "deflate read, in order, 65,536"]
            command = [home / "run", *only, "--quick", "--threads", "1", "2"]
            # Elsewhere there is no repository.
            elsewhere = {"cwd": "/", "env": {"PATH": os.environ["PATH"]}}
            done = subprocess.run(command, **elsewhere, check=False, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            [path] = (home / "results").glob("*.json")
            results = json.loads(path.read_text())["results"]
            self.assertEqual(len(results), 4)
            self.assertTrue(all(result["ratio"] > 0 for result in results), results)
            written = {each.suffix for each in path.parent.iterdir()}
            self.assertEqual(written, {".json", ".md", ".svg"})


if __name__ == "__main__":
    unittest.main()
