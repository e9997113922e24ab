"""What is wrong with a device in one sentence, from whatever is known of it."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import DeviceView, ReadFailure, Snapshot
from accelwatch.schema.status.verdict import CHECK_COLLECTION, NOTHING_WRONG, REMEDIES, verdict
from support.machines.composed import NOW, lost_view, snapshot, view

NVML = (
    "asking for its handle: NVML_ERROR_GPU_IS_LOST; the GPU has fallen off the bus; reboot the node"
)


def shot(*, errors: tuple[ReadFailure, ...] = (), events: tuple[ErrorEvent, ...] = ()) -> Snapshot:
    return msgspec.structs.replace(snapshot(), errors=errors, events=events)


def failure(of: DeviceView, message: str, code: str = "") -> ReadFailure:
    return ReadFailure(
        backend="nvidia", device_id=of.device.id, code=code, message=f"{of.device.name}: {message}"
    )


def bus_event(of: DeviceView, **changes: object) -> ErrorEvent:
    event = ErrorEvent(
        time=NOW - 600,
        device_id=of.device.id,
        code="xid_79",
        category=Category.BUS,
        source="kernel_log",
        text="GPU has fallen off the bus",
    )
    return msgspec.structs.replace(event, **changes)


def test_what_the_driver_says_stands_in_its_parts() -> None:
    gone = lost_view(3)
    error = failure(gone, NVML, "NVML_ERROR_GPU_IS_LOST")
    found = verdict(gone, shot(errors=(error,)))
    assert found.summary == "the GPU has fallen off the bus"
    assert found.remedy == "reboot the node"
    assert found.evidence == "NVML_ERROR_GPU_IS_LOST"


def test_a_driver_that_only_requests_something() -> None:
    gone = lost_view(3)
    message = "nvidia-smi: NVML_ERROR_RESET_REQUIRED; reset the GPU, or reboot the node"
    found = verdict(gone, shot(errors=(failure(gone, message, "NVML_ERROR_RESET_REQUIRED"),)))
    assert found.summary == "nvidia-smi: NVML_ERROR_RESET_REQUIRED"
    assert found.remedy == "reset the GPU, or reboot the node"
    assert found.evidence == ""


def test_an_event_says_more_than_that_it_is_lost() -> None:
    gone = lost_view(3)
    found = verdict(gone, shot(events=(bus_event(gone),)))
    assert (found.summary, found.evidence) == ("GPU has fallen off the bus", "xid_79")
    assert found.remedy == REMEDIES["lost"]


@pytest.mark.parametrize(
    "changes",
    [
        {"time": NOW - 600 - 601},
        {"trusted": False},
        {"category": Category.THERMAL},
        {"device_id": "nvidia:another"},
        {"text": ""},
    ],
)
def test_other_events_say_nothing_about_it(changes: dict[str, object]) -> None:
    gone = lost_view(3)
    found = verdict(gone, shot(events=(bus_event(gone, **changes),)))
    assert (found.summary, found.evidence) == ("the device is lost", "")


def test_the_latest_event_counts() -> None:
    gone = lost_view(3)
    later = bus_event(gone, time=NOW - 590, text="later", code="xid_95")
    for events in ((bus_event(gone), later), (later, bus_event(gone))):
        assert verdict(gone, shot(events=events)).summary == "later"


def test_another_device_has_its_own_errors() -> None:
    gone = lost_view(3)
    other = failure(lost_view(4), NVML, "NVML_ERROR_GPU_IS_LOST")
    assert verdict(gone, shot(errors=(other,))).summary == "the device is lost"


def test_further_reasons_are_evidence() -> None:
    reasons = ("a memory row remap failed", "xid_95 was reported")
    sick = view(1, health=Health.FAILED, health_reasons=reasons)
    found = verdict(sick, shot())
    assert (found.summary, found.remedy) == (reasons[0], "")
    assert found.evidence == reasons[1]


def test_a_device_that_is_well_has_none() -> None:
    assert verdict(view(1), shot()) == NOTHING_WRONG


@pytest.mark.parametrize("reason", list(Absence))
def test_what_cannot_be_read_has_words(reason: Absence) -> None:
    silent = view(1, reading=wholly_absent(view(1).device.id, reason), health=Health.UNKNOWN)
    assert verdict(silent, shot()).summary


@pytest.mark.parametrize("reason", [Absence.TIMEOUT, Absence.ERROR])
def test_nobody_kills_jobs_because_a_collector_failed(reason: Absence) -> None:
    unread = view(
        1,
        state=DeviceState.UNRESPONSIVE,
        reading=wholly_absent("x", reason),
        health=Health.UNKNOWN,
        health_reasons=("the collector ended",),
    )
    assert verdict(unread, shot()).remedy == CHECK_COLLECTION


@pytest.mark.parametrize("reason", [Absence.STALE, Absence.NOT_COLLECTED])
def test_silence_requests_nothing(reason: Absence) -> None:
    reading = wholly_absent(view(1).device.id, reason)
    silent = view(1, reading=reading, state=DeviceState.UNRESPONSIVE)
    assert verdict(silent, shot()).remedy == ""
    hung = view(
        1,
        state=DeviceState.UNRESPONSIVE,
        reading=wholly_absent("x", Absence.TIMEOUT),
        health=Health.FAILED,
    )
    assert verdict(hung, shot()).remedy == REMEDIES["unresponsive"]


def test_evidence_does_not_say_the_verdict_again() -> None:
    gone = lost_view(3)
    error = failure(gone, "XID 79: GPU has fallen off the bus")
    event = bus_event(gone, text="GPU has fallen off the bus.")
    found = verdict(gone, shot(errors=(error,), events=(event,)))
    assert (found.summary, found.evidence) == ("GPU has fallen off the bus", "xid_79")
    assert verdict(gone, shot(errors=(error,))).summary == "XID 79: GPU has fallen off the bus"
