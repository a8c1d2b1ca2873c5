"""The Python package: behind tf.data beside tensorflow-io, and alone beside the command."""

import statistics

from ..bench import Bench
from ..jobs import Job
from ..measure import Contender, Effort, ms_per_step
from ..systems import System
from ..text import ratio, table

TITLE = "Through Python"

TENSORFLOW_CASES = [("deflate", 64), ("deflate", 256), ("deflate", 1_024), ("null", 1_024)]
CASES = [
    *[("deflate", size) for size in (64, 256, 1_024)],
    *[("null", size) for size in (16, 64, 256, 1_024)],
]
THREADS = 2

# In a long epoch the start of an iterator does not matter.
TIMES = 4


def run(bench: Bench) -> dict:
    """Two threads: ATDSDataset and atds behind tf.data; the command and `atds.Dataset`."""
    bench.data.ads([codec for codec in ["deflate", "null"] if codec in bench.codecs])
    # Processes differ by more than the expected ratio, so there are many short turns.
    effort = Effort(6 * bench.effort.rounds + 1, min(5, bench.effort.epochs))
    return {
        "threads": THREADS,
        "tensorflow": cases(
            bench,
            bench.effort,
            TENSORFLOW_CASES,
            {bench.atds_dataset: TIMES, bench.atds_tensorflow: TIMES},
        ),
        # The command's epochs are one iteration.
        "alone": cases(bench, effort, CASES, {bench.atds: 1, bench.atds_python: 5}),
    }


def cases(
    bench: Bench, effort: Effort, jobs: list[tuple[str, int]], systems: dict[System, int]
) -> list[dict]:
    """Measure all features of `ads` by codec and batch size, the systems in turn.

    `systems` has the number of times that an iteration of each system reads the files.
    """
    return [
        {
            "codec": codec,
            "batch_size": size,
            "rounds": effort.rounds,
            "results": effort.in_turn(
                f"{codec}, batches of {size}",
                [Contender(system, job(codec, size, times)) for system, times in systems.items()],
            ),
        }
        for codec, size in jobs
        if codec in bench.codecs
    ]


def job(codec: str, batch_size: int, times: int) -> Job:
    """A job without shuffling."""
    return Job(f"ads/{codec}", "ads/features.json", batch_size, THREADS, times=times)


def text(result: dict) -> list[str]:
    """The tables."""
    return [
        *tensorflow(result),
        "",
        "`atds.Dataset` beside `atds bench`, which runs without Python: milliseconds a step, 19"
        f" columns as 25 arrays. The ratio is the median of {result['alone'][0]['rounds']} rounds. The"
        " last column is the processor time of Python's thread for a step.",
        "",
        *table(
            ["codec", "batch", "atds bench", "atds.Dataset", "ratio", "µs of Python's thread"],
            [_beside_the_command(case) for case in result["alone"]],
            left=1,
        ),
    ]


def tensorflow(result: dict) -> list[str]:
    """The table of tf.data."""
    return [
        f"tf.data in Python: median milliseconds a step, {result['threads']} threads. Both columns"
        " run the same lines with another import.",
        "",
        *table(
            ["codec", "batch", "tensorflow-io ATDSDataset", "atds.tensorflow.ATDSDataset", "is"],
            [_beside_the_original(case) for case in result["tensorflow"]],
            left=1,
        ),
    ]


def _beside_the_original(case: dict) -> list[str]:
    original, ours = [ms_per_step(found) for found in case["results"]]
    return [*_about(case), f"{original:.2f}", f"{ours:.2f}", ratio(original / ours)]


def _beside_the_command(case: dict) -> list[str]:
    native, ours = [ms_per_step(found) for found in case["results"]]
    times = f"{paired(*case['results'], case['rounds']):.3f}"
    return [*_about(case), f"{native:.3f}", f"{ours:.3f}", times, f"{taking(case):.0f}"]


def taking(case: dict) -> float:
    """Microseconds of processor time of the thread that takes batches, for a step."""
    _, ours = case["results"]
    steps = ours["records"] / case["batch_size"]
    return 1e6 * statistics.median(ours["taking_seconds"]) / steps


def paired(native: dict, ours: dict, rounds: int) -> float:
    """The time of atds for a record, relative to the command: the median of the rounds."""
    first, second = (_by_round(found, rounds) for found in (native, ours))
    return statistics.median(b / a for a, b in zip(first, second, strict=True))


def _by_round(found: dict, rounds: int) -> list[float]:
    epochs = len(found["seconds"]) // rounds
    turns = [found["seconds"][at : at + epochs] for at in range(0, epochs * rounds, epochs)]
    return [statistics.mean(turn) / found["records"] for turn in turns]


def _about(case: dict) -> list[str]:
    return [case["codec"], f"{case['batch_size']:,}"]
