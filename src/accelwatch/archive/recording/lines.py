"""Cuts unpacked bytes into lines of bounded length, and separates documents from damage."""

import re
from collections.abc import Iterator
from typing import TypeGuard

import msgspec

from accelwatch.archive.recording.block_index import MAJOR
from accelwatch.archive.recording.layout import MAX_LINE
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import WireError
from accelwatch.schema.timestamps import unix_seconds

_SCHEMA = re.compile(r"accelwatch/(\d{1,9})")


class LineCutter:
    """Gets bytes as they come and gives the lines that they complete."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        # Bytes of a line that has started and not ended.
        self.pending = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """Lines without their break; None for one that is too long. Use all up before the next feed."""
        *complete, partial = chunk.split(b"\n")
        for segment in complete:
            fits = self.pending + len(segment) <= MAX_LINE
            line = b"".join((*self._chunks, segment)) if fits else None
            self.drop()
            yield line
        self.pending += len(partial)
        if self.pending > MAX_LINE:
            self._chunks = []
        elif partial:
            self._chunks.append(partial)

    def remainder(self) -> bytes | None:
        """The line that has not ended, which is dropped; None when it is too long."""
        line = b"".join(self._chunks) if self.pending <= MAX_LINE else None
        self.drop()
        return line

    def drop(self) -> None:
        """Forget the line that has not ended."""
        self._chunks, self.pending = [], 0


class _Head(msgspec.Struct):
    """The first things to know of a document; decoding it also checks that the line is whole JSON."""

    schema: str
    time: str


class NewerSchemaError(WireError):
    """A document of a newer major version of the schema."""


def timestamp_of(line: bytes) -> float | None:
    """Unix seconds of the document in a line; None where there is none. Raises NewerSchemaError."""
    try:
        head = msgspec.json.decode(line, type=_Head)
        schema = _SCHEMA.fullmatch(head.schema)
        if schema is None:
            return None
        if int(schema[1]) > MAJOR:
            raise NewerSchemaError(head.schema)
        return unix_seconds(head.time)
    except NewerSchemaError:
        raise
    except (*DECODE_ERRORS, WireError, OverflowError, ValueError):
        return None


def documents(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The lines that are documents; others are passed over, the last needs no line break."""
    cutter = LineCutter()
    for chunk in chunks:
        yield from filter(is_document, cutter.feed(chunk))
    last = cutter.remainder()
    if is_document(last):
        yield last


def is_document(line: bytes | None) -> TypeGuard[bytes]:
    """Whether a line is a document that this version reads."""
    try:
        return line is not None and timestamp_of(line) is not None
    except NewerSchemaError:
        return False
