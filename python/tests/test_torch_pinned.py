"""Batches in one allocation of pinned memory, and on devices.

Where there is no accelerator, the one call that allocates pinned memory is replaced by a caching
allocator that works as PyTorch's does.
"""

from __future__ import annotations

import copy
import itertools
import pickle
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

import atds
from conftest import NUMBER, Write
from frameworks import need

torch = need("torch")
from torch.utils.data import DataLoader

import atds.torch
from atds import _native
from atds.torch import packing

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled"),
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta"),
    # Python 3.12 and later warn if a process with threads is forked.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


class Allocator:
    """Allocates blocks whose sizes are powers of two, and reuses a block that no tensor uses."""

    def __init__(self) -> None:
        self.blocks: list[Any] = []
        self.sizes: list[int] = []

    def __call__(self, size: int) -> Any:
        self.sizes.append(size)
        rounded = 1 << max(size - 1, 0).bit_length()
        # The list, the loop and the call hold one reference each.
        free = (b for b in self.blocks if len(b) == rounded and sys.getrefcount(b) <= 3)
        block = next(free, None)
        if block is None:
            memory = np.full(rounded + 4096, 0xA5, np.uint8)
            start = -memory.ctypes.data % 4096
            block = memory[start : start + rounded]
            self.blocks.append(block)
        return torch.from_numpy(block)[:size]


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> Allocator:
    """Replaces PyTorch's allocator of pinned memory, and pretends that there is an accelerator."""
    allocator = Allocator()
    monkeypatch.setattr(packing, "pinned_bytes", allocator)
    monkeypatch.setattr(packing, "has_accelerator", lambda: True)
    return allocator


@pytest.fixture
def mixed(write: Write) -> str:
    """A file of 100 records with several dtypes, kinds and lengths."""
    floats = {"type": "array", "items": "float"}
    cells = [
        {"name": "indices0", "type": {"type": "array", "items": "long"}},
        {"name": "values", "type": floats},
    ]
    ints = {"type": "array", "items": "int"}
    fields: list[dict[str, Any]] = [
        {"name": "flag", "type": "boolean"},
        {"name": "wide", "type": "long"},
        {"name": "triple", "type": floats},
        {"name": "list", "type": ints},
        {"name": "nested", "type": {"type": "array", "items": ints}},
        {"name": "s", "type": {"type": "record", "name": "S", "fields": cells}},
    ]
    records = [
        {
            "flag": n % 3 == 0,
            "wide": n << 40,
            "triple": [n, n + 0.5, -n],
            "list": list(range(n % 4)),
            "nested": [[n] * k for k in range(n % 3)],
            "s": {"indices0": [n, 5][: n % 3], "values": [1.5, -n][: n % 3]},
        }
        for n in range(100)
    ]
    return write(fields, records, sync_interval=300)


FEATURES: dict[str, atds.Feature] = {
    "flag": atds.DenseFeature([], "bool"),
    "wide": atds.DenseFeature([], "int64"),
    "triple": atds.DenseFeature([3], "float32"),
    "brain": atds.DenseFeature([3], "bfloat16", expression="triple", cast=True),
    "half": atds.DenseFeature([3], "float16", expression="triple", cast=True),
    "list": atds.VarlenFeature([-1], "int32"),
    "nested": atds.VarlenFeature([-1, -1], "int32"),
    "coo": atds.SparseFeature([100], "float32", expression="s"),
    "bag": atds.SparseFeature([100], "float32", expression="s", layout="ragged"),
}


def parts(value: Any) -> list[Any]:
    """All strided tensors of a structure."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [part for item in value for part in parts(item)]
    if value.is_sparse:
        return [value._indices(), value._values()]
    return [value]


def same(left: Any, right: Any) -> None:
    assert type(left) is type(right)
    if isinstance(left, dict):
        assert list(left) == list(right)
        left, right = list(left.values()), list(right.values())
    if isinstance(left, (tuple, list)):
        for one, other in zip(left, right, strict=True):
            same(one, other)
    else:
        assert (left.dtype, left.shape, left.layout) == (right.dtype, right.shape, right.layout)
        for one, other in zip(parts(left), parts(right), strict=True):
            assert torch.equal(one, other)


def test_a_batch_is_packed_into_one_aligned_allocation(mixed: str, allocator: Allocator) -> None:
    plain = list(atds.torch.Dataset(mixed, 33, FEATURES))
    dataset = atds.torch.Dataset(mixed, 33, FEATURES, pin_memory=True)
    assert dataset.pin_memory
    batches = list(dataset)
    assert len(batches) == len(allocator.sizes) == 4
    for batch, expected, size in zip(batches, plain, allocator.sizes, strict=True):
        same(batch, expected)
        tensors = parts(batch)
        assert len(tensors) == 5 + 2 + 3 + 2 + 3
        memory = {part.untyped_storage().data_ptr() for part in tensors}
        assert len(memory) == 1
        (start,) = memory
        for part, original in zip(tensors, parts(expected), strict=True):
            # PyTorch gives the address 0 for an empty tensor.
            if part.numel():
                assert part.data_ptr() % 128 == 0
                assert start <= part.data_ptr() <= start + size - part.nbytes
            assert part.stride() == original.stride()
        ends = sorted((part.data_ptr(), part.nbytes) for part in tensors if part.nbytes)
        for (first, length), (second, _) in itertools.pairwise(ends):
            assert first + length <= second
        needed = sum(part.nbytes for part in tensors)
        assert needed <= size <= needed + 128 * len(tensors)


def test_allocations_are_used_again(mixed: str, allocator: Allocator) -> None:
    dataset = atds.torch.Dataset(mixed, 5, FEATURES, pin_memory=True)
    for _ in range(3):
        for batch in dataset:
            assert batch["wide"].shape == (5,)
    assert len(allocator.sizes) == 60
    # One batch is in use and one is being made; their sizes may be rounded differently.
    assert len(allocator.blocks) <= 4
    # A tensor that is kept also keeps its batch's memory, and nothing overwrites it.
    kept = [batch["wide"] for batch in dataset]
    assert len(allocator.blocks) >= 20
    assert torch.cat(kept).tolist() == [n << 40 for n in range(100)]


def test_what_is_packed_already_is_not_packed_again(mixed: str, allocator: Allocator) -> None:
    batch = next(iter(atds.torch.Dataset(mixed, 50, FEATURES)))
    assert allocator.sizes == []
    packed = batch.pin_memory()
    assert len(allocator.sizes) == 1
    same(packed, batch)
    assert packed.pin_memory() is packed
    assert copy.copy(packed).pin_memory()["wide"] is packed["wide"]
    assert len(allocator.sizes) == 1
    # A batch is packed again if it got another tensor.
    packed["more"] = torch.ones(3)
    again = packed.pin_memory()
    assert (len(allocator.sizes), again["more"].tolist()) == (2, [1, 1, 1])
    same({name: again[name] for name in batch}, dict(batch))
    # A value that was written to a tensor is not lost.
    again["triple"][:] = 7
    assert again.pin_memory()["triple"].unique().tolist() == [7]


def test_columns_are_changed_each_by_itself(mixed: str, allocator: Allocator) -> None:
    """Autograd does not take a change of one column for a change of another."""
    batch = next(iter(atds.torch.Dataset(mixed, 50, FEATURES, pin_memory=True)))
    weight = torch.ones(3, requires_grad=True)
    product = (batch["triple"] * weight).sum()
    batch["half"].add_(1)
    batch["wide"].zero_()
    product.backward()
    assert torch.equal(weight.grad, batch["triple"].sum(0))


def test_bags_and_ragged_columns_are_pinned_alone(mixed: str, allocator: Allocator) -> None:
    batch = next(iter(atds.torch.Dataset(mixed, 50, FEATURES)))
    for number, name in enumerate(("bag", "list", "nested"), 1):
        pinned = batch[name].pin_memory()
        same(pinned, batch[name])
        assert len(allocator.sizes) == number
        assert len({part.untyped_storage().data_ptr() for part in parts(pinned)}) == 1


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_packs_batches(
    mixed: str, allocator: Allocator, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = list(atds.torch.Dataset(mixed, 33, FEATURES))
    if not torch.accelerator.is_available():
        # Without an accelerator a DataLoader does not pin, so the test replaces these functions.
        monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
        monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cpu"))
        monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 0)
        monkeypatch.setattr(torch.accelerator, "set_device_index", lambda index: None)
    for dataset in (
        atds.torch.Dataset(mixed, 33, FEATURES),
        atds.torch.Dataset(mixed, 33, FEATURES, pin_memory=True),
    ):
        allocator.sizes.clear()
        loader = atds.torch.loader(
            dataset, workers, pin_memory=True, persistent_workers=False if workers else None
        )
        for batch, expected in zip(loader, plain, strict=True):
            same(batch, expected)
            assert len({part.untyped_storage().data_ptr() for part in parts(batch)}) == 1
        assert len(allocator.sizes) == 4


def test_packed_batches_are_copied_and_sent(mixed: str, allocator: Allocator) -> None:
    packed = next(iter(atds.torch.Dataset(mixed, 50, FEATURES, pin_memory=True)))
    for other in (copy.copy(packed), copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        same(other, packed)
    # A copy is in other memory, so it does not count as packed.
    assert pickle.loads(pickle.dumps(packed))._packed is None
    assert copy.deepcopy(packed)._packed is None


def test_a_batch_with_other_things_in_it(allocator: Allocator) -> None:
    weight = torch.ones(3, requires_grad=True)
    csr = torch.eye(3).to_sparse_csr()
    batch = atds.torch.Batch(
        a=torch.arange(6).reshape(2, 3).t(), b="text", c=[1, torch.ones(0)], d={"e": torch.ones(())}
    )
    batch["f"] = torch.tensor([1 + 2j, 3j]).conj()
    batch["g"] = batch["f"].imag
    packed = batch.pin_memory()
    assert packed["a"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert packed["f"].tolist() == [1 - 2j, -3j]
    assert packed["g"].tolist() == [-2, -3]
    assert (packed["b"], packed["c"][0], packed["c"][1].shape) == ("text", 1, (0,))
    assert packed["d"]["e"].item() == 1
    # A tensor on a device cannot be pinned; PyTorch raises the same errors for a tensor alone.
    with pytest.raises((RuntimeError, NotImplementedError)):
        batch.to("meta").pin_memory()
    moved = atds.torch.Batch(batch, w=weight, csr=csr).to("meta")
    assert moved["w"].requires_grad
    assert (moved["csr"].layout, moved["d"]["e"].device.type) == (torch.sparse_csr, "meta")


def test_a_batch_is_a_tree_of_tensors(mixed: str) -> None:
    """PyTorch's transformations of trees see a dict, not a leaf."""
    tree = torch.utils._pytree
    batch = next(iter(atds.torch.Dataset(mixed, 50, FEATURES)))
    leaves, spec = tree.tree_flatten(batch)
    assert all(isinstance(leaf, torch.Tensor) for leaf in leaves)
    again = tree.tree_unflatten(
        [leaf * 2 if leaf.dtype != torch.bool else leaf for leaf in leaves], spec
    )
    assert type(again) is atds.torch.Batch
    assert torch.equal(again["wide"], batch["wide"] * 2)
    assert type(again["bag"]) is atds.torch.Bag


def test_to_a_device_with_one_copy(
    mixed: str, allocator: Allocator, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = []

    def copied(packed: Any, device: Any) -> Any:
        copies.append(packed.nbytes)
        return packed.clone()

    monkeypatch.setattr(packing, "_copied_beside", copied)
    packed = next(iter(atds.torch.Dataset(mixed, 50, FEATURES, pin_memory=True)))
    moved = packing.copy_to(dict(packed), packed._packed, torch.device("cpu"), True)
    assert copies == allocator.sizes
    same(moved, dict(packed))
    memory = {part.untyped_storage().data_ptr() for part in parts(moved)}
    assert len(memory) == 1
    assert memory != {part.untyped_storage().data_ptr() for part in parts(dict(packed))}
    # A part of a packed tensor stays that part. A tensor outside the packed memory is copied alone.
    changed = {"part": packed["triple"][3:9, ::2], "other": torch.arange(4)}
    moved = packing.copy_to(changed, packed._packed, torch.device("cpu"), True)
    same(moved, changed)


def test_to_a_device(mixed: str, allocator: Allocator) -> None:
    """`meta` stands for a device: it has the shapes of tensors and not their values."""
    plain = next(iter(atds.torch.Dataset(mixed, 50, FEATURES)))
    # PyTorch copies COO tensors to `meta` without their entries.
    del plain["coo"]
    for batch in (plain, plain.pin_memory()):
        assert batch.to("cpu") is batch.to(torch.device("cpu"), non_blocking=True) is batch
        for non_blocking in (False, True):
            moved = batch.to("meta", non_blocking=non_blocking)
            assert type(moved) is atds.torch.Batch
            assert moved.to("meta") is moved
            for one, other in zip(parts(moved), parts(plain), strict=True):
                assert one.device.type == "meta"
                assert (one.dtype, one.shape, one.stride()) == (
                    other.dtype,
                    other.shape,
                    other.stride(),
                )
    for name in ("bag", "list", "nested"):
        moved = plain[name].to("meta", non_blocking=True)
        assert type(moved) is type(plain[name])
        assert {part.device.type for part in parts(moved)} == {"meta"}


class Streams:
    """Replaces `torch.cuda`, and records its calls in order."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.made = 0
        self.current = Stream("current", self.calls)

    def current_stream(self, device: Any) -> Stream:
        return self.current

    def Stream(self, device: Any) -> Stream:
        self.made += 1
        return Stream("side", self.calls)

    def stream(self, stream: Stream) -> Stream:
        return stream


class Stream:
    def __init__(self, name: str, calls: list[Any]) -> None:
        self.name, self.calls = name, calls
        self.device = torch.device("cuda", 0)

    def __enter__(self) -> None:
        self.calls.append(f"enter {self.name}")

    def __exit__(self, *error: object) -> None:
        self.calls.append(f"leave {self.name}")

    def wait_stream(self, other: Stream) -> None:
        self.calls.append(f"{self.name} waits for {other.name}")


class Memory:
    """Replaces a tensor of packed memory."""

    def __init__(self, calls: list[Any]) -> None:
        self.calls = calls

    def to(self, device: Any, non_blocking: bool) -> Memory:
        assert non_blocking
        self.calls.append("copy")
        return self

    def record_stream(self, stream: Stream) -> None:
        self.calls.append(f"is used on {stream.name}")


def test_the_copy_is_made_beside_the_current_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = Streams()
    monkeypatch.setattr(packing, "stream_module", lambda device: streams)
    monkeypatch.setattr(packing, "_SIDE_STREAMS", {})
    for _ in range(2):
        streams.calls.clear()
        packing._copied_beside(Memory(streams.calls), torch.device("cuda"))  # type: ignore[arg-type]
        assert streams.calls == [
            "enter side",
            "copy",
            "leave side",
            "current waits for side",
            "is used on current",
        ]
    assert streams.made == 1


def test_which_devices_have_streams() -> None:
    assert packing.stream_module(torch.device("cuda")) is torch.cuda
    for device in ("cpu", "meta", "mps"):
        assert packing.stream_module(torch.device(device)) is None


def test_without_an_accelerator(mixed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "has_accelerator", lambda: False)
    message = (
        "^'pin_memory' argument is set as true but no accelerator is found, then device pinned "
    )
    with pytest.warns(UserWarning, match=message) as caught:
        dataset = atds.torch.Dataset(mixed, 33, FEATURES, pin_memory=True)
    assert [warning.filename for warning in caught] == [__file__]
    assert not dataset.pin_memory
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batches = list(dataset)
        assert sum(len(b["n"]) for b in atds.torch.Dataset(mixed, 8, ALIASED)) == 100
        # Without pinning, the data set does not refuse workers.
    assert len(list(DataLoader(dataset, batch_size=None, num_workers=1))) == len(batches)
    for value in (batches[0], batches[0]["bag"], batches[0]["list"]):
        with pytest.warns(UserWarning, match=message) as caught:
            assert value.pin_memory() is value
        assert [warning.filename for warning in caught] == [__file__]


ALIASED = {"n": atds.DenseFeature([], "int64", expression="wide")}


def test_workers_do_not_pin(numbers: str, allocator: Allocator) -> None:
    dataset = atds.torch.Dataset(numbers, 64, NUMBER, pin_memory=True)
    with pytest.raises(atds.OptionError, match=r"use atds.torch.loader, or give pin_memory=True"):
        list(DataLoader(dataset, batch_size=None, num_workers=1))


def test_copies_of_arrays() -> None:
    def u8(*values: int) -> Any:
        return np.array(values, np.uint8)

    target = np.zeros(8, np.uint8)
    _native.copy_into(target, [(5, u8(1, 2, 3)), (0, u8(9)), (2, u8())])
    assert target.tolist() == [9, 0, 0, 0, 0, 1, 2, 3]
    for offset, source in ((6, u8(1, 2, 3)), (9, u8()), (2**64 - 1, u8(1, 2))):
        with pytest.raises(ValueError, match="beyond the end of its target"):
            _native.copy_into(target, [(offset, source)])
    with pytest.raises((ValueError, TypeError)):
        _native.copy_into(target, [(0, u8(1, 2, 3, 4)[::2])])
    frozen = np.zeros(8, np.uint8)
    frozen.flags.writeable = False
    with pytest.raises((ValueError, TypeError)):
        _native.copy_into(frozen, [(0, u8(1))])


def test_other_threads_go_on_while_arrays_are_copied() -> None:
    """The copy releases the interpreter's lock."""
    source = np.ones(1 << 28, np.uint8)
    target = np.empty_like(source)
    started, ticks, done = threading.Event(), [0], threading.Event()

    def tick() -> None:
        started.set()
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    started.wait()
    interval = sys.getswitchinterval()
    # The interval is so long that the lock is never taken away. Other threads run only if the copy
    # releases the lock.
    sys.setswitchinterval(1000)
    try:
        before = ticks[0]
        _native.copy_into(target, [(0, source)])
        after = ticks[0]
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()
    assert after > before
    assert target[-1] == 1
