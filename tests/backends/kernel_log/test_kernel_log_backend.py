"""The backend over a log that the test feeds: history, restarts, overruns, forgery, chains."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from accelwatch.backend import Context, EventSource, Request
from accelwatch.clock import ManualClock
from accelwatch.errors import BackendUnavailable, ReadError
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch_kernel_log import KernelLogBackend
from accelwatch_kernel_log.device import LogLost
from samples import FIXTURES

UPTIME = 1000.0
NOW = 1_800_000_000.0
XID79 = "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus."
BOOT = "11111111-2222-3333-4444-555555555555"


class Log:
    """A log in memory: each piece is one read; an exception among them is raised."""

    def __init__(self, pieces: Iterable[bytes | Exception] = ()) -> None:
        self.pieces = list(pieces)
        self.closed = False

    def say(self, sequence: int, text: str, seconds: float = 900.0, prefix: int = 3) -> None:
        self.pieces.append(f"{prefix},{sequence},{int(seconds * 1e6)},-;{text}\n".encode())

    def wait(self, timeout_s: float) -> None:
        pass

    def read(self) -> bytes:
        if not self.pieces:
            return b""
        piece = self.pieces.pop(0)
        if isinstance(piece, Exception):
            raise piece
        return piece

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root/proc/sys/kernel/random"
    folder.mkdir(parents=True)
    (folder / "boot_id").write_text(f"{BOOT}\n")
    (tmp_path / "root/proc/uptime").write_text(f"{UPTIME} 1.0\n")
    (tmp_path / "state").mkdir()
    return tmp_path / "root"


def start(root: Path, log: Log, **options: object) -> KernelLogBackend:
    context = Context(
        root=root,
        clock=ManualClock(wall=NOW),
        state_dir=root.parent / "state",
        options=options,
    )
    backend = KernelLogBackend(context, lambda path: log)
    backend.open()
    return backend


def codes(events: Iterable[ErrorEvent]) -> list[str]:
    return [event.code for event in events]


def test_it_is_a_source_of_events_without_devices(root: Path) -> None:
    backend = start(root, Log())
    assert isinstance(backend, EventSource)
    assert list(backend.discover()) == []


def test_event_has_subject_time_and_detail(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, "NVRM: Xid (PCI:0000:65:00): 13, pid=7, name=my job, Graphics", seconds=990.0)
    (event,) = backend.wait_events(0.1)
    assert event == ErrorEvent(
        code="xid_13",
        category=Category.APPLICATION,
        time=NOW - 10.0,
        text="NVRM: Xid (PCI:0000:65:00): 13, pid=7, name=my job, Graphics",
        source="kernel_log",
        subject="0000:65:00.0",
        detail={"xid": "13", "pid": "7", "process": "my job", "message": "Graphics"},
    )
    assert backend.wait_events(0.0) == []


def test_an_event_is_never_in_the_future(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79, seconds=UPTIME + 50)
    assert backend.wait_events(0.0)[0].time == NOW


def test_what_was_logged_before_the_first_start_is_history(root: Path) -> None:
    log = Log()
    log.say(1, XID79)
    backend = start(root, log)
    assert backend.wait_events(0.0) == []
    log.say(2, XID79)
    assert codes(backend.wait_events(0.0)) == ["xid_79"]


def test_backlog_option_takes_history_as_events(root: Path) -> None:
    log = Log()
    log.say(1, XID79)
    assert codes(start(root, log, backlog=True).wait_events(0.0)) == ["xid_79"]


def restart(root: Path, log: Log, *, read_again: bool = True) -> KernelLogBackend:
    """A run that saw records 1 and 2, then stopped; `log` is what the next run finds."""
    first = Log()
    backend = start(root, first)
    first.say(1, "harmless")
    first.say(2, XID79)
    assert codes(backend.wait_events(0.0)) == ["xid_79"]
    backend.close()
    assert first.closed
    return start(root, log)


def test_after_a_restart_only_what_is_new_is_reported(root: Path) -> None:
    log = Log()
    log.say(1, "harmless")
    log.say(2, XID79)
    log.say(3, "NVRM: Xid (PCI:0000:66:00): 48, DBE")
    events = restart(root, log).wait_events(0.0)
    assert [(event.code, event.subject) for event in events] == [("xid_48", "0000:66:00.0")]


def test_position_survives_a_first_run_without_any_event(root: Path) -> None:
    log = Log()
    log.say(41, "harmless")
    start(root, log)  # not closed: the process was killed
    later = Log()
    later.say(41, "harmless")
    later.say(42, XID79)
    assert codes(start(root, later).wait_events(0.0)) == ["xid_79"]


def test_another_boot_begins_anew(root: Path) -> None:
    log = Log()
    log.say(1, XID79)
    log.say(5, XID79)
    (root / "proc/sys/kernel/random/boot_id").write_text("another\n")
    backend = start(root, Log())
    backend.close()
    (root / "proc/sys/kernel/random/boot_id").write_text(f"{BOOT}\n")
    backend = start(root, log)
    assert backend.wait_events(0.0) == [], "all of it is from before this start"


def test_records_lost_while_we_were_down_are_told(root: Path) -> None:
    log = Log()
    log.say(10, "harmless")
    (event,) = restart(root, log).wait_events(0.0)
    assert event.code == "kernel_log_overrun"
    assert event.category is Category.OTHER
    assert event.detail == {"lost": "7"}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"boot_id": 3, "sequence": 1}', b"\xff\xfe", b'{"boot_id":"x"}'],
)
def test_damaged_position_is_no_position(root: Path, content: bytes) -> None:
    (root.parent / "state/kernel_log.json").write_bytes(content)
    log = Log()
    log.say(1, XID79)
    backend = start(root, log)
    assert backend.wait_events(0.0) == []
    log.say(2, XID79)
    assert codes(backend.wait_events(0.0)) == ["xid_79"]


def test_events_are_kept_as_read_only_once_the_caller_has_them(root: Path) -> None:
    stored = root.parent / "state/kernel_log.json"
    log = Log()
    log.say(1, "harmless")
    backend = start(root, log)
    log.say(2, XID79)
    backend.wait_events(0.0)
    assert json.loads(stored.read_text())["sequence"] == 1
    backend.wait_events(0.0)
    assert json.loads(stored.read_text()) == {"boot_id": BOOT, "sequence": 2}


def test_full_disk_costs_the_position_and_no_event(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(self: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    log = Log()
    backend = start(root, log)
    for sequence in (1, 2, 3):
        log.say(sequence, f"NVRM: Xid (PCI:0000:6{sequence}:00): 79, gone")
        assert codes(backend.wait_events(0.0)) == ["xid_79"]
    backend.close()
    assert len(caplog.records) == 1, "told once, not at each attempt"


def test_state_directory_that_does_not_exist(root: Path) -> None:
    log = Log()
    context = Context(root=root, clock=ManualClock(), state_dir=root / "nowhere")
    backend = KernelLogBackend(context, lambda path: log)
    backend.open()
    log.say(1, XID79)
    assert codes(backend.wait_events(0.0)) == ["xid_79"]


def test_overrun_is_told_with_the_number_of_lost_records(root: Path) -> None:
    log = Log()
    log.say(1, "harmless")
    backend = start(root, log)
    log.pieces.append(LogLost())
    log.say(502, XID79)
    overrun, xid = backend.wait_events(0.0)
    assert (overrun.code, overrun.detail) == ("kernel_log_overrun", {"lost": "500"})
    assert xid.code == "xid_79"
    log.say(503, "NVRM: Xid (PCI:0000:66:00): 79, gone")
    assert codes(backend.wait_events(0.0)) == ["xid_79"], "told once"


def test_overrun_before_the_first_record_has_no_number(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.pieces.append(LogLost())
    log.say(900, "harmless")
    (event,) = backend.wait_events(0.0)
    assert (event.code, event.detail) == ("kernel_log_overrun", {})


def test_record_of_user_space_is_shown_but_not_trusted(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79, prefix=11)  # facility 1, as the kernel marks `echo ... > /dev/kmsg`
    (event,) = backend.wait_events(0.0)
    assert event.code == "xid_79"
    assert not event.trusted


def test_forged_record_does_not_hide_the_genuine_one(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79, prefix=11)
    log.say(2, XID79)
    assert [event.trusted for event in backend.wait_events(0.0)] == [False, True]


def test_forged_record_does_not_make_a_genuine_one_a_follower(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, "NVRM: Xid (PCI:0000:65:00): 13, x", prefix=11)
    log.say(2, "NVRM: Xid (PCI:0000:65:00): 45, pid=1, name=a, Ch 1")
    _, event = backend.wait_events(0.0)
    assert "follows" not in event.detail


def test_option_trusts_user_space_for_a_test_of_the_installation(root: Path) -> None:
    log = Log()
    backend = start(root, log, accept_user_kmsg=True)
    log.say(1, XID79, prefix=11)
    assert backend.wait_events(0.0)[0].trusted


def test_burst_is_one_event_with_the_first_text(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    for number in range(5):
        log.say(number + 1, f"NVRM: Xid (PCI:0000:65:00): 13, part {number}", seconds=900 + number)
    log.say(6, "NVRM: Xid (PCI:0000:66:00): 13, other GPU", seconds=904)
    log.say(7, "NVRM: Xid (PCI:0000:65:00): 13, again", seconds=906)
    texts = [event.detail["message"] for event in backend.wait_events(0.0)]
    assert texts == ["part 0", "other GPU", "again"]


def test_two_wordings_of_a_lost_gpu_are_told_once_each(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79)
    log.say(2, "NVRM: GPU 0000:65:00.0: GPU has fallen off the bus.")
    log.say(3, "NVRM: GPU 0000:66:00.0: GPU has fallen off the bus.")
    found = [(event.code, event.subject) for event in backend.wait_events(0.0)]
    assert found == [("xid_79", "0000:65:00.0"), ("nvidia_fallen_off_bus", "0000:66:00.0")]


def test_graver_message_is_not_folded_into_a_lesser_one(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    text = "amdgpu 0000:c1:00.0: amdgpu: 1 {} hardware errors detected in total in umc block"
    log.say(1, text.format("correctable"))
    log.say(2, text.format("uncorrectable"))
    categories = [event.category for event in backend.wait_events(0.0)]
    assert categories == [Category.MEMORY_CONTAINED, Category.MEMORY_FATAL]


def test_bus_errors_are_folded_for_a_minute_and_register_errors_for_a_day(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    bus = "nvidia 0000:65:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer"
    register = "mlx5_core 0000:5e:00.0: ACCESS_REG(0x805) op_mod(0x1) failed"
    for sequence, (text, seconds) in enumerate(
        [
            (bus, 100),
            (bus, 159),
            (bus, 161),
            (register, 200),
            (register, 86_000),
            (register, 86_700),
        ]
    ):
        log.say(sequence + 1, text, seconds=seconds)
    assert codes(backend.wait_events(0.0)) == [
        *("pcie_corrected", "pcie_corrected"),
        *("mlx5_access_reg_failed", "mlx5_access_reg_failed"),
    ]


def test_each_change_of_the_recovery_action_is_told(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    text = "NVRM: Xid (PCI:0000:65:00): 154, GPU recovery action changed from 0x0 (None) to {}"
    log.say(1, text.format("0x4 (Drain and Reset)"))
    log.say(2, text.format("0x1 (GPU Reset Required)"))
    actions = [event.detail["action"] for event in backend.wait_events(0.0)]
    assert actions == ["Drain and Reset", "GPU Reset Required"]


def test_clean_up_after_another_error_is_the_applications(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79, seconds=900.0)
    log.say(2, "NVRM: Xid (PCI:0000:65:00): 45, pid=1, name=a, Ch 1", seconds=901.0)
    log.say(3, "NVRM: Xid (PCI:0000:66:00): 45, pid=1, name=a, Ch 1", seconds=901.0)
    log.say(4, "NVRM: Xid (PCI:0000:65:00): 45, pid=1, name=a, Ch 1", seconds=950.0)
    _, follower, other, late = backend.wait_events(0.0)
    assert follower.category is Category.APPLICATION
    assert follower.detail["follows"] == "xid_79"
    for alone in (other, late):
        assert alone.category is Category.OTHER
        assert "follows" not in alone.detail


def test_name_of_the_driver_is_resolved_once_it_was_heard(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    heartbeat = "NVRM: GPU4 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 1"
    log.say(1, heartbeat, seconds=10)
    log.say(
        2,
        "NVRM: Xid (PCI:0000:9b:00): 119, pid=1, name=a, "
        "Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 76",
        seconds=20,
    )
    log.say(3, heartbeat, seconds=30)
    first, _, second = backend.wait_events(0.0)
    assert first.subject == "GPU4"
    assert second.subject == "0000:9b:00.0"
    assert second.detail["driver_name"] == "GPU4"


def test_lost_gpu_told_over_several_records(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, "NVRM: The NVIDIA GPU 0000:65:00.0 (PCI ID: 10de:2330)")
    log.say(2, "NVRM: installed in this system has fallen off the bus and is not responding")
    (event,) = backend.wait_events(0.0)
    assert (event.code, event.subject) == ("nvidia_fallen_off_bus", "0000:65:00.0")


def test_server_that_answers_again_tells_how_long_it_was_silent(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, "nfs: server a not responding, still trying", seconds=100)
    log.say(2, "nfs: server a not responding, still trying", seconds=160)
    log.say(3, "nfs: server b OK", seconds=170)
    log.say(4, "nfs: server a OK", seconds=250)
    events = backend.wait_events(0.0)
    assert codes(events) == ["nfs_not_responding", "nfs_not_responding", "nfs_ok", "nfs_ok"]
    assert "silent_seconds" not in events[2].detail
    assert events[3].detail["silent_seconds"] == "150"


def test_device_property_names_what_the_text_does_not(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.pieces.append(
        b"3,1,900000000,-;i915 [drm] GPU HANG: ecode 12:1:859ffffb, in ollama [41]\n"
        b" SUBSYSTEM=pci\n DEVICE=+pci:0000:00:02.0\n"
    )
    assert backend.wait_events(0.0)[0].subject == "0000:00:02.0"


def test_clock_step_moves_no_fold(root: Path) -> None:
    log = Log()
    clock = ManualClock(wall=NOW)
    backend = KernelLogBackend(Context(root=root, clock=clock), lambda path: log)
    backend.open()
    log.say(1, XID79, seconds=900)
    assert codes(backend.wait_events(0.0)) == ["xid_79"]
    clock.step_wall(3600)
    log.say(2, XID79, seconds=901)
    assert backend.wait_events(0.0) == []


def test_garbage_in_the_log_is_passed_over(root: Path) -> None:
    log = Log([b"\xff" * 65536 for _ in range(160)])
    backend = start(root, log)
    log.pieces.append(b"\n")
    log.say(1, XID79)
    assert codes(backend.wait_events(0.0)) == ["xid_79"]


def test_flood_does_not_hold_the_caller(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    for sequence in range(5000):
        log.say(sequence, "noise")
    backend.wait_events(0.0)
    assert log.pieces, "the rest is read by the next call"
    while log.pieces:
        assert backend.wait_events(0.0) == []


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


def test_single_reading_waits_for_no_events(root: Path) -> None:
    log = Log()
    log.say(1, XID79)
    context = Context(root=root, state_dir=root.parent / "state", one_shot=True)
    backend = KernelLogBackend(context, lambda path: log)
    backend.open()
    assert list(backend.wait_events(5.0)) == []
    backend.close()
    assert not list((root.parent / "state").iterdir())


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


FIXTURE = FIXTURES / "kernel_log/bad-day/root"
BAD_DAY = [
    ("pcie_corrected", "0000:65:00.0", True),
    ("xid_79", "0000:65:00.0", True),
    ("xid_154", "0000:65:00.0", True),
    ("xid_48", "0000:66:00.0", False),
    ("nfs_not_responding", "store-a", True),
    ("ras_umc", "0000:c1:00.0", True),
    ("xe_wedged", "0000:03:00.0", True),
    ("nfs_ok", "store-a", True),
]


def test_composed_log_of_a_bad_day() -> None:
    clock = ManualClock(wall=NOW)
    backend = KernelLogBackend(Context(root=FIXTURE, clock=clock, options={"backlog": True}))
    backend.open()
    events = backend.wait_events(0.0)
    assert [(event.code, event.subject, event.trusted) for event in events] == BAD_DAY
    # /proc/uptime says 5000 s, the lost GPU was told of at 1000.25 s
    assert events[1].time == NOW - 3999.75
    backend.close()


def test_read_brings_nothing(root: Path) -> None:
    from machines import device

    assert list(start(root, Log()).read(device(), Request())) == []
