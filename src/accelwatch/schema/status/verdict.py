"""What is wrong with a device in one sentence: verdict, what to do, what that rests on. Pure.

`GPU has fallen off the bus`, `drain the node and reboot it`, `NVML_ERROR_GPU_IS_LOST`: the parts stand
apart, so that where there is little room the last gives way first.
"""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import FATAL, ErrorEvent
from accelwatch.schema.health import EVENT_MEMORY_S, STATE_REASONS, Health
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.schema.status.device_status import effective_state
from accelwatch.schema.status.failure_text import report

# What to do about a state (`schema.standing`) where whoever reports it does not say.
REMEDIES = {
    "lost": "drain the node and reboot it",
    "missing": "check whether it was removed",
    "unresponsive": "kill its jobs; reset if still hung",
}
# What to do about a device that cannot be read through no fault of its own.
CHECK_COLLECTION = "check the agent and the driver"
# Where no read has failed, nobody needs to do anything.
_NOT_READ = frozenset({Absence.STALE, Absence.NOT_COLLECTED})

_WITHOUT_REASON = {
    Absence.UNSUPPORTED: "the driver cannot read it",
    Absence.PERMISSION: "this user may not read it",
    Absence.TIMEOUT: "the driver does not answer",
    Absence.LOST: "the device is lost",
    Absence.SUSPENDED: "it sleeps and was left asleep",
    Absence.ERROR: "the driver answers with an error",
    Absence.STALE: "it did not answer",
    Absence.NOT_COLLECTED: "not read yet",
}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence in its parts; any of them may be empty."""

    # What it amounts to.
    summary: str = ""
    # What to do, as a request.
    remedy: str = ""
    # Codes and further reasons, with commas between.
    evidence: str = ""


NOTHING_WRONG = Verdict()


def remedy_of(state: str, health: str) -> str:
    """What to do about a standing; empty where nothing is known.

    A collector that fails makes its devices unresponsive with unknown health, and their jobs run on.
    """
    if state == DeviceState.UNRESPONSIVE and health == Health.UNKNOWN:
        return CHECK_COLLECTION
    return REMEDIES.get(state, "")


def verdict(view: DeviceView, snapshot: Snapshot) -> Verdict:
    """Of one device; all parts are empty when nothing is wrong with it."""
    mine = [error for error in snapshot.errors if error.device_id == view.device.id]
    reports = [report(view.device.name, error.code, error.message) for error in mine]
    event = _gravest(view, snapshot.events)
    reasons = [text for text in view.health_reasons if text not in STATE_REASONS]
    if not (reports or view.health_reasons or ("*",) in view.reading.absent):
        return NOTHING_WRONG
    claims = [
        *(failure.meaning for failure in reports),
        event.text if event is not None else "",
        *reasons,
        *(failure.tried for failure in reports),
        *view.health_reasons,
        _WITHOUT_REASON.get(view.reading.absent.get(("*",), Absence.NOT_COLLECTED), ""),
    ]
    summary = next(text for text in claims if text).removesuffix(".")
    evidence = [
        *(failure.code or failure.tried for failure in reports),
        event.code if event is not None else "",
        *reasons,
    ]
    was_read = view.reading.absent.get(("*",)) not in _NOT_READ
    state_remedy = (
        remedy_of(effective_state(view.state, view.health), view.health) if was_read else ""
    )
    return Verdict(
        summary=summary,
        remedy=next((failure.remedy for failure in reports if failure.remedy), state_remedy),
        evidence=", ".join(_others(evidence, summary)),
    )


def _others(texts: Sequence[str], summary: str) -> list[str]:
    """Those that say more than the verdict, each once."""
    new = dict.fromkeys(text for text in texts if text and text not in summary)
    return [text for text in new if summary not in text]


def _gravest(view: DeviceView, events: Iterable[ErrorEvent]) -> ErrorEvent | None:
    """The latest that makes the device unfit, of those that may have led to its state."""
    grave = [
        event
        for event in events
        if event.device_id == view.device.id
        and event.category in FATAL
        and event.trusted
        and event.text
        and event.time > view.state_since - EVENT_MEMORY_S
    ]
    return max(grave, key=lambda event: event.time) if grave else None
