"""Who a GPU is: the lines that NVIDIA's driver prints before the first Xid of a GPU."""

from pathlib import Path

import pytest

from accelwatch.schema.event import ErrorEvent
from backends.kernel_log.memory_log import Log, start

UUID = "GPU-11111111-2222-3333-4444-555555555555"
AT = f"NVRM: GPU at PCI:0000:65:00: {UUID}"
SERIAL = "NVRM: GPU Board Serial Number: {}"
XID48 = "NVRM: Xid (PCI:0000:65:00): 48, pid='<unknown>', name=<unknown>, DBE"


def events_of(root: Path, *lines: tuple[float, str]) -> list[ErrorEvent]:
    log = Log()
    backend = start(root, log)
    for sequence, (seconds, text) in enumerate(lines, 1):
        log.say(sequence, text, seconds=seconds)
    return list(backend.wait_events(0.0))


def test_xids_of_a_gpu_say_which_board_it_is(root: Path) -> None:
    events = events_of(
        root,
        (10, AT),
        (10, SERIAL.format("1650124014249")),
        (10, XID48),
        (5000, "NVRM: GPU 0000:65:00.0: GPU has fallen off the bus."),
        (5000, "NVRM: Xid (PCI:0000:66:00): 48, DBE"),
    )
    for event in events[:2]:
        assert event.detail["uuid"] == UUID
        assert event.detail["board_serial"] == "1650124014249"
    assert events[2].subject == "0000:66:00.0"
    assert not {"uuid", "board_serial"} & set(events[2].detail)


@pytest.mark.parametrize("serial", ["", "0", "[N/A]", "[not supported]", "Unknown error"])
def test_a_board_without_a_serial_has_none(root: Path, serial: str) -> None:
    (event,) = events_of(root, (10, AT), (10, SERIAL.format(serial)), (10, XID48))
    assert event.detail["uuid"] == UUID
    assert "board_serial" not in event.detail


@pytest.mark.parametrize("before", [[], [(1.0, AT)]])
def test_a_serial_without_its_gpu_is_nobodys(root: Path, before: list[tuple[float, str]]) -> None:
    (event,) = events_of(root, *before, (10, SERIAL.format("1650124014249")), (10, XID48))
    assert "board_serial" not in event.detail


def test_a_serial_logged_late_is_that_of_later_faults(root: Path) -> None:
    first, second = events_of(
        root,
        (10, XID48),
        (10, "NVRM: GPU 0000:65:00.0: GPU serial number is 1650124014249."),
        (20, XID48),
    )
    assert "board_serial" not in first.detail
    assert second.detail["board_serial"] == "1650124014249"


def test_lines_from_before_the_start_are_not_forgotten(root: Path) -> None:
    """The driver says them once in its life, mostly before this program runs."""
    log = Log()
    log.say(1, AT, seconds=10)
    log.say(2, SERIAL.format("1650124014249"), seconds=10)
    log.say(
        3,
        "NVRM: Xid (PCI:0000:9b:00): 119, pid=1, name=a, Timeout after 6s of waiting for RPC "
        "response from GPU4 GSP! Expected function 76",
        seconds=20,
    )
    backend = start(root, log)
    log.say(4, XID48, seconds=900)
    log.say(5, "NVRM: GPU4 _kgspIsHeartbeatTimedOut: Heartbeat timed out, x", seconds=900)
    ecc, heartbeat = backend.wait_events(0.0)
    assert (ecc.detail["uuid"], ecc.detail["board_serial"]) == (UUID, "1650124014249")
    assert heartbeat.subject == "0000:9b:00.0"
    backend.close()
    again = Log()
    for piece in range(1, 3):
        again.say(piece, (AT, SERIAL.format("1650124014249"))[piece - 1], seconds=10)
    after = start(root, again)
    again.say(6, XID48, seconds=950)
    (event,) = after.wait_events(0.0)
    assert event.detail["uuid"] == UUID


def test_user_space_cannot_say_who_a_gpu_is(root: Path) -> None:
    log = Log()
    log.say(1, AT, prefix=11)
    backend = start(root, log)
    log.say(2, AT, prefix=11)
    log.say(3, XID48)
    (event,) = backend.wait_events(0.0)
    assert "uuid" not in event.detail
