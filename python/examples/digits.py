"""Classifies handwritten digits, which are written to Avro files and read as tensors.

    python digits.py --epochs 10

The data are scikit-learn's digits, 1,797 images of 8 x 8 pixels. fastavro writes them to files. A
linear model of scikit-learn trains on batches of all files but the last, which is the test set. Each
epoch is shuffled differently. tqdm shows the progress.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import fastavro
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from tqdm import tqdm

import atds

SCHEMA = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Digit",
        "fields": [
            {
                "name": "pixels",
                "type": {"type": "array", "items": {"type": "array", "items": "float"}},
            },
            {"name": "digit", "type": "int"},
        ],
    }
)

FEATURES: dict[str, atds.Feature] = {
    "pixels": atds.DenseFeature([8, 8], "float32"),
    "digit": atds.DenseFeature([], "int32"),
}

#: Number of files to which the images are written.
FILES = 5


def write_digits(folder: Path) -> list[Path]:
    """Writes each image to one of the files."""
    digits = load_digits()
    # Brightness ranges from 0 to 16.
    records = [
        {"pixels": (image / 16).tolist(), "digit": int(digit)}
        for image, digit in zip(digits.images, digits.target, strict=True)
    ]
    paths = [folder / f"digits-{number}.avro" for number in range(FILES)]
    for number, path in enumerate(paths):
        with path.open("wb") as file:
            fastavro.writer(file, SCHEMA, records[number::FILES], codec="deflate")
    return paths


def train(files: list[Path], epochs: int) -> SGDClassifier:
    """A model trained on the records of the files for several epochs."""
    dataset = atds.Dataset(files, 64, FEATURES, shuffle_buffer_size=512, shuffle_files=True, seed=7)
    model = SGDClassifier(loss="log_loss", random_state=7)
    classes = np.arange(10)
    for epoch in range(epochs):
        for batch in tqdm(dataset, desc=f"epoch {epoch}", unit="batch"):
            pixels = batch["pixels"].reshape(-1, 64)
            model.partial_fit(pixels, batch["digit"], classes)
    return model


def accuracy(model: SGDClassifier, files: list[Path]) -> float:
    """The share of the records that a model classifies correctly."""
    right = total = 0
    for batch in atds.Dataset(files, 256, FEATURES):
        told = model.predict(batch["pixels"].reshape(-1, 64))
        right += int(np.count_nonzero(told == batch["digit"]))
        total += batch.num_records
    return right / total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=10, help="number of epochs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        *learnt, kept = write_digits(Path(folder))
        share = accuracy(train(learnt, options.epochs), [kept])
    print(f"{share:.1%} of the test digits are classified correctly")
    if share <= 0.9:
        sys.exit("that is not above 90 %")


if __name__ == "__main__":
    main()
