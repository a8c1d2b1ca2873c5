"""Tests of the statistics, the runs and the report of `make versus`."""

import itertools
import math
import random
import sys
import unittest
from pathlib import Path
from unittest import mock

from . import cells, instructions, report, runs
from .cells import CELLS, Cell
from .intervals import FEWEST, estimate, geometric_mean
from .pairs import Pairs, measure, peak_bytes, rate
from .runs import Run


class Intervals(unittest.TestCase):
    def test_ranks_are_those_of_the_binomial_distribution(self):
        # The ranks of the table in every book on the sign test, counted from 1.
        for count, rank in [(6, 1), (8, 1), (9, 2), (20, 6), (30, 10), (40, 14), (100, 40)]:
            with self.subTest(count=count):
                found = estimate([float(i) for i in range(1, count + 1)])
                self.assertEqual((found.low, found.high), (rank, count + 1 - rank))
                self.assertEqual(found.median, (count + 1) / 2)

    def test_too_few_values_have_no_interval(self):
        with self.assertRaisesRegex(ValueError, "too few"):
            estimate([1.0] * (FEWEST - 1))
        estimate([1.0] * FEWEST)

    def test_the_interval_holds_the_true_median_in_95_of_100_cases(self):
        # Noise of a busy machine: mostly small, now and then large, and never symmetric.
        noise = random.Random(1)
        held = 0
        for _ in range(2_000):
            found = estimate([noise.expovariate(1.0) for _ in range(30)])
            held += found.low <= math.log(2) <= found.high
        self.assertTrue(0.94 < held / 2_000 < 0.98, held)

    def test_one_slow_pair_changes_nothing(self):
        values = [1.0 + i / 1_000 for i in range(30)]
        slow = [*values[:-1], 100.0]
        self.assertEqual(estimate(values), estimate(slow))

    def test_geometric_mean(self):
        self.assertAlmostEqual(geometric_mean([2.0, 0.5, 1.0]), 1.0)
        self.assertAlmostEqual(geometric_mean([1.1] * 36), 1.1)


class Cells(unittest.TestCase):
    def test_all_cells_of_all_choices(self):
        self.assertEqual(len(CELLS), 36)
        self.assertEqual(len({cell.name for cell in CELLS}), 36)
        self.assertEqual(len(cells.chosen(["null"])), 12)
        self.assertEqual(len(cells.chosen(["null", "batch 64"])), 12 + 8)
        self.assertEqual(len(cells.chosen(["deflate, shuffled, 2 threads, batch 8,192"])), 1)
        with self.assertRaisesRegex(ValueError, "no cell has snappy in its name"):
            cells.chosen(["snappy"])


def runs_of(seconds, peak=1_000_000):
    return [Run(time, 1_000, peak) for time in seconds]


class Rounds(unittest.TestCase):
    def test_the_builds_take_turns_in_coming_first(self):
        first = {cell: [] for cell in CELLS}
        seen = []

        def run(build, cell):
            seen.append((build, cell))
            if len(seen) % 2:
                first[cell].append(build)
            else:
                # A pair is of one cell, and of both builds.
                self.assertEqual(seen[-2][1], cell)
                self.assertNotEqual(seen[-2][0], build)
            return Run(2.0 if build == "new" else 1.0, 10, 5)

        measured = measure(CELLS, 6, run)
        for cell, builds in first.items():
            # One more than counts.
            self.assertEqual(len(builds), 7)
            self.assertTrue(all(a != b for a, b in itertools.pairwise(builds)), builds)
            self.assertEqual(len(measured[cell].new), 6)
            self.assertEqual(measured[cell].time_ratio().median, 2.0)

    def test_the_first_pair_does_not_count(self):
        times = iter([100.0, 100.0, *[1.0] * 12])
        measured = measure(CELLS[:1], 6, lambda build, cell: Run(next(times), 10, 5))
        self.assertEqual(measured[CELLS[0]].time_ratio().high, 1.0)

    def test_builds_that_read_different_numbers_of_records_are_not_compared(self):
        with self.assertRaisesRegex(RuntimeError, "different numbers"):
            measure(CELLS[:1], 6, lambda build, cell: Run(1.0, 1 if build == "new" else 2, 5))

    def test_medians(self):
        measured = runs_of([1.0, 2.0, 4.0])
        self.assertEqual(rate(measured), 500)
        self.assertEqual(peak_bytes(measured), 1_000_000)


class Processes(unittest.TestCase):
    def test_peak_memory_is_that_of_the_process(self):
        out, peak = runs.run([sys.executable, "-S", "-c", "print(len(bytearray(100_000_000)))"])
        self.assertEqual(out, b"100000000\n")
        self.assertTrue(100_000_000 < peak < 140_000_000, peak)
        # Neither what an earlier child had nor most of what this process has.
        self.assertLess(runs.floor_bytes(), 60_000_000)

    def test_a_command_that_fails_says_why(self):
        with self.assertRaisesRegex(RuntimeError, "ended with 3: no such option"):
            runs.run(["/bin/sh", "-c", "echo no such option >&2; exit 3"])
        with self.assertRaisesRegex(RuntimeError, "ended with 127"):
            runs.run(["/no/such/program"])

    def test_the_first_epoch_does_not_count(self):
        figures = '{"records": 300, "epoch_seconds": [9.0, 1.0, 2.0]}'
        run = runs.bench(["/bin/sh", "-c", f"echo '{figures}'"])
        self.assertEqual((run.seconds, run.records), (3.0, 200))

    def test_the_first_epoch_of_instructions_does_not_count(self):
        # An epoch takes 10 a record; a start takes a million, or more if threads wait.
        starts = iter([1_500_000, 1_000_000, 1_000_000, 1_200_000])

        def count(command):
            epochs = int(command[command.index("--epochs") + 1])
            return next(starts) + epochs * 10 * instructions.RECORDS

        with mock.patch.object(instructions, "_count", count):
            cell = Cell("deflate", False, 1, 64)
            found = instructions.a_record(Path("atds"), cell, Path("files"), [])
        self.assertEqual(found, 10)

    def test_the_count_of_valgrind_is_read(self):
        self.assertEqual(
            instructions.total("==1== \n==1== I   refs:      259,143,527\n"), 259143527
        )
        with self.assertRaisesRegex(ValueError, "no count"):
            instructions.total("==1== killed")


def results():
    even = Pairs(runs_of([1.0] * 30), runs_of([1.0] * 30))
    # Slower in each pair, but for a third of them by less than 15 %.
    slower = Pairs(runs_of([1.1] * 10 + [1.3] * 20, 3_000_000), runs_of([1.0] * 30, 2_000_000))
    one, two = Cell("null", False, 1, 64), Cell("null", True, 2, 64)
    return [
        report.cell_result(one, even, {"new": 110.0, "old": 100.0}),
        report.cell_result(two, slower, None),
    ]


class Report(unittest.TestCase):
    def test_bounds(self):
        cases = [
            (report.Bounds(time=1.1), []),
            (report.Bounds(time=1.09), ["null, shuffled, 2 threads, batch 64: time"]),
            (report.Bounds(instructions=1.1), []),
            (report.Bounds(instructions=1.09), ["null, in order, 1 thread, batch 64: instruct"]),
            (report.Bounds(memory=1.5), []),
            (report.Bounds(memory=1.4), ["null, shuffled, 2 threads, batch 64: peak memory"]),
            (report.Bounds(mean=1.15), []),
            (report.Bounds(mean=1.14), ["geometric mean of the time: 1.140"]),
        ]
        for bounds, begins in cases:
            with self.subTest(bounds=bounds):
                lines = report.broken(results(), bounds)
                self.assertEqual(len(lines), len(begins), lines)
                for line, begin in zip(lines, begins, strict=True):
                    self.assertTrue(line.startswith(begin), line)

    def test_a_bound_on_instructions_that_were_not_counted_does_not_hold(self):
        lines = report.broken(results()[1:], report.Bounds(instructions=9.0))
        self.assertEqual(len(lines), 1)

    def test_the_table_has_each_cell_with_its_interval(self):
        text = report.markdown(
            {
                "name": "versus",
                "date": "2026-01-02",
                "machine": {
                    "cpu": "a processor",
                    "cores": 2,
                    "memory_bytes": 2**33,
                    "kernel": "Linux",
                    "busy_before": 0.01,
                },
                "versions": {"commit": "abc"},
                "old": "commit def",
                "command": "make versus REF=def",
                "options": [],
                "pairs": 30,
                "floor_bytes": 9_000_000,
                "bounds": {"time": 1.05},
                "broken": report.broken(results(), report.Bounds(time=1.05)),
                "cells": results(),
            }
        )
        row = (
            "| null, shuffled, 2 threads, batch 64 | 769 | 1,000 | 1.300 | 1.100 to 1.300"
            " | 3.0 MB | 2.0 MB | 1.50 |  |  |  |"
        )
        self.assertIn(row, text.splitlines())
        self.assertIn("| 110 | 100 | 1.100 |", text)
        self.assertIn("over these 2 cells, new over old: time 1.140, peak memory 1.225", text)
        self.assertIn("these do not hold:", text)
        widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
        self.assertEqual(len(widths), 1)


if __name__ == "__main__":
    unittest.main()
