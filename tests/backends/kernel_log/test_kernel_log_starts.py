"""Drivers that do not bring a device up, and records that say how bad they are, of public reports."""

from collections import Counter

import pytest

from accelwatch.schema.event import Category, ErrorEvent
from accelwatch_kernel_log.interpreter import Interpreter
from accelwatch_kernel_log.record import Framer
from support.machines.samples import samples_root

CASES = samples_root().parent / "cases"


def events_of(case: str) -> list[ErrorEvent]:
    folder = next(CASES.glob(f"{case}-*"), None) if CASES.is_dir() else None
    if folder is None:
        pytest.skip(f"no cases at {CASES}")
    return interpreted((folder / "kmsg").read_bytes())


def interpreted(log: bytes) -> list[ErrorEvent]:
    interpreter = Interpreter()
    records = list(Framer().feed(log))
    found = [event for record in records for event in interpreter.events(record, 0.0, 2e9)]
    return [*found, *interpreter.flush(0.0, 2e9)]


def test_each_device_that_does_not_come_up_is_reported_by_its_pci_id() -> None:
    events = events_of("03")
    failed = {(event.code, event.subject) for event in events}
    assert failed == {
        ("amdgpu_init_failed", "0000:83:00.0"),
        ("driver_probe_failed", "0000:83:00.0"),
        ("amdgpu_resume_failed", "0000:03:00.0"),
        ("amdgpu_init_failed", "0000:c5:00.0"),
        ("driver_probe_failed", "0000:c5:00.0"),
        ("driver_probe_failed", "0000:03:00.0"),
        ("driver_probe_failed", "0000:00:02.0"),
        ("driver_probe_failed", "0000:01:00.0"),
    }
    assert {event.category for event in events} == {Category.FIRMWARE}


@pytest.mark.parametrize(
    "line",
    [
        "mlx5_core 0000:21:00.0: probe with driver mlx5_core failed with error -12",
        "xe 0000:03:00.0: probe with driver xe failed with error -517",
        "usb 1-1: nvidia 0000:01:00.0: probe with driver nvidia failed with error -1",
    ],
    ids=["network adapter", "tried again", "quoted"],
)
def test_what_is_no_failure_of_an_accelerator(line: str) -> None:
    assert interpreted(f"3,1,1000,-;{line}\n".encode()) == []


def test_records_that_the_firmware_calls_corrected_are_one_event() -> None:
    (event,) = events_of("23")
    assert (event.code, event.subject) == ("hardware_error_corrected", "0000:20:03.1")
    assert event.detail == {"severity": "corrected"}


def test_power_smoothing_goes_off_and_comes_back() -> None:
    assert Counter(event.code for event in events_of("09")) == {"xid_163": 1, "xid_162": 1}
