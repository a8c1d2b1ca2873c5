"""BTable files: byte for byte, as SciPy and pandas read and write them, and damaged."""

from __future__ import annotations

import gzip
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import atds
from atds import btable


def encoded(labels: list[str], rows: list[list[tuple[int, float]]]) -> bytes:
    """A table, written independently of the package."""
    text = "\x1f".join(labels).encode("utf-16-be")
    cells = [
        struct.pack(">i", len(row)) + b"".join(struct.pack(">id", *cell) for cell in row)
        for row in rows
    ]
    return struct.pack(">ii", 0, len(text) // 2) + text + b"".join(cells)


LABELS = ["a", "通", "𝄞", ""]
DENSE = np.array([[1.5, 0, np.nan, -2], [0, -0.0, 0, 0], [0, np.inf, 1e-310, 0]])
ROWS = [[(0, 1.5), (2, np.nan), (3, -2.0)], [], [(1, np.inf), (2, 1e-310)]]
FILE = encoded(LABELS, ROWS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.btable"


def dense_frame() -> Any:
    return pd.DataFrame(DENSE, columns=LABELS)


def sparse_frame() -> Any:
    return pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(DENSE), columns=LABELS)


def generator() -> Iterator[list[float]]:
    yield from DENSE.tolist()


def wide(matrix: Any) -> Any:
    """The same with int64 indices."""
    matrix.indices, matrix.indptr = matrix.indices.astype("i8"), matrix.indptr.astype("i8")
    return matrix


@pytest.mark.parametrize(
    "rows",
    [
        DENSE,
        np.asfortranarray(DENSE),
        DENSE[::-1][::-1],
        DENSE.astype(">f8"),
        DENSE.tolist(),
        [tuple(row) for row in DENSE],
        list(DENSE),
        generator,
        [dict(row) for row in ROWS],
        [DENSE[0], {}, {2: 1e-310, np.int64(1): np.inf, 3: 0.0}],
        *(kind(DENSE) for kind in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.lil_matrix)),
        *(kind(DENSE) for kind in (sp.dok_matrix, sp.bsr_matrix, sp.csr_array, sp.coo_array)),
        wide(sp.csr_matrix(DENSE)),
        dense_frame,
        sparse_frame,
    ],
)
def test_the_same_file_from_everything(path: Path, rows: Any) -> None:
    btable.write(path, LABELS, rows() if callable(rows) else rows)
    assert path.read_bytes() == FILE


def test_what_the_original_writer_made(path: Path) -> None:
    file = bytes.fromhex("0000000000000001901a00000001000000003ff0000000000000")
    path.write_bytes(file)
    assert btable.read_labels(path) == ["\u901a"]
    matrix = btable.read(path)
    assert matrix.toarray().tolist() == [[1.0]]
    btable.write(path, btable.read_labels(path), matrix)
    assert path.read_bytes() == file


def test_reading(path: Path) -> None:
    path.write_bytes(FILE)
    assert btable.read_labels(path) == LABELS
    matrix = btable.read(str(path))
    assert isinstance(matrix, sp.csr_matrix)
    assert (matrix.shape, matrix.dtype, matrix.indices.dtype) == ((3, 4), np.float64, np.int32)
    assert matrix.has_canonical_format
    np.testing.assert_array_equal(matrix.toarray(), DENSE)
    matrix.check_format(full_check=True)

    csr = btable.read_csr(path)
    assert csr.labels == LABELS
    assert csr.indptr.tolist() == [0, 3, 3, 5]
    taken = sp.csr_matrix(csr[:3])
    assert np.shares_memory(taken.data, csr.data)
    assert np.shares_memory(taken.indices, csr.indices)
    # The matrix is the caller's.
    matrix.data[0] = 7
    assert matrix[0, 0] == 7


def test_frames(path: Path) -> None:
    path.write_bytes(FILE)
    for sparse in (True, False):
        frame = btable.read_frame(path, sparse=sparse)
        assert list(frame.columns) == LABELS
        np.testing.assert_array_equal(frame.to_numpy(np.float64), DENSE)
        is_sparse = [isinstance(dtype, pd.SparseDtype) for dtype in frame.dtypes]
        assert is_sparse == [sparse] * 4
        btable.write(path, None, frame)
        assert path.read_bytes() == FILE
    mixed = pd.DataFrame(
        {
            "int": [1, 0],
            "bool": [False, True],
            "float32": np.array([0.5, 0], "f4"),
            "nullable": pd.array([None, 3], "Int64"),
            "sparse": pd.arrays.SparseArray([0.0, 2.0]),
        }
    )
    btable.write(path, None, mixed)
    expected = [[1, 0, 0.5, np.nan, 0], [0, 1, 0, 3, 2]]
    np.testing.assert_array_equal(btable.read(path).toarray(), expected)
    assert btable.read_labels(path) == list(mixed.columns)
    # Two columns of one name, and names that are no texts.
    twice = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", 7])
    btable.write(path, None, twice)
    assert btable.read_frame(path).columns.tolist() == ["a", "a", "7"]


def test_framed_s_names(path: Path) -> None:
    labels = ["one", "two", "three"]
    rows = [[0.0, 1.0, 0.0], [2.0, 0.0, 3.0], [0.0, 4.0, 5.0]]
    btable.write(str(path), labels, rows)
    table = btable.BTable(str(path))
    assert (table.fname, table.version, table.labels) == (str(path), 0, labels)
    assert list(table.rows()) == rows
    # Each call begins from the start.
    assert next(table.rows()) == rows[0]
    assert repr(table) == f"BTable({str(path)!r}, 3 columns)"


def test_rows_of_many_parts(path: Path) -> None:
    rng = np.random.default_rng(1)
    matrix = sp.random(30_000, 20, 0.1, "csr", rng=rng)
    for given in (matrix, matrix.toarray(), (row.tolist() for row in matrix.toarray())):
        btable.write(path, range(20), given)
        assert (btable.read(path) != matrix).nnz == 0
    assert np.array(list(btable.BTable(path).rows())).tobytes() == matrix.toarray().tobytes()


def test_no_rows(path: Path) -> None:
    for rows in ([], np.zeros((0, 2)), sp.csr_matrix((0, 2)), pd.DataFrame({"a": [], "b": []})):
        btable.write(path, ["a", "b"], rows)
        assert path.read_bytes() == encoded(["a", "b"], [])
    assert btable.read(path).shape == (0, 2)
    assert btable.read_frame(path).shape == (0, 2)
    assert list(btable.BTable(path).rows()) == []


def test_a_caller_s_matrix_stays_as_it_is(path: Path) -> None:
    arrays = np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1], "i4"), np.array([0, 3], "i4")
    matrix = sp.csr_matrix(arrays, shape=(1, 2))
    btable.write(path, ["a", "b"], matrix)
    # Cells of one column are added, as SciPy means them.
    assert btable.read(path).toarray().tolist() == [[2.0, 4.0]]
    assert matrix.indices.tolist() == [1, 0, 1]


def test_compressed_files(tmp_path: Path) -> None:
    for name, head in ("t.btable.gz", b"\x1f\x8b"), ("t.btable.zst", b"\x28\xb5\x2f\xfd"):
        path = tmp_path / name
        btable.write(path, LABELS, DENSE)
        assert path.read_bytes().startswith(head)
        np.testing.assert_array_equal(btable.read(path).toarray(), DENSE)
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(atds.FileError, match=name):
            btable.read(path)
    assert gzip.compress(FILE) and gzip.decompress(_gzip(tmp_path)) == FILE
    # The argument counts more than the name, and the content when reading.
    path = tmp_path / "plain.gz"
    btable.write(path, LABELS, DENSE, compression="none")
    assert path.read_bytes() == FILE
    btable.write(path, LABELS, DENSE, compression="zstandard")
    np.testing.assert_array_equal(btable.read(path).toarray(), DENSE)
    with pytest.raises(atds.OptionError, match="compression must be 'none', 'gzip'"):
        btable.write(path, LABELS, DENSE, compression="lz4")  # type: ignore[arg-type]


def _gzip(folder: Path) -> bytes:
    path = folder / "again.btable.gz"
    btable.write(path, LABELS, DENSE)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("damage", "offset", "row", "message"),
    [
        (b"", 0, None, "the file is empty"),
        (b"Obj\x01", 0, None, "this is an Avro file"),
        (FILE[:9], 9, None, "the file ends inside the header"),
        (FILE[:-1], len(FILE) - 1, 2, "the file ends inside the row, 1 or more bytes short"),
        (FILE + struct.pack(">i", 5), len(FILE), 3, "the row has 5 cells, but the table has 4"),
        (FILE + struct.pack(">i", -1), len(FILE), 3, "the number of cells is negative: -1"),
        (
            encoded(["a"], [[], [(1, 1.0)]]),
            18,
            1,
            "there is no column 1: the table has 1 columns",
        ),
        (encoded(["a", "b"], [[(1, 1.0), (0, 1.0)]]), 30, 0, "columns must ascend"),
        (encoded(["a", "b"], [[(1, 1.0), (1, 1.0)]]), 30, 0, "column 1 comes twice"),
    ],
)
def test_damage(path: Path, damage: bytes, offset: int, row: int | None, message: str) -> None:
    path.write_bytes(damage)
    for read in (btable.read, btable.read_csr, btable.read_frame):
        with pytest.raises(atds.DataError, match=message) as caught:
            read(path)
        error = caught.value
        assert (error.file, error.offset, error.record) == (str(path), offset, row)
        assert str(error).startswith(f"{path}: ")
    if row:
        rows = btable.BTable(path).rows()
        with pytest.raises(atds.DataError, match=message):
            list(rows)


@pytest.mark.parametrize(
    ("labels", "rows", "message"),
    [
        ([], [], "there are no labels"),
        (["a\x1fb"], [], "which separates labels"),
        (["\ud800"], [], "a label is no text"),
        (None, [[1.0]], "labels must be given"),
        (["a"], np.zeros((2, 3)), "there are 1 labels, but the rows have 3 columns"),
        (["a"], sp.csr_matrix((2, 3)), "there are 1 labels, but the rows have 3 columns"),
        (["a"], pd.DataFrame({"a": [1], "b": [2]}), "but the rows have 2 columns"),
        (["a"], np.zeros(3), "has 2 dimensions, not 1"),
        (["a"], sp.coo_array(np.ones(3)), "has 2 dimensions, not 1"),
        (["a"], "text", "rows cannot be a str"),
        (["a"], 3, "rows cannot be a int"),
        (["a", "b"], [[1, 2], [1]], "row 1 has 1 values, but there are 2 labels"),
        (["a"], [[1], 2], "row 1 is a int, not a sequence"),
        (["a"], [["1"]], "values of dtype <U1 do not become float64"),
        (["a"], [[None]], "values of dtype object"),
        (["a"], [[1j]], "values of dtype complex128"),
        (["a"], [[[1.0]]], "a value is no number"),
        (["a", "b"], [[[1.0], 2.0]], "from row 0 on"),
        (["a"], np.array([["x"]]), "values of dtype <U1"),
        (["a"], np.ma.array([[1.0]], mask=True), "a table has no masked items: fill them"),
        (["a"], [[0.0], np.ma.array([1.0], mask=True)], "row 1: a table has no masked items"),
        (["a"], [{}, {0: np.ma.masked}], "row 1: a table has no masked items"),
        (["a"], np.array([[2**53 + 1]]), "9007199254740993 is no float64"),
        (["a"], np.array([[2**64 - 1]], "u8"), "18446744073709551615 is no float64"),
        (["a"], sp.csr_matrix([[-(2**53) - 1]]), "-9007199254740993 is no float64"),
        (["a"], pd.DataFrame({"a": [2**53 + 1]}), "9007199254740993 is no float64"),
        (["a", "b"], [[1, 2], [2**53 + 1, 0.5]], "row 1: 9007199254740993 is no float64"),
        (["a", "b"], [[2**64 - 1, -1]], "row 0: 18446744073709551615 is no float64"),
        (["a", "b"], [np.array([2**53 + 1, 1]), [0.5, 1]], "row 0: 9007199254740993 is no"),
        (["a", "b"], [{}, {0: 2**53 + 1, 1: 0.5}], "row 1: 9007199254740993 is no float64"),
        (["a"], pd.DataFrame({"a": ["1"]}), "column 'a' has the dtype"),
        (["a"], [{"a": 1.0}], "row 0: the keys of a mapping are the numbers of columns"),
        (["a"], [{0: "1"}], "values of dtype <U1"),
        (["a"], [{}, {1: 1.0}], "row 1 at byte .*: there is no column 1"),
        (["a"], [{-1: 1.0}], "there is no column -1"),
    ],
)
def test_what_cannot_be_written(path: Path, labels: Any, rows: Any, message: str) -> None:
    path.write_bytes(b"before")
    with pytest.raises(atds.DataError, match=message):
        btable.write(path, labels, rows)
    # What was there stays, and nothing else is left.
    assert path.read_bytes() == b"before"
    assert list(path.parent.iterdir()) == [path]


def test_large_integers_that_are_floats(path: Path) -> None:
    values = [2**53, 2**60, -(2**63), 2**62 + 2**20]
    btable.write(path, ["a"], np.array(values).reshape(-1, 1))
    assert btable.read(path).data.tolist() == values
    btable.write(path, ["a", "b"], [[2**53 + 2, 0.5], [1e300, -np.inf]])
    assert btable.read(path).data.tolist() == [2**53 + 2, 0.5, 1e300, -np.inf]


def test_rows_that_raise(path: Path) -> None:
    def rows() -> Iterator[list[float]]:
        yield [1.0]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        btable.write(path, ["a"], rows())
    assert list(path.parent.iterdir()) == []


def test_files_that_cannot_be_opened(path: Path) -> None:
    with pytest.raises(atds.MissingFileError) as caught:
        btable.read(path)
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(atds.FileError):
        btable.read(path.parent)
    with pytest.raises(atds.FileError):
        btable.write(path / "no" / "such", ["a"], [])


def test_neither_scipy_nor_pandas_is_needed(path: Path) -> None:
    program = """
import sys
for name in "scipy", "scipy.sparse", "pandas":
    sys.modules[name] = None
import atds
from atds import btable
btable.write("t.btable", ["a", "b"], [[0, 1], [2, 3]])
assert btable.read_csr("t.btable").data.tolist() == [1, 2, 3]
assert list(btable.BTable("t.btable").rows()) == [[0, 1], [2, 3]]
for read, package in (btable.read, "scipy"), (btable.read_frame, "pandas"):
    try:
        read("t.btable")
        raise SystemExit("no error")
    except atds.MissingPackageError as error:
        assert package in str(error), error
"""
    subprocess.run([sys.executable, "-c", program], cwd=path.parent, check=True)


def test_memory_of_a_stream_does_not_grow(path: Path) -> None:
    resource = pytest.importorskip("resource")
    program = """
import resource, sys
from atds import btable
rows = int(sys.argv[1])
btable.write("t.btable", map(str, range(100)), ({n % 100: 1.0 + n} for n in range(rows)))
assert sum(row[7] for row in btable.BTable("t.btable").rows()) > 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    assert resource
    peaks = []
    for rows in (1_000, 200_000):
        command = [sys.executable, "-c", program, str(rows)]
        done = subprocess.run(command, cwd=path.parent, check=True, capture_output=True, text=True)
        peaks.append(int(done.stdout))
    # 200,000 rows of 100 columns would take 160 MB.
    assert peaks[1] < peaks[0] + 16_000


@pytest.fixture
def table(path: Path) -> Any:
    matrix = sp.random(3_000, 12, 0.2, "csr", rng=np.random.default_rng(2))
    btable.write(path, [f"c{n}" for n in range(12)], matrix)
    return matrix


def test_batches(path: Path, table: Any) -> None:
    features = {
        "x": atds.SparseFeature([10], "float64", expression="@"),
        "c3": atds.DenseFeature([], "float64"),
        "y": atds.DenseFeature([], "float32", expression="[0]", cast=True),
    }
    batches = list(atds.Dataset(path, 100, features))
    assert len(batches) == 30
    rest = [n for n in range(12) if n not in (0, 3)]
    for number, batch in enumerate(batches):
        rows = table[100 * number : 100 * number + 100].toarray()
        np.testing.assert_array_equal(batch["x"].toarray(), rows[:, rest])
        np.testing.assert_array_equal(batch["c3"], rows[:, 3])
        np.testing.assert_array_equal(batch["y"], rows[:, 0].astype("f4"))


def test_batches_of_csr_and_dense(path: Path, table: Any) -> None:
    # Without features, all columns are one sparse feature.
    (batch,) = list(atds.Dataset(path, 3_000))
    np.testing.assert_array_equal(batch["x"].toarray(), table.toarray())
    ragged = {"x": atds.SparseFeature([12], "float64", expression="@", layout="ragged")}
    parts = []
    for batch in atds.Dataset(path, 500, ragged, shuffle_buffer_size=2_000, seed=1):
        x = batch["x"]
        parts.append(sp.csr_matrix((x.values, x.indices[:, 0], x.row_splits), shape=(500, 12)))
    csr = sp.vstack(parts, "csr")
    order = sorted(map(tuple, csr.toarray()))
    assert order == sorted(map(tuple, table.toarray()))
    assert (csr != table).nnz > 0
    dense = {"x": atds.DenseFeature([12], "float64", expression="[*]")}
    (batch,) = list(atds.Dataset(path, 3_000, dense, format="btable"))
    np.testing.assert_array_equal(batch["x"], table.toarray())


def test_chosen_labels_are_one_block(path: Path, table: Any) -> None:
    chosen = [7, 0, 11]
    features = {
        "y": atds.DenseFeature(
            [3], "float32", expression=str([f"c{n}" for n in chosen]), cast=True
        ),
        "one": atds.DenseFeature([1], "float64", expression="c5"),
        "x": atds.SparseFeature([8], "float64", expression="@"),
    }
    (batch,) = list(atds.Dataset(path, 3_000, features))
    rows = table.toarray()
    np.testing.assert_array_equal(batch["y"], rows[:, chosen].astype("f4"))
    np.testing.assert_array_equal(batch["one"], rows[:, [5]])
    rest = [n for n in range(12) if n not in (*chosen, 5)]
    np.testing.assert_array_equal(batch["x"].toarray(), rows[:, rest])
    for labels, message in (["c1", "c1"], "'c1' stands there twice"), (["c1", "z"], "label 'z'"):
        feature = atds.DenseFeature([2], "float64", expression=str(labels))
        with pytest.raises(atds.FeatureError, match=message):
            atds.Dataset(path, 8, {"y": feature})


def test_features_and_formats_that_do_not_fit(path: Path, table: Any) -> None:
    for feature, message in [
        (atds.DenseFeature([], "float64"), "no column has the label 'x'; the first are 'c0'"),
        (atds.DenseFeature([], "int64", expression="c0"), "not int64"),
        (atds.SparseFeature([11], "float64", expression="@"), "it has 12 columns"),
    ]:
        with pytest.raises(atds.FeatureError, match=message) as caught:
            atds.Dataset(path, 8, {"x": feature})
        assert caught.value.file == str(path)
    with pytest.raises(atds.DataError, match="not an Avro object container file"):
        atds.Dataset(path, 8, format="avro")
    with pytest.raises(atds.OptionError, match="format must be 'avro'"):
        atds.Dataset(path, 8, format="parquet")


def test_damage_in_batches(path: Path, table: Any) -> None:
    with path.open("ab") as file:
        file.write(struct.pack(">i", 13))
    batches = iter(atds.Dataset(path, 1_000))
    assert [len(next(batches)["x"].toarray()) for _ in range(3)] == [1_000] * 3
    with pytest.raises(
        atds.DataError, match="the row has 13 cells, but the table has 12"
    ) as caught:
        next(batches)
    assert caught.value.offset == path.stat().st_size - 4
