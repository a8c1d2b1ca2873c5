"""Forked children, worker processes, and pickling."""

from __future__ import annotations

import multiprocessing
import pickle
import textwrap
from typing import Any

import pytest

import atds
from interpreters import HANGS, succeeds

FORK = """
    import atds, os, sys, warnings
    warnings.simplefilter("ignore")
    dataset = atds.Dataset(sys.argv[1], 8, shuffle_buffer_size=20, seed=1)
    iterator = iter(dataset)
    batch = next(iterator)
    weights = batch["s_weight"].tolist()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        out = os.fdopen(write, "w")
        try:
{body}
        finally:
            out.close()
        {end}
    os.close(write)
    print(os.fdopen(read).read(), end="")
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    rest = sum(batch.num_records for batch in iterator)
    print(rest)
"""


def forks(clicks: str, body: str, end: str = "os._exit(0)") -> list[str]:
    indented = textwrap.indent(textwrap.dedent(body), " " * 12)
    out = succeeds(FORK.format(body=indented.rstrip(), end=end), clicks).splitlines()
    # The parent's iterator still works.
    assert out[-1] == str(200 - 8)
    return out[:-1]


def test_a_forked_child_cannot_use_the_iterator(clicks: str) -> None:
    (said,) = forks(
        clicks,
        """
        for use in (iterator.stats, iterator.close, lambda: next(iterator)):
            try:
                use()
            except atds.ForkError as error:
                message = str(error)
        print(message, file=out)
        """,
    )
    assert said == (
        "this iterator was made before a fork, in the parent process, whose threads are not in "
        "this one: make it in this process (iterate over the dataset again), or start worker "
        "processes with the 'spawn' or 'forkserver' method"
    )
    assert issubclass(atds.ForkError, RuntimeError)


def test_a_forked_child_uses_the_data_set(clicks: str) -> None:
    lines = forks(
        clicks,
        """
        print(dataset.stats()["records"], dataset.epoch, len(dataset), file=out)
        print(sum(batch.num_records for batch in dataset), file=out)
        print(dataset.stats()["records"], file=out)
        """,
    )
    assert lines == ["0 1 25", "200", "200"]


def test_a_forked_child_does_not_read_on_in_its_parents_file(clicks: str) -> None:
    out = succeeds(
        """
        import atds, os, sys, warnings
        from atds import _native
        warnings.simplefilter("ignore")
        reader = _native.RecordReader(sys.argv[1], 64)
        child = os.fork()
        if child == 0:
            try:
                next(reader)
            except atds.ForkError:
                os._exit(7)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sum(map(len, reader)))
        """,
        f"{clicks}/part-00000.avro",
    )
    assert out == "7 100"


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)"])
def test_a_forked_child_drops_what_it_has(clicks: str, end: str) -> None:
    lines = forks(
        clicks,
        """
        print(batch["s_weight"].tolist() == weights, file=out)
        del batch, iterator, dataset
        import gc; gc.collect()
        """,
        end,
    )
    assert lines == ["True"]


def count(dataset: atds.Dataset, queue: Any) -> None:
    queue.put(sum(batch.num_records for batch in dataset))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_worker_processes(clicks: str, method: str) -> None:
    dataset = atds.Dataset(clicks, 64)
    next(iter(dataset))
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    workers = [context.Process(target=count, args=(dataset, queue)) for _ in range(2)]  # type: ignore[attr-defined]
    for worker in workers:
        worker.start()
    assert [queue.get(timeout=HANGS) for _ in workers] == [200, 200]
    for worker in workers:
        worker.join(HANGS)
        assert worker.exitcode == 0


def test_errors_can_be_sent_to_other_processes() -> None:
    with pytest.raises(atds.Error) as caught:
        atds.Dataset("nowhere.avro", 1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is atds.MissingFileError
    assert (str(again), again.file, again.errno) == (str(caught.value), "nowhere.avro", 2)
