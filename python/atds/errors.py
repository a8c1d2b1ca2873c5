"""The exceptions of this package.

All are :class:`Error`. Each is also the built-in exception that fits: a missing file is a
:class:`FileNotFoundError`, an option out of its range a :class:`ValueError`.
"""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """An error, with the place where it occurred as far as it is known.

    >>> try:
    ...     atds.Dataset("nowhere/*.avro", batch_size=64)
    ... except atds.Error as error:
    ...     print(error, error.file, error.block)
    nowhere/*.avro: no file matches this pattern: there is no folder 'nowhere' nowhere/*.avro None

    Attributes:
        file: The file, or the pattern or folder that was given for files.
        offset: The byte offset in the file: of the fault, or of its block if the block is
            compressed. For messages, the offset in the message.
        decompressed_offset: The byte offset in the decompressed block, if the block is compressed.
        block: The number of the block in the file, counted from 0.
        record: The number of the record in the block, counted from 0; for messages, the index of
            the message; for a BTable, the number of the row.
        field: The field, with dots for nested fields.
        fingerprint: The fingerprint of the writer's schema, if messages are single objects.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        offset: int | None = None,
        decompressed_offset: int | None = None,
        block: int | None = None,
        record: int | None = None,
        field: str | None = None,
        fingerprint: int | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.offset = offset
        self.decompressed_offset = decompressed_offset
        self.block = block
        self.record = record
        self.field = field
        self.fingerprint = fingerprint

    def __reduce__(self) -> tuple[Any, ...]:
        # The attributes of an OSError are not in its `__dict__`.
        state = dict(self.__dict__)
        for name in ("errno", "filename"):
            if hasattr(self, name):
                state[name] = getattr(self, name)
        return type(self), self.args, state

    def __str__(self) -> str:
        # OSError's own text is made of errno and filename.
        return str(self.args[0]) if self.args else ""


class OptionError(Error, ValueError):
    """An option that is out of its range."""


class FeatureError(Error, ValueError):
    """A feature that is invalid or does not fit the files' schema."""


class SchemaError(Error, ValueError):
    """A schema that is invalid, or a writer's schema that cannot be read as the reader's."""


class DataError(Error, ValueError):
    """A file that is damaged, or a record that does not fit its schema or its feature."""


class FileError(Error, OSError):
    """A file that cannot be read; ``errno`` is the system's error number, if there is one."""

    errno: Any
    filename: Any

    def __init__(
        self, message: str, *, errno: int | None = None, file: str | None = None, **place: Any
    ) -> None:
        super().__init__(message, file=file, **place)
        self.errno = errno
        self.filename = file


class MissingFileError(FileError, FileNotFoundError):
    """A missing file, or a folder or pattern without files."""

    errno: Any
    filename: Any


class ReadOnceError(FileError, TypeError):
    """A pipe, a socket or a device would have to be read more than once.

    This is also a :class:`TypeError`, as ``len`` raises for objects without a length.
    """

    errno: Any
    filename: Any


class MemoryLimitError(Error, MemoryError):
    """More memory is needed than ``memory_limit`` allows."""


class StateError(Error, ValueError):
    """A state that an iteration cannot go on from: other files or options, or no state at all."""


class ThreadError(Error, RuntimeError):
    """A thread that the system cannot start, for lack of threads or memory."""


class ForkError(Error, RuntimeError):
    """An object of a parent process is used in its forked child."""


class MissingPackageError(Error, ImportError):
    """An optional package is not installed."""
