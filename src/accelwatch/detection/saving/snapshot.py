"""What a detector knows, as bytes that outlive a restart.

A snapshot is refused rather than half believed: a history that belongs to other signals or that was
damaged on disk would accuse people's machines. Nothing in it is executed.

Layout: magic, version, length of the header; header (JSON); documents and arrays as they follow one
another in the header; SHA-256 of all before it. Numbers are little-endian.
"""

import hashlib
import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec
import numpy as np

from accelwatch.detection.baselines.state_arrays import Array
from accelwatch.detection.signals.signal import SignalRow

VERSION = 7
# 4,000 nodes at 64 KiB a node, twice.
MOST_BYTES = 512 * 2**20
_MOST_ARRAYS = 4096
# Written in some tenths of a millisecond.
_SEGMENT_BYTES = 2**20
_MOST_AXES = 4
_MAGIC = b"ACCWDETC"
_PREFIX = struct.Struct("<8sII")
_CHECKSUM_BYTES = hashlib.sha256().digest_size
# Floats, whole numbers, truths, and text of fixed width.
_TYPE = re.compile(r"<(?:f[48]|[iu][248]|U[0-9]{1,4})|\|(?:b1|[iu]1)")


class RefusalReason(StrEnum):
    """Why a snapshot is not used."""

    TOO_LARGE = "too_large"
    DAMAGED = "damaged"
    OTHER_VERSION = "other_version"
    # The tables of signals are others than those that it was written with.
    OTHER_SIGNALS = "other_signals"


class Refusal(NamedTuple):
    """A snapshot that is not used; `text` is for people."""

    reason: RefusalReason
    text: str


class Snapshot(NamedTuple):
    """What was saved."""

    # Unix seconds.
    written: float
    # StateArrays that are no arrays, by name: MessagePack, in which NaN is a number.
    documents: Mapping[str, bytes]
    # By name; copies that may be written to.
    arrays: Mapping[str, Array]


class _Position(msgspec.Struct, frozen=True):
    name: str
    type: str
    shape: tuple[int, ...]


class _Header(msgspec.Struct, frozen=True):
    signals: str
    written: float
    # Length by name.
    documents: dict[str, int]
    arrays: list[_Position]


def digest_of(devices: Iterable[SignalRow], nodes: Iterable[SignalRow]) -> str:
    """A digest of the tables of signals: any change of a row or of their order changes it."""
    text = "\n".join(repr(tuple(row)) for row in (*devices, (), *nodes))
    return hashlib.sha256(text.encode()).hexdigest()


def to_bytes(snapshot: Snapshot, digest: str) -> bytes:
    """The bytes of a snapshot. Raises ValueError for arrays of objects and for too many bytes."""
    return b"".join(segments(snapshot, digest))


def segments(snapshot: Snapshot, digest: str) -> Iterator[bytes | memoryview]:
    """The bytes of a snapshot in small pieces: no other thread waits for one that is being copied.

    Raises ValueError for arrays of objects and for too many bytes, before the first of them.
    """
    arrays = {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in snapshot.arrays.items()
    }
    positions = [_Position(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    if refused := [position.name for position in positions if not _is_sound(position)]:
        raise ValueError(f"no snapshot of these arrays: {', '.join(refused)}")
    lengths = {name: len(document) for name, document in snapshot.documents.items()}
    header = msgspec.json.encode(_Header(digest, snapshot.written, lengths, positions))
    size = _PREFIX.size + len(header) + sum(lengths.values()) + sum(map(_bytes_of, positions))
    if size + _CHECKSUM_BYTES > MOST_BYTES:
        raise ValueError(f"a snapshot of {size} bytes is too large, {MOST_BYTES} at most")
    return _sealed(
        (_PREFIX.pack(_MAGIC, VERSION, len(header)), header, *snapshot.documents.values()),
        arrays.values(),
    )


def _sealed(first: Iterable[bytes], arrays: Iterable[Array]) -> Iterator[bytes | memoryview]:
    checksum = hashlib.sha256()
    for data in first:
        checksum.update(data)
        yield data
    for array in arrays:
        # The bytes of text as well, which is no buffer for anybody but numpy.
        flat = array.reshape(-1).view(np.uint8).data
        for at in range(0, len(flat), _SEGMENT_BYTES):
            segment = flat[at : at + _SEGMENT_BYTES]
            checksum.update(segment)
            yield segment
    yield checksum.digest()


def from_bytes(data: bytes, digest: str) -> Snapshot | Refusal:
    """The snapshot that `to_bytes` wrote; `digest` is that of the tables of now."""
    if len(data) > MOST_BYTES:
        return Refusal(RefusalReason.TOO_LARGE, f"it has {len(data)} bytes, more than {MOST_BYTES}")
    if len(data) < _PREFIX.size + _CHECKSUM_BYTES or not data.startswith(_MAGIC):
        return _damaged("it is no snapshot of a detector")
    _, version, length = _PREFIX.unpack_from(data)
    if version != VERSION:
        # Before the checksum: another version may have another one.
        return Refusal(RefusalReason.OTHER_VERSION, f"it has version {version}, not {VERSION}")
    content = memoryview(data)[:-_CHECKSUM_BYTES]
    if hashlib.sha256(content).digest() != data[-_CHECKSUM_BYTES:]:
        return _damaged("its checksum does not fit")
    try:
        header = msgspec.json.decode(content[_PREFIX.size :][:length], type=_Header)
    except msgspec.MsgspecError as error:
        return _damaged(f"its header cannot be read: {error}")
    if header.signals != digest:
        return Refusal(RefusalReason.OTHER_SIGNALS, "it was written with other signals")
    return _content(header, content[_PREFIX.size + length :])


def _content(header: _Header, content: memoryview) -> Snapshot | Refusal:
    lengths = header.documents
    if len(header.arrays) > _MOST_ARRAYS or not all(map(_is_sound, header.arrays)):
        return _damaged("it has arrays that no detector writes")
    expected = sum(lengths.values()) + sum(map(_bytes_of, header.arrays))
    if min(lengths.values(), default=0) < 0 or expected != len(content):
        return _damaged(f"it has {len(content)} bytes of content where its header says {expected}")
    at, documents, arrays = 0, {}, {}
    for name, length in lengths.items():
        documents[name] = bytes(content[at : at + length])
        at += length
    for position in header.arrays:
        end = at + _bytes_of(position)
        array = np.frombuffer(content[at:end], dtype=position.type).reshape(position.shape)
        arrays[position.name] = array.copy()
        at = end
    return Snapshot(header.written, documents, arrays)


def _is_sound(position: _Position) -> bool:
    return (
        _TYPE.fullmatch(position.type) is not None
        and len(position.shape) <= _MOST_AXES
        and all(0 <= length <= MOST_BYTES for length in position.shape)
    )


def _bytes_of(position: _Position) -> int:
    return math.prod(position.shape) * np.dtype(position.type).itemsize


def _damaged(text: str) -> Refusal:
    return Refusal(RefusalReason.DAMAGED, text)
