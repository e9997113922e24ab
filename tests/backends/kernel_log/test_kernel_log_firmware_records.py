"""Records of the firmware (APEI) are told with the PCI device that a later line names."""

import json
from pathlib import Path

from accelwatch.schema.event import ErrorEvent
from accelwatch_kernel_log import KernelLogBackend

from .memory_log import Log, codes, start


def record(number: int, severity: str = "corrected", bus: str = "0000:20:03.1") -> list[str]:
    lines = [
        "Hardware error from APEI Generic Hardware Error Source: 512",
        f"event severity: {severity}",
        "  section_type: PCIe error",
    ]
    return [f"{{{number}}}[Hardware Error]: {line}" for line in lines] + (
        [f"{{{number}}}[Hardware Error]:   device_id: {bus}"] if bus else []
    )


def opened(root: Path) -> tuple[Log, KernelLogBackend]:
    log = Log()
    return log, start(root, log)


def say(log: Log, lines: list[str], first: int = 1, prefix: int = 6) -> None:
    for at, line in enumerate(lines, first):
        log.say(at, line, seconds=900.0 + at / 1000, prefix=prefix)


def subjects(events: list[ErrorEvent]) -> list[tuple[str, str]]:
    return [(event.code, event.subject) for event in events]


def test_the_device_of_a_record_is_the_subject(root: Path) -> None:
    log, backend = opened(root)
    say(log, record(1, "fatal"))
    (event,) = backend.wait_events(0.0)
    assert (event.code, event.subject) == ("hardware_error_fatal", "0000:20:03.1")
    assert event.text.endswith("event severity: fatal")


def test_the_device_may_be_reported_in_a_later_read(root: Path) -> None:
    log, backend = opened(root)
    lines = record(1)
    say(log, lines[:3])
    assert backend.wait_events(0.0) == []
    say(log, lines[3:], first=4)
    assert subjects(list(backend.wait_events(0.0))) == [
        ("hardware_error_corrected", "0000:20:03.1")
    ]


def test_a_record_without_a_device_is_reported_when_nothing_more_comes(root: Path) -> None:
    log, backend = opened(root)
    say(log, record(1, bus=""))
    assert backend.wait_events(0.0) == []
    assert subjects(list(backend.wait_events(0.0))) == [("hardware_error_corrected", "")]
    assert backend.wait_events(0.0) == []


def test_a_record_ends_where_another_starts(root: Path) -> None:
    log, backend = opened(root)
    say(log, [*record(1, "fatal", bus=""), *record(2)])
    assert subjects(list(backend.wait_events(0.0))) == [
        ("hardware_error_fatal", ""),
        ("hardware_error_corrected", "0000:20:03.1"),
    ]


def test_a_line_of_another_record_names_no_device(root: Path) -> None:
    log, backend = opened(root)
    say(log, [*record(1, bus="")[:2], "{7}[Hardware Error]:   device_id: 0000:65:00.0"])
    assert subjects(list(backend.wait_events(0.0))) == [("hardware_error_corrected", "")]


def test_records_of_one_device_are_folded_and_of_two_are_not(root: Path) -> None:
    log, backend = opened(root)
    say(log, [*record(1), *record(2), *record(3, bus="0000:65:00.0")])
    assert [event.subject for event in backend.wait_events(0.0)] == ["0000:20:03.1", "0000:65:00.0"]


def test_a_record_that_waits_is_read_again_after_a_restart(root: Path) -> None:
    log, backend = opened(root)
    say(log, ["NVRM: Xid (PCI:0000:65:00): 13, pid=1, name=a, Ch 0", *record(1)[:3]])
    assert codes(backend.wait_events(0.0)) == ["xid_13"]
    backend.close()
    kept = root.parent / "state/kernel_log.json"
    assert not kept.exists() or json.loads(kept.read_bytes())["sequence"] < 2


def test_what_user_space_wrote_is_reported_at_once_and_drives_nothing(root: Path) -> None:
    log, backend = opened(root)
    say(log, record(1), prefix=14)
    (event,) = backend.wait_events(0.0)
    assert (event.trusted, event.subject) == (False, "")
