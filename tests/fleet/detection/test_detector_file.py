"""No bad day of a detector's file does harm: it is set aside or left, which is logged."""

import errno
import logging
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from accelwatch.archive.detector import detector_memory
from accelwatch.archive.detector.detector_memory import FILE
from accelwatch.detection.saving.snapshot import (
    VERSION,
    Snapshot,
    digest_of,
    from_bytes,
    to_bytes,
)
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from support.fleet.detector_process import (
    INTERVAL_S,
    LEARNED_S,
    LOST,
    A,
    B,
    Process,
    next_process,
    written,
)

DIGEST = digest_of(DEVICE_SIGNALS, NODE_SIGNALS)
LOSS = "the detector learns again what is usual"


def parsed(data: bytes) -> Snapshot:
    snapshot = from_bytes(data, DIGEST)
    assert isinstance(snapshot, Snapshot)
    return snapshot


def without(data: bytes, name: str) -> bytes:
    """A file that lacks a document or an array and whose checksum is right, as all below."""
    snapshot = parsed(data)
    documents = {key: value for key, value in snapshot.documents.items() if key != name}
    arrays = {key: value for key, value in snapshot.arrays.items() if key != name}
    return to_bytes(snapshot._replace(documents=documents, arrays=arrays), DIGEST)


def with_identities(data: bytes, **changes: object) -> bytes:
    snapshot = parsed(data)
    identities = msgspec.msgpack.decode(snapshot.documents["identities"]) | changes
    documents = {**snapshot.documents, "identities": msgspec.msgpack.encode(identities)}
    return to_bytes(snapshot._replace(documents=documents), DIGEST)


FOUR = {"devices": ["gpu0"] * 4, "node_of": [0] * 4, "uuid": [None] * 4, "serial": [None] * 4}


def flipped(data: bytes, share: float) -> bytes:
    changed = bytearray(data)
    changed[int(share * (len(data) - 1))] ^= 0x40
    return bytes(changed)


def with_version(data: bytes, version: int) -> bytes:
    return data[:8] + struct.pack("<I", version) + data[12:]


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda _: b"", "no snapshot of a detector"),
        (lambda data: data[:1000], "checksum does not fit"),
        (lambda data: data[:-1], "checksum does not fit"),
        (lambda data: flipped(data, 0.0), "no snapshot of a detector"),
        (lambda data: flipped(data, 0.01), "checksum does not fit"),
        (lambda data: flipped(data, 0.2), "checksum does not fit"),
        (lambda data: flipped(data, 0.6), "checksum does not fit"),
        (lambda data: flipped(data, 1.0), "checksum does not fit"),
        (
            lambda data: with_version(data, VERSION - 1),
            f"it has version {VERSION - 1}, not {VERSION}",
        ),
        (
            lambda data: with_version(data, VERSION + 1),
            f"it has version {VERSION + 1}, not {VERSION}",
        ),
        (lambda data: to_bytes(parsed(data), "0" * 64), "written with other signals"),
        (lambda data: without(data, "rows"), "it has no 'rows'"),
        (lambda data: without(data, "findings"), "it has no 'findings'"),
        (lambda data: without(data, "identities"), "truncated"),
        (lambda data: without(data, "devices/fusion.level"), "missing or unknown: fusion.level"),
        (lambda data: with_identities(data, **FOUR), "its rows are not those that it names"),
        (lambda data: with_identities(data, uuid=[]), "do not fit one another"),
        (lambda data: with_identities(data, booted_at=[]), "do not fit one another"),
        (lambda data: with_identities(data, node_of=[9] * 5), "on nodes that are not there"),
        (lambda data: with_identities(data, node_of=[-1] * 5), "on nodes that are not there"),
    ],
)
def test_what_cannot_be_used_is_set_aside(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    spoil: Callable[[bytes], bytes],
    fault: str,
) -> None:
    path, spoiled = tmp_path / FILE, spoil(written().data)
    path.write_bytes(spoiled)
    after = Process(tmp_path, written().now)

    (message,) = caplog.messages
    assert message.startswith(LOSS)
    assert fault in message
    assert f"path={path}" in message
    assert f"kept={path}.damaged" in message
    assert (tmp_path / f"{FILE}.damaged").read_bytes() == spoiled
    after.tick(a=A, b=B)
    assert max(after.learned_s().values()) <= 3 * INTERVAL_S
    assert after.save() == ""
    assert path.exists()
    assert after.memory.problem == ""


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(written().data)
    monkeypatch.setattr(detector_memory, "MOST_BYTES", size - 1)
    next_process(tmp_path)
    (message,) = caplog.messages
    assert f"it has {size} bytes, more than {size - 1}" in message
    assert (tmp_path / f"{FILE}.damaged").exists()


def test_a_fleet_that_is_too_large_is_kept_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = next_process(tmp_path)
    process.tick(a=A, b=B)
    with monkeypatch.context() as patch:
        patch.setattr("accelwatch.detection.saving.snapshot.MOST_BYTES", 1000)
        for _ in range(2):
            assert "is too large, 1000 at most" in process.save()
    assert len(caplog.messages) == 1
    assert process.memory.problem
    assert (tmp_path / FILE).read_bytes() == written().data
    assert process.save() == ""
    assert process.memory.problem == ""


@pytest.mark.parametrize(
    ("moved_s", "fault"),
    [
        (-120.0, "after now; the clock has been set back"),
        (8 * 86400.0, "it is 8 days old"),
    ],
)
def test_a_past_of_another_time_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, moved_s: float, fault: str
) -> None:
    after = next_process(tmp_path, moved_s)
    assert after.tick(a=A, b=B) == ()
    (message,) = caplog.messages
    assert message.startswith(LOSS)
    assert fault in message
    assert f"kept={tmp_path / FILE}.damaged" in message
    assert max(after.learned_s().values()) <= 3 * INTERVAL_S


def test_a_full_disk_is_logged_once_and_the_detector_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = next_process(tmp_path)
    process.tick(a=A, b=B)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for _ in range(3):
            process.tick(a=A, b=B)
            assert process.save() == f"{tmp_path / FILE}: No space left on device"
    (message,) = caplog.messages
    assert f"path={tmp_path / FILE}" in message
    assert "No space left on device" in message
    assert (tmp_path / FILE).read_bytes() == written().data
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert process.save() == ""
    assert (tmp_path / FILE).read_bytes() != written().data


def test_a_folder_that_cannot_be_used_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    process = Process(tmp_path / "file")
    process.tick(a=A, b=B)
    assert process.save()
    assert process.save() == process.memory.problem
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_what_cannot_be_read_is_not_written_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).symlink_to("elsewhere")
    process = Process(tmp_path)
    process.tick(a=A, b=B)
    assert process.save() == process.memory.problem != ""
    assert (tmp_path / FILE).is_symlink()
    assert len(caplog.messages) == 1


_KILLED = """
import os, signal, sys
from pathlib import Path
from accelwatch.system.files import atomic_file
from accelwatch.system.files.kept_file import KeptFile

def chunks():
    yield b"half of it"
    os.kill(os.getpid(), signal.SIGKILL)

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

path = Path(sys.argv[1])
if sys.argv[2] == "writing":
    KeptFile(path, bytes, "").save_chunks(chunks())
os.fsync = killed
KeptFile(path, bytes, "").save_chunks([b"all of it"])
"""


@pytest.mark.parametrize("stage", ["writing", "syncing"])
def test_a_process_that_is_killed_while_it_writes_leaves_the_file_before(
    tmp_path: Path, stage: str
) -> None:
    (tmp_path / FILE).write_bytes(written().data)
    command = [sys.executable, "-c", _KILLED, str(tmp_path / FILE), stage]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2

    after = Process(tmp_path, written().now)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert after.tick(a=[A[0], LOST], b=B) == ()
    assert after.detector.findings.keys() == {written().finding.key}
    assert min(after.learned_s().values()) > LEARNED_S


def test_what_others_keep_there_stays(tmp_path: Path) -> None:
    names = {f".{FILE}.old", "incidents.journal", f".{FILE}", f".other.{FILE}.12"}
    for name in names:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / f".{FILE}.12").write_bytes(b"half")
    Process(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == names
