"""The device file itself: missing, denied, broken while it is read, and a real descriptor."""

import os
from pathlib import Path

import pytest

from accelwatch.backend import Context
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import ReadError
from accelwatch_kernel_log import KernelLogBackend
from backends.kernel_log.memory_log import NOW, XID79, Log, codes, start


def test_log_that_breaks_is_a_read_error(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.pieces.append(OSError(5, "Input/output error"))
    with pytest.raises(ReadError, match="Input/output error"):
        backend.wait_events(0.0)


def test_what_was_read_before_the_log_broke_is_reported(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79)
    log.pieces.append(OSError(5, "Input/output error"))
    assert codes(backend.wait_events(0.0)) == ["xid_79"]


def test_log_that_breaks_while_opening_is_unavailable(root: Path) -> None:
    log = Log([OSError(5, "Input/output error")])
    with pytest.raises(BackendUnavailable):
        start(root, log)
    assert log.closed


def plain(root: Path) -> KernelLogBackend:
    return KernelLogBackend(Context(root=root, clock=ManualClock(wall=NOW)))


def test_missing_device(root: Path) -> None:
    assert not plain(root).probe().present
    with pytest.raises(BackendUnavailable) as caught:
        plain(root).open()
    assert caught.value.reason == "not_found"
    assert caught.value.remedy


def test_denied_device_says_what_to_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*args: object, **kwargs: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    (root / "dev").mkdir()
    (root / "dev/kmsg").touch()
    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(BackendUnavailable) as caught:
        plain(root).open()
    assert caught.value.reason == "permission"
    assert "CAP_SYSLOG" in caught.value.remedy


@pytest.mark.parametrize(
    ("restrict", "capabilities", "readable"),
    [
        ("1", "CapEff:\t0000000000000000\n", False),
        ("1", "CapEff:\t0000000400000000\n", True),  # CAP_SYSLOG alone
        ("1", "CapEff:\t0000000000200000\n", False),  # CAP_SYS_ADMIN: only older kernels take it
        ("0", "CapEff:\t0000000000000000\n", True),
    ],
)
def test_probe_knows_of_the_restriction(
    root: Path, restrict: str, capabilities: str, readable: bool
) -> None:
    (root / "dev").mkdir()
    (root / "dev/kmsg").touch()
    (root / "proc/sys/kernel/dmesg_restrict").write_text(restrict)
    (root / "proc/self").mkdir()
    (root / "proc/self/status").write_text(f"Name:\tx\n{capabilities}Threads:\t1\n")
    probe = plain(root).probe()
    assert probe.present
    assert probe.checks[0].ok is readable
    assert ("dmesg_restrict" in probe.checks[0].remedy) is not readable


def test_real_descriptor_over_a_pipe(root: Path) -> None:
    (root / "dev").mkdir()
    path = root / "dev/kmsg"
    os.mkfifo(path)
    backend = plain(root)
    backend.open()
    writer = os.open(path, os.O_WRONLY)
    os.write(writer, f"3,1,900000000,-;{XID79}\n3,2,9".encode())
    assert codes(backend.wait_events(0.01)) == ["xid_79"]
    assert backend.wait_events(0.01) == []
    os.write(writer, b"01000000,-;NVRM: Xid (PCI:0000:66:00): 48, x\n")
    assert codes(backend.wait_events(0.01)) == ["xid_48"]
    os.close(writer)
    assert backend.wait_events(0.01) == []
    backend.close()
    backend.close()
    assert list(backend.wait_events(0.0)) == []
