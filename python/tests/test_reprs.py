"""Reprs of data sets, iterators, batches and inspections, and `with` on iterators."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import atds
from atds import _reprs
from atds.batch import Batch
from frameworks import need


class Tags(HTMLParser):
    """Collects the tags and texts of HTML, and checks that all tags are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


PLAIN = {"div", "strong", "table", "tr", "td", "th"}


def fits_a_screen(text: str) -> bool:
    lines = text.splitlines()
    return len(lines) <= 24 and all(len(line) <= 100 for line in lines)


def test_a_batch_of_many_columns() -> None:
    names = [f"<b>column & {i}\n</b>" for i in range(500)]
    batch = Batch({name: np.zeros(3, np.int32) for name in names})
    batch.num_records, batch.masks = 3, {}
    assert fits_a_screen(repr(batch))
    assert repr(batch).splitlines()[1] == "  <b>column & 0\\n</b>: int32 [3]"
    assert repr(batch).splitlines()[-1] == "  and 480 more"
    shown = Tags(batch._repr_html_())
    assert shown.tags <= PLAIN
    assert "<b>column & 19\\n</b>" in shown.texts
    assert "<b>column & 20\\n</b>" not in shown.texts
    batch.num_records = 1
    assert repr(batch).startswith("Batch of 1 record\n")


def test_a_batch_of_sparse_columns(clicks: str) -> None:
    features = {
        "coo": atds.SparseFeature([50_001], "float32", expression="sp0"),
        "rows": atds.SparseFeature([50_001], "float32", expression="sp0", layout="ragged"),
    }
    batch = next(iter(atds.Dataset(clicks, 64, features)))
    entries = f"{len(batch['coo'].values)} entries"
    assert repr(batch).splitlines()[1:] == [
        f"  coo: SparseTensor(float32 [64, 50001], {entries})",
        f"  rows: RaggedSparseTensor(float32 [64, 50001], {entries})",
    ]


def test_an_iterator(numbers: str, number: Any) -> None:
    batches = iter(atds.Dataset(numbers, 300, number))
    assert repr(batches) == "<atds.Batches: 0 batches, 0 records so far>"
    next(batches)
    assert repr(batches) == "<atds.Batches: 1 batch, 300 records so far>"
    shown = Tags(batches._repr_html_())
    assert shown.tags <= PLAIN
    assert {"atds.Batches", "records so far", "300"} < set(shown.texts)


def test_with_closes_an_iterator(numbers: str, number: Any) -> None:
    dataset = atds.Dataset(numbers, 10, number)
    with iter(dataset) as batches:
        assert next(batches)["n"].tolist() == list(range(10))
    assert next(batches, None) is None
    assert dataset.stats()["records"] == 10
    with pytest.raises(KeyError, match="own"), iter(dataset) as batches:
        raise KeyError("own")
    assert list(batches) == []


def test_a_data_set(clicks: str, numbers: str, number: Any) -> None:
    dataset = atds.Dataset(clicks, 64, shuffle_buffer_size=100, seed=7, tolerate="utf8")
    assert fits_a_screen(repr(dataset))
    shown = Tags(dataset._repr_html_())
    assert shown.tags <= PLAIN
    pairs = list(zip(shown.texts, shown.texts[1:], strict=False))
    assert ("shuffle_buffer_size", "100") in pairs
    assert ("tolerate", "['utf8']") in pairs
    assert ("prefetch", "2") not in pairs
    assert ("s_label", "DenseFeature(shape=(), dtype='int32')") in pairs
    one = atds.Dataset(numbers, 64, number, shard=(1, 3))._repr_html_()
    assert {numbers, "1 of 3"} < set(Tags(one).texts)


def test_an_inspection(clicks: str, write: Any) -> None:
    found = atds.inspect(f"{clicks}/part-00000.avro")
    assert fits_a_screen(repr(found))
    assert "100 records in" in repr(found)
    assert Tags(found._repr_html_()).tags <= PLAIN
    odd = [{"name": "<script>&", "type": ["null", "long"]}]
    file = write(odd, [{"<script>&": 1}, {"<script>&": None}])
    found = atds.inspect(file)
    shown = Tags(found._repr_html_())
    assert shown.tags <= PLAIN
    assert "<script>&" in shown.texts
    assert "1 of 2" in shown.texts


def test_iterators_of_pytorch(numbers: str, number: Any) -> None:
    need("torch")
    import atds.torch

    dataset = atds.torch.Dataset(numbers, 300, number)
    with iter(dataset) as batches:
        batch = next(batches)
        assert repr(batches) == "<atds.torch.Batches: 1 batch, 300 records so far>"
        assert repr(batch) == "Batch of tensors\n  n: torch.int64 [300]"
        assert {"n", "torch.int64 [300]"} < set(Tags(batch._repr_html_()).texts)
        assert "atds.torch.Batches" in Tags(batches._repr_html_()).texts
    assert next(batches, None) is None
    assert {"atds.torch.Dataset", "1,000", "0 of 1"} < set(Tags(dataset._repr_html_()).texts)


def test_iterators_of_jax(numbers: str) -> None:
    need("jax")
    import atds.jax

    feature = {"n": atds.DenseFeature([], "int32", cast=True)}
    with atds.jax.iterate(atds.Dataset(numbers, 300, feature)) as batches:
        next(batches)
        assert repr(batches) == "<atds.jax.Batches: 1 batch, 300 records so far>"
        assert "atds.jax.Batches" in Tags(batches._repr_html_()).texts
    assert next(batches, None) is None


def test_an_iterator_of_another_process() -> None:
    assert "forked" in _reprs.batches_text("atds.Batches", None)
    assert Tags(_reprs.batches_html("atds.Batches", None)).tags <= PLAIN


def test_a_long_line_is_cut() -> None:
    assert _reprs.clipped("x" * 100) == "x" * 100
    assert _reprs.clipped("x" * 101) == "x" * 99 + "…"
    assert _reprs.clipped("a\tb\x00\u2028") == "a\\tb\\x00\\u2028"
