"""Logistic regression in JAX alone, on advertising data in Avro files.

    python jax_logistic_regression.py --records 20000 --epochs 3

`atds generate` first makes random data with the columns of a click model. fastavro then rewrites the
files with clicks that depend on two of the vectors, so that a model can learn them. The model has a
weight for each number in the vectors, and a weight for each id of a sparse feature. A row's logit is
the sum of its weighted values.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import jax
import jax.numpy as jnp
import numpy as np

import atds
import atds.jax

#: Dense features and their lengths.
DENSE = {"d0": 8, "d1": 16}

#: Number of ids of the sparse feature.
IDS = 1_000

#: The entries of a batch are padded to a multiple of this number, since JAX compiles for each
#: number of entries.
ENTRIES = 1_024

FEATURES: dict[str, atds.Feature] = {
    "s_click": atds.DenseFeature([], "bool"),
    "sp2": atds.SparseFeature([IDS], "float32", layout="ragged"),
    **{name: atds.DenseFeature([length], "float32") for name, length in DENSE.items()},
}

Parameters = dict[str, jax.Array]


def loss_of(parameters: Parameters, batch: dict[str, Any]) -> jax.Array:
    """The mean loss of a batch."""
    dense = jnp.concatenate([batch[name] for name in DENSE], axis=1)
    ids, values, row_splits = batch["sp2"]
    # Padding entries belong to no row.
    rows = jnp.searchsorted(row_splits, jnp.arange(len(ids)), side="right") - 1
    clicked = batch["s_click"]
    sparse = jax.ops.segment_sum(parameters["ids"][ids] * values, rows, len(clicked))
    logits = dense @ parameters["dense"] + sparse + parameters["bias"]
    return jnp.mean(jax.nn.softplus(jnp.where(clicked, -logits, logits)))


@partial(jax.jit, static_argnames="rate")
def step(
    parameters: Parameters, batch: dict[str, Any], rate: float
) -> tuple[Parameters, jax.Array]:
    """The parameters after a step of gradient descent, and the loss before it."""
    loss, gradient = jax.value_and_grad(loss_of)(parameters, batch)
    return jax.tree.map(lambda value, slope: value - rate * slope, parameters, gradient), loss


def filled_up(batch: dict[str, Any]) -> dict[str, Any]:
    """The batch with its sparse column as padded ids and values ``[entries]``, and row splits."""
    indices, values, row_splits = batch["sp2"]
    missing = -len(values) % ENTRIES
    ids, values = (np.pad(part, (0, missing)) for part in (np.asarray(indices)[:, 0], values))
    return {**batch, "sp2": (ids, values, row_splits)}


def train(folder: Path, epochs: int, batch_size: int, rate: float) -> list[float]:
    """Trains on the files of a folder, and returns the mean loss of each epoch."""
    dataset = atds.Dataset(
        folder,
        batch_size,
        FEATURES,
        drop_remainder=True,
        shuffle_buffer_size=8 * batch_size,
        seed=7,
        shuffle_files=True,
    )
    parameters = {
        "dense": jnp.zeros(sum(DENSE.values())),
        "ids": jnp.zeros(IDS),
        "bias": jnp.zeros(()),
    }
    means = []
    for epoch in range(epochs):
        losses = []
        for batch in map(filled_up, atds.jax.iterate(dataset)):
            parameters, loss = step(parameters, batch, rate)
            losses.append(loss)
        means.append(float(jnp.stack(losses).mean()))
        print(f"epoch {epoch}: {len(losses)} steps, mean loss {means[-1]:.4f}", flush=True)
    return means


def make_data(folder: Path, records: int) -> None:
    """Makes files of advertising data whose clicks a model can learn."""
    with tempfile.TemporaryDirectory() as made:
        options = ["--records", str(records), "--files", "4", "--json"]
        command = [sys.executable, "-m", "atds", "generate", made, *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(Path(made).glob("*.avro")):
            with path.open("rb") as source, (folder / path.name).open("wb") as target:
                reader = fastavro.reader(source)
                clicked = map(with_click, reader)
                fastavro.writer(target, reader.writer_schema, clicked, codec="deflate")


def with_click(record: Any) -> Any:
    """The record, with a click that depends on two vectors."""
    return {**record, "s_click": sum(record["d0"]) > sum(record["d1"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=20_000, help="number of records")
    parser.add_argument("--epochs", type=int, default=3, help="number of epochs")
    parser.add_argument("--batch-size", type=int, default=128, help="number of records in a batch")
    parser.add_argument("--rate", type=float, default=0.5, help="learning rate")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), options.records)
        losses = train(Path(folder), options.epochs, options.batch_size, options.rate)
    if losses[-1] >= losses[0]:
        sys.exit("the loss did not fall")


if __name__ == "__main__":
    main()
