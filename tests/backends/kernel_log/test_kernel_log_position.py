"""Where reading goes on: history, restarts, another boot, lost records."""

import json
import os
from pathlib import Path

import pytest

from accelwatch.backend import Context
from accelwatch.base.clock import ManualClock
from accelwatch.schema.event import Category
from accelwatch_kernel_log import KernelLogBackend
from accelwatch_kernel_log.device import LogLost
from backends.kernel_log.memory_log import BOOT, NOW, XID79, Log, codes, start


def assert_only_later_records_are_events(root: Path) -> None:
    log = Log()
    log.say(1, XID79)
    backend = start(root, log)
    assert backend.wait_events(0.0) == []
    log.say(2, XID79)
    assert codes(backend.wait_events(0.0)) == ["xid_79"]


def test_what_was_logged_before_the_first_start_is_history(root: Path) -> None:
    assert_only_later_records_are_events(root)


def test_backlog_option_takes_history_as_events(root: Path) -> None:
    log = Log()
    log.say(1, XID79)
    assert codes(start(root, log, backlog=True).wait_events(0.0)) == ["xid_79"]


def restart(root: Path, log: Log) -> KernelLogBackend:
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


def test_another_boot_starts_over(root: Path) -> None:
    log = Log()
    log.say(1, XID79)
    log.say(5, XID79)
    (root / "proc/sys/kernel/random/boot_id").write_text("another\n")
    backend = start(root, Log())
    backend.close()
    (root / "proc/sys/kernel/random/boot_id").write_text(f"{BOOT}\n")
    backend = start(root, log)
    assert backend.wait_events(0.0) == [], "all of it is from before this start"


def test_records_lost_while_we_were_down_are_reported(root: Path) -> None:
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
    assert_only_later_records_are_events(root)


@pytest.mark.parametrize(
    ("uptime", "written", "aside"),
    [("100.0 5.0\n", -101.0, False), ("100.0 5.0\n", -99.0, True), ("?", -101.0, True)],
    ids=["before the boot", "after it", "boot not known"],
)
def test_a_damaged_position_is_set_aside_unless_it_is_of_an_earlier_boot(
    root: Path, uptime: str, written: float, aside: bool
) -> None:
    (root / "proc/uptime").write_text(uptime)
    file = root.parent / "state/kernel_log.json"
    file.touch()
    at = NOW + written
    os.utime(file, (at, at))
    assert_only_later_records_are_events(root)
    assert file.with_name("kernel_log.json.damaged").exists() is aside


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
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
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


def test_overrun_is_reported_with_the_number_of_lost_records(root: Path) -> None:
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
