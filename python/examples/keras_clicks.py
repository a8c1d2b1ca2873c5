"""A click model in Keras, on advertising data in Avro files.

    python keras_clicks.py --records 20000 --epochs 3

`atds generate` first makes random data with the columns of a click model: scalars, dense vectors,
and sparse features with many ids. A record counts as a click if the sum of `d0` is larger than that
of `d1`. `Dataset.map` computes this label.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tensorflow as tf

from atds.tensorflow import ATDSDataset, DenseFeature, SparseFeature

FEATURES = {
    "d0": DenseFeature([8], tf.float32),
    "d1": DenseFeature([16], tf.float32),
    "s_country": DenseFeature([], tf.string),
    "sp2": SparseFeature([1_000], tf.float32),
}

COUNTRIES = 64


def batches(folder: Path, batch_size: int) -> Any:
    """A data set of inputs and clicks, shuffled differently in each epoch."""
    dataset = ATDSDataset(
        filenames=tf.io.gfile.glob(f"{folder}/*.avro"),
        batch_size=batch_size,
        features=FEATURES,
        shuffle_buffer_size=8 * batch_size,
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    return dataset.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def prepare(batch: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The inputs of the model, and the clicks that it predicts."""
    inputs = {
        "d0": batch["d0"],
        "d1": batch["d1"],
        "country": tf.strings.to_hash_bucket_fast(batch["s_country"], COUNTRIES),
        "sp2": tf.sparse.to_dense(tf.sparse.reorder(batch["sp2"])),
    }
    clicked = tf.reduce_sum(batch["d0"], axis=1) > tf.reduce_sum(batch["d1"], axis=1)
    return inputs, tf.cast(clicked, tf.float32)


def wide_and_deep() -> Any:
    """A linear model of the ids, and a network over the dense features."""
    layers = tf.keras.layers
    inputs = {
        "d0": tf.keras.Input([8], name="d0"),
        "d1": tf.keras.Input([16], name="d1"),
        "country": tf.keras.Input([], dtype="int64", name="country"),
        "sp2": tf.keras.Input([1_000], name="sp2"),
    }
    country = layers.Embedding(COUNTRIES, 4)(inputs["country"])
    deep = layers.Concatenate()([inputs["d0"], inputs["d1"], country])
    deep = layers.Dense(1)(layers.Dense(32, activation="relu")(deep))
    wide = layers.Dense(1, use_bias=False, kernel_initializer="zeros")(inputs["sp2"])
    clicked = layers.Activation("sigmoid")(layers.Add()([wide, deep]))
    return tf.keras.Model(inputs, clicked)


def make_data(folder: Path, records: int) -> None:
    """Makes files of advertising data."""
    options = ["--records", str(records), "--files", "4", "--json"]
    command = [sys.executable, "-m", "atds", "generate", str(folder), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=20_000, help="number of records")
    parser.add_argument("--epochs", type=int, default=3, help="number of epochs")
    parser.add_argument("--batch-size", type=int, default=128, help="number of records in a batch")
    options = parser.parse_args()
    tf.keras.utils.set_random_seed(7)
    model = wide_and_deep()
    model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss="binary_crossentropy")
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), options.records)
        data = batches(Path(folder), options.batch_size)
        losses = model.fit(data, epochs=options.epochs, verbose=0).history["loss"]
    for epoch, loss in enumerate(losses):
        print(f"epoch {epoch}: mean loss {loss:.4f}")
    if losses[-1] >= losses[0]:
        sys.exit("the loss did not fall")


if __name__ == "__main__":
    main()
