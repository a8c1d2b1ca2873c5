"""BTable files: sparse, labelled tables of numbers, as SciPy matrices and pandas frames.

The format of Framed Data (2015), for tables of which most cells are 0. A file that gzip or zstandard
compressed as a whole is read too, and written if its name ends in ``.gz`` or ``.zst``.

>>> from atds import btable
>>> btable.write("clicks.btable", ["login", "view", "buy"], [[5, 3, 0], [0, 0, 1]])
>>> btable.read_labels("clicks.btable")
['login', 'view', 'buy']
>>> matrix = btable.read("clicks.btable")
>>> matrix.shape, matrix.nnz
((2, 3), 3)

Reading and writing need NumPy only; :func:`read` needs SciPy, :func:`read_frame` pandas too.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from atds import _native
from atds._packages import need
from atds.errors import DataError, OptionError

__all__ = ["BTable", "Csr", "read", "read_csr", "read_frame", "read_labels", "write"]

_Path: TypeAlias = str | os.PathLike[str]
_Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
_Integers: TypeAlias = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]

#: The size of the parts in which arrays are converted and rows are read and written, in bytes.
_PART_BYTES = 1 << 20

#: Up to it, each integer is a float64.
_EXACT = 1 << 53


class Csr(NamedTuple):
    """The rows of a table: the arrays of a CSR matrix, over the memory that was read.

    The first three are the arguments of ``scipy.sparse.csr_matrix((data, indices, indptr))``, which takes
    them without a copy. The cells of row ``i`` are those from ``indptr[i]`` to ``indptr[i + 1]``, in the
    order of their columns.

    Attributes:
        data: float64 ``[nnz]``: the value of each cell.
        indices: ``[nnz]``: the column of each cell; int32, or int64 from 2,147,483,648 cells on.
        indptr: ``[rows + 1]``, of the dtype of ``indices``: a 0, then where each row's cells end.
        labels: The label of each column.
    """

    data: _Floats
    indices: _Integers
    indptr: _Integers
    labels: list[str]


def read_labels(path: _Path) -> list[str]:
    """The labels of the columns. No row is read.

    Raises:
        DataError: The file is no BTable, or its header is damaged.
        FileError: The file cannot be read.
    """
    return _native.TableReader(path).labels


def read_csr(path: _Path) -> Csr:
    """Reads a table into the arrays of a CSR matrix, in one pass.

    >>> from atds import btable
    >>> btable.write("small.btable", ["a", "b"], [[0, 2], [0, 0], [1, 3]])
    >>> data, indices, indptr, labels = btable.read_csr("small.btable")
    >>> data, indices.tolist(), indptr.tolist()
    (array([2., 1., 3.]), [1, 0, 1], [0, 1, 1, 3])

    Raises:
        DataError: The file is no BTable, or is damaged. ``error.offset`` is the byte offset of the damage
            (in a compressed file, in its decompressed data), ``error.record`` is the number of the row.
        FileError: The file cannot be read.
    """
    table = _native.TableReader(path)
    return Csr(*table.read(), labels=table.labels)


def read(path: _Path) -> Any:
    """Reads a table as a ``scipy.sparse.csr_matrix`` of float64, with sorted indices.

    The matrix lies over the memory that was read; nothing is copied. :func:`read_labels` has the labels of
    its columns.

    Raises:
        MissingPackageError: SciPy is not installed.
        DataError: As :func:`read_csr`.
        FileError: The file cannot be read.
    """
    sparse = need("scipy.sparse", "atds.btable.read")
    return _matrix(sparse, read_csr(path))


def read_frame(path: _Path, *, sparse: bool = True) -> Any:
    """Reads a table as a ``pandas.DataFrame`` of float64, whose columns have the labels.

    Args:
        path: The file.
        sparse: Whether the columns are sparse, ``Sparse[float64, 0.0]``. If not, the frame takes 8 bytes
            for each cell, zeros included.

    Raises:
        MissingPackageError: pandas or SciPy is not installed.
        DataError: As :func:`read_csr`.
        FileError: The file cannot be read.
    """
    pandas = need("pandas", "atds.btable.read_frame")
    scipy_sparse = need("scipy.sparse", "atds.btable.read_frame")
    csr = read_csr(path)
    matrix = _matrix(scipy_sparse, csr)
    if sparse:
        return pandas.DataFrame.sparse.from_spmatrix(matrix, columns=csr.labels)
    return pandas.DataFrame(matrix.toarray(), columns=csr.labels, copy=False)


def write(
    path: _Path,
    labels: Iterable[Any] | None,
    rows: Any,
    *,
    compression: Literal["none", "gzip", "zstandard"] | None = None,
) -> None:
    """Writes a table, byte for byte as Framed's own libraries do.

    Cells that are 0 are left out, also -0.0; a NaN is written. The file gets its name when it is
    complete: until then a file that was there stays as it is, also if an error occurs.

    >>> from atds import btable
    >>> rows = ([n % 2, n % 3] for n in range(6))
    >>> btable.write("rows.btable.zst", ["half", "third"], rows)
    >>> btable.read("rows.btable.zst").sum(axis=0).tolist()
    [[3.0, 6.0]]

    Args:
        path: The file.
        labels: The label of each column, of which ``str`` makes the text; None for the columns of a
            frame. At least one; none may have the character U+001F.
        rows: The values, which become float64:

            - a matrix or an array of ``scipy.sparse``, of any format, which is never made dense;
            - an array ``[rows, columns]``;
            - a ``pandas.DataFrame``, with dense or sparse columns of numbers;
            - any iterable of rows. A row is a sequence of a number for each column, or a mapping from
              column numbers, counted from 0, to values. Some rows are taken at a time, so that a table
              may be larger than the memory.
        compression: ``none``, ``gzip`` or ``zstandard``; by default what the end of the name says.

    Raises:
        OptionError: ``compression`` is none of these.
        DataError: The labels or rows cannot be written: a row of another length, values that are no
            numbers, an integer that no float64 is equal to; ``error.record`` is the number of the row.
        FileError: The file cannot be written.
    """
    if compression not in (None, "none", "gzip", "zstandard"):
        raise OptionError(
            f"compression must be 'none', 'gzip', 'zstandard' or None, not {compression!r}"
        )
    if labels is None:
        if not _is_frame(rows):
            raise DataError("labels must be given: only a pandas.DataFrame has its own")
        labels = rows.columns
    names = [str(label) for label in labels]
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"a label is no text: {error}") from error
    file = _native.TableWriter(path, names, compression)
    try:
        _write_rows(file, len(names), rows)
        file.finish()
    finally:
        file.abort()


class BTable:
    """A table under the names of Framed's Python library, ``btable-py``.

    >>> from atds import btable
    >>> btable.write("table.btable", ["one", "two"], [[0.0, 1.0], [2.0, 0.0]])
    >>> table = btable.BTable("table.btable")
    >>> table.labels, list(table.rows())
    (['one', 'two'], [[0.0, 1.0], [2.0, 0.0]])

    Attributes:
        fname: The file.
        version: The version of the format, always 0.
        labels: The label of each column.

    Raises:
        DataError: The file is no BTable, or its header is damaged.
        FileError: The file cannot be read.
    """

    version = 0

    def __init__(self, fname: _Path) -> None:
        self.fname = fname
        self.labels = read_labels(fname)

    def rows(self) -> Iterator[list[float]]:
        """The rows, each a list with a number for each column. Each call reads the file from its start,
        in memory that does not grow with it.

        Raises:
            DataError: The file is damaged. The rows before come first.
            FileError: The file cannot be read.
        """
        table = _native.TableReader(self.fname)
        columns = len(table.labels)
        part = max(1, _PART_BYTES // (8 * columns))
        while True:
            data, indices, indptr = table.read(part)
            rows = len(indptr) - 1
            dense = np.zeros((rows, columns))
            dense[np.repeat(np.arange(rows), np.diff(indptr)), indices] = data
            yield from dense.tolist()
            if rows < part:
                return

    def __repr__(self) -> str:
        return f"BTable({os.fspath(self.fname)!r}, {len(self.labels)} columns)"


def _matrix(sparse: Any, csr: Csr) -> Any:
    shape = (len(csr.indptr) - 1, len(csr.labels))
    matrix = sparse.csr_matrix((csr.data, csr.indices, csr.indptr), shape=shape, copy=False)
    # They were checked while they were read.
    matrix.has_canonical_format = True
    return matrix


def _is_frame(rows: Any) -> bool:
    # Without pandas there are no frames.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(rows, pandas.DataFrame)


def _write_rows(file: _native.TableWriter, columns: int, rows: Any) -> None:
    sparse = sys.modules.get("scipy.sparse")
    if _is_frame(rows):
        _check_columns(rows.shape[1], columns)
        _write_frame(file, rows)
    elif sparse is not None and sparse.issparse(rows):
        _write_sparse(file, columns, rows)
    elif isinstance(rows, np.ndarray):
        if rows.ndim != 2:
            raise DataError(f"an array of rows has 2 dimensions, not {rows.ndim}")
        _check_columns(rows.shape[1], columns)
        _write_array(file, rows)
    elif isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise DataError(f"rows cannot be a {type(rows).__name__}")
    else:
        _write_each(file, columns, iter(rows))


_NO_MASKED = "a table has no masked items: fill them"


def _check_columns(there: int, columns: int) -> None:
    if there != columns:
        raise DataError(f"there are {columns} labels, but the rows have {there} columns")


def _write_sparse(file: _native.TableWriter, columns: int, matrix: Any) -> None:
    if matrix.ndim != 2:
        raise DataError(f"a sparse array of rows has 2 dimensions, not {matrix.ndim}")
    _check_columns(matrix.shape[1], columns)
    csr = matrix.tocsr()
    if not csr.has_canonical_format:
        if csr is matrix:
            # The caller's matrix stays as it is.
            csr = csr.copy()
        csr.sum_duplicates()
    file.write_csr(_float64(csr.data, 0), np.ascontiguousarray(csr.indices), csr.indptr)


def _write_frame(file: _native.TableWriter, frame: Any) -> None:
    pandas = sys.modules["pandas"]
    types = pandas.api.types
    for label, dtype in frame.dtypes.items():
        inner = dtype.subtype if isinstance(dtype, pandas.SparseDtype) else dtype
        if not types.is_numeric_dtype(inner) or types.is_complex_dtype(inner):
            raise DataError(f"column {label!r} has the dtype {dtype}, which is not one of numbers")
    dtypes = list(frame.dtypes)
    if dtypes and all(
        isinstance(dtype, pandas.SparseDtype) and dtype.fill_value == 0 for dtype in dtypes
    ):
        for column in range(frame.shape[1]):
            _float64(frame.iloc[:, column].array.sp_values, None)
        _write_sparse(file, frame.shape[1], frame.sparse.to_coo())
        return
    for column, dtype in enumerate(dtypes):
        # In the array of a part, which has one dtype, integers are rounded already.
        if types.is_integer_dtype(dtype):
            _float64(frame.iloc[:, column].dropna().to_numpy(), None)
    part = max(1, _PART_BYTES // (8 * frame.shape[1]))
    for start in range(0, len(frame), part):
        rows = frame.iloc[start : start + part]
        file.write_dense(np.ascontiguousarray(rows.to_numpy(np.float64, na_value=np.nan)))


def _write_array(file: _native.TableWriter, array: np.ndarray[Any, Any]) -> None:
    if np.ma.is_masked(array):
        raise DataError(_NO_MASKED)
    part = max(1, _PART_BYTES // (8 * array.shape[1]) if array.shape[1] else 1)
    if array.dtype == np.float64 and array.flags.c_contiguous:
        # Nothing is copied; a part is long, so that a signal is noticed in time.
        part *= 64
    for start in range(0, len(array), part):
        rows = np.asarray(array[start : start + part])
        file.write_dense(np.ascontiguousarray(_float64(rows, start)))


def _write_each(file: _native.TableWriter, columns: int, rows: Iterator[Any]) -> None:
    part = max(1, _PART_BYTES // (8 * columns))
    for start in itertools.count(0, part):
        taken = list(itertools.islice(rows, part))
        if not taken:
            return
        for is_sparse, group in itertools.groupby(
            enumerate(taken, start), lambda row: isinstance(row[1], Mapping)
        ):
            if is_sparse:
                for number, row in group:
                    _write_mapping(file, row, number)
            else:
                _write_sequences(file, columns, list(group))


def _write_mapping(file: _native.TableWriter, row: Mapping[Any, Any], number: int) -> None:
    try:
        cells = sorted(row.items())
        indices = np.array([column.__index__() for column, _ in cells], np.int64)
    except (AttributeError, TypeError, OverflowError) as error:
        raise DataError(
            f"row {number}: the keys of a mapping are the numbers of columns: {error}",
            record=number,
        ) from error
    values = _numbers([value for _, value in cells], 1, number)
    ends = np.array([0, len(indices)], np.int64)
    file.write_csr(_float64(values, number), indices, ends)


def _write_sequences(
    file: _native.TableWriter, columns: int, rows: Sequence[tuple[int, Any]]
) -> None:
    first = rows[0][0]
    for number, row in rows:
        try:
            count = len(row)
        except TypeError:
            raise DataError(
                f"row {number} is a {type(row).__name__}, not a sequence or a mapping",
                record=number,
            ) from None
        if count != columns:
            raise DataError(
                f"row {number} has {count} values, but there are {columns} labels", record=number
            )
    file.write_dense(_float64(_numbers([row for _, row in rows], 2, first), first))


def _numbers(values: list[Any], dimensions: int, row: int) -> np.ndarray[Any, Any]:
    """An array of what should be numbers, of which `row` is the first row."""
    for number, value in enumerate(values, row):
        # As an array it would be what is below the mask.
        if np.ma.is_masked(value):
            raise DataError(f"row {number}: {_NO_MASKED}", record=number)
    try:
        array = np.asarray(values) if values else np.zeros(0)
    except ValueError as error:
        raise DataError(f"from row {row} on: {error}", record=row) from error
    if array.ndim != dimensions:
        raise DataError(f"from row {row} on: a value is no number", record=row)
    if array.dtype.kind == "f":
        # Ints among floats are rounded already.
        is_large = np.abs(array) >= _EXACT
        for index in np.flatnonzero(is_large if dimensions == 1 else is_large.any(axis=1)):
            cells = values[index] if dimensions == 2 else [values[index]]
            number = row + int(index) if dimensions == 2 else row
            for value in cells:
                if isinstance(value, (int, np.integer)):
                    _check_whole(int(value), f"row {number}: ", number)
    return array


def _check_whole(value: int, where: str, row: int | None) -> None:
    if int(float(value)) != value:
        raise DataError(
            f"{where}{value} is no float64: integers above 2^53 lose digits", record=row
        )


def _float64(values: np.ndarray[Any, Any], row: int | None) -> _Floats:
    """The values as float64, of which `row` is the first row. They must be numbers that keep their
    value."""
    dtype = values.dtype
    where = "" if row is None else f"from row {row} on: "
    if dtype.kind == "f" and dtype.itemsize <= 8:
        return values.astype(np.float64, copy=False)
    if dtype.kind not in "biu":
        raise DataError(f"{where}values of dtype {dtype} do not become float64", record=row)
    if dtype.itemsize == 8:
        for value in values[(values > _EXACT) | (values < -_EXACT)].tolist():
            _check_whole(value, where, row)
    return values.astype(np.float64)
