"""The exceptions of this package.

All are :class:`Error`, and each is also the built-in exception that people catch for its like: a
file that is not there is a :class:`FileNotFoundError`, an option out of its range a
:class:`ValueError`.
"""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """What went wrong, and where, as far as is known.

    >>> try:
    ...     atds.Dataset("nowhere/*.avro", batch_size=64)
    ... except atds.Error as error:
    ...     print(error, error.file, error.block)
    nowhere/*.avro: no file matches this pattern: there is no folder 'nowhere' nowhere/*.avro None

    Attributes:
        file: The file, or the pattern or folder that was given for files.
        offset: The byte of the file: of the fault itself where the block is not compressed, else
            of the block it is in. Of messages the byte of the message.
        decompressed_offset: The byte in the decompressed block, where the block is compressed.
        block: The block of the file, counted from 0.
        record: The record of the block, counted from 0; without blocks, the message of those
            that were given.
        field: The field, dotted where it is nested.
        fingerprint: The fingerprint of the writer's schema, where messages are single objects.
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
        # What an OSError has besides is not among its attributes.
        state = dict(self.__dict__)
        for name in ("errno", "filename"):
            if hasattr(self, name):
                state[name] = getattr(self, name)
        return type(self), self.args, state

    def __str__(self) -> str:
        # An OSError would make a text of its own of errno and filename.
        return str(self.args[0]) if self.args else ""


class OptionError(Error, ValueError):
    """An option that is out of its range."""


class FeatureError(Error, ValueError):
    """A feature that cannot be, or that the files' schema does not have."""


class SchemaError(Error, ValueError):
    """A schema that is none, or one that cannot be read as another."""


class DataError(Error, ValueError):
    """A file that is damaged, or a record that does not fit its schema or its feature."""


class FileError(Error, OSError):
    """A file that cannot be read; ``errno`` is the system's, if it has one for it."""

    errno: Any
    filename: Any

    def __init__(
        self, message: str, *, errno: int | None = None, file: str | None = None, **place: Any
    ) -> None:
        super().__init__(message, file=file, **place)
        self.errno = errno
        self.filename = file


class MissingFileError(FileError, FileNotFoundError):
    """A file that is not there, or a folder or pattern without files."""

    errno: Any
    filename: Any


class ReadOnceError(FileError, TypeError):
    """A pipe, a socket or a device, which can be read once, where that is not enough.

    It is a :class:`TypeError` as well, as that of ``len`` where there is no length.
    """

    errno: Any
    filename: Any


class MemoryLimitError(Error, MemoryError):
    """More memory is needed than ``memory_limit`` allows."""


class ThreadError(Error, RuntimeError):
    """A thread that the system does not start, for want of threads or of memory."""


class ForkError(Error, RuntimeError):
    """Something that a parent process made is used in its forked child."""


class MissingPackageError(Error, ImportError):
    """A package that is not installed, and that only this needs."""
