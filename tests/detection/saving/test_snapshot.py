"""A detector's past as bytes and back, and every reason not to believe it."""

import hashlib
import struct

import numpy as np
import pytest

from accelwatch.detection.saving import snapshot
from accelwatch.detection.saving.snapshot import (
    Refusal,
    RefusalReason,
    Snapshot,
    digest_of,
    from_bytes,
    to_bytes,
)
from support.detection.fleets import DEVICES, NODES, START

DIGEST = digest_of(DEVICES, NODES)
SAVED = Snapshot(
    START,
    {"merging": b"{}", "empty": b""},
    {
        "numbers": np.array([[1.5, np.nan], [-0.0, np.inf]]),
        "codes": np.array([-1, 3], dtype=np.int16),
        "flags": np.array([True, False]),
        "names": np.array(["4711", "größer"]),
        "none": np.zeros((3, 0)),
    },
)
DATA = to_bytes(SAVED, DIGEST)


def resealed(content: bytes) -> bytes:
    return content + hashlib.sha256(content).digest()


def test_what_was_saved_is_read() -> None:
    read = from_bytes(DATA, DIGEST)

    assert isinstance(read, Snapshot)
    assert (read.written, read.documents) == (SAVED.written, SAVED.documents)
    assert list(read.arrays) == list(SAVED.arrays)
    for name, array in SAVED.arrays.items():
        assert read.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(read.arrays[name], array)
        assert read.arrays[name].flags.writeable


def test_the_same_state_is_the_same_bytes() -> None:
    assert to_bytes(SAVED, DIGEST) == DATA


def test_big_endian_arrays_are_read_as_any() -> None:
    swapped = Snapshot(0.0, {}, {"a": np.array([1.0, 2.0], dtype=">f8")})

    read = from_bytes(to_bytes(swapped, DIGEST), DIGEST)

    assert isinstance(read, Snapshot)
    assert read.arrays["a"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("at", range(0, len(DATA), 7))
def test_a_bit_that_has_flipped_is_noticed(at: int) -> None:
    data = bytearray(DATA)
    data[at] ^= 1

    read = from_bytes(bytes(data), DIGEST)

    assert isinstance(read, Refusal)
    assert read.reason in (RefusalReason.DAMAGED, RefusalReason.OTHER_VERSION)


@pytest.mark.parametrize("length", [0, 7, 20, 60, len(DATA) - 1])
def test_a_part_of_a_file_is_damaged(length: int) -> None:
    read = from_bytes(DATA[:length], DIGEST)

    assert isinstance(read, Refusal)
    assert read.reason is RefusalReason.DAMAGED


def test_other_signals_are_refused() -> None:
    other = digest_of(DEVICES[::-1], NODES)

    read = from_bytes(DATA, other)

    assert isinstance(read, Refusal)
    assert read.reason is RefusalReason.OTHER_SIGNALS
    assert len({DIGEST, other, digest_of((*DEVICES, *NODES), ())}) == 3


@pytest.mark.parametrize("version", [1, 6, 8])
def test_another_version_is_refused(version: int) -> None:
    read = from_bytes(resealed(DATA[:8] + struct.pack("<I", version) + DATA[12:-32]), DIGEST)

    assert read == Refusal(RefusalReason.OTHER_VERSION, f"it has version {version}, not 7")


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        (b"<i2", b"|O8"),
        (b"[2,2]", b"[2,3]"),
        (b"[2,2]", b"[-2,-2]"),
        (b'"merging":2', b'"merging":9'),
        (b'"merging":2,"empty":0', b'"merging":9,"empty":-7'),
        (b'{"signals"', b'["signals"'),
    ],
)
def test_a_header_that_does_not_fit_is_damaged(written: bytes, instead: bytes) -> None:
    """Even under a checksum that fits."""
    _, version, length = struct.unpack_from("<8sII", DATA)
    header = DATA[16 : 16 + length].replace(written, instead)
    assert header != DATA[16 : 16 + length]
    prefix = struct.pack("<8sII", b"ACCWDETC", version, len(header))

    read = from_bytes(resealed(prefix + header + DATA[16 + length : -32]), DIGEST)

    assert isinstance(read, Refusal)
    assert read.reason is RefusalReason.DAMAGED


def test_objects_are_not_saved() -> None:
    with pytest.raises(ValueError, match="things"):
        to_bytes(Snapshot(0.0, {}, {"things": np.array([object()])}), DIGEST)


def test_what_is_too_large_is_neither_written_nor_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MOST_BYTES", len(DATA) - 1)

    with pytest.raises(ValueError, match="too large"):
        to_bytes(SAVED, DIGEST)
    read = from_bytes(DATA, DIGEST)
    assert isinstance(read, Refusal)
    assert read.reason is RefusalReason.TOO_LARGE
