"""Devices that say of themselves, or whose driver says of them, that something is wrong.

Such a state is latched: it does not jump from one reading to the next as a number does, so a single
reading is enough for it, whatever `for` a rule about it sets.
"""

from accelwatch.alerting.evaluation.documents import DeviceNote
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.schema.status.device_status import effective_state
from accelwatch.schema.status.verdict import verdict

UNHEALTHY = frozenset({Health.FAILED.value, Health.DEGRADED.value})


def unhealthy_devices(snapshot: Snapshot) -> tuple[DeviceNote, ...]:
    """The devices and partitions of a node that answer and whose health is failed or degraded."""
    return tuple(
        _note(view, snapshot)
        for view in snapshot.devices
        if effective_state(view.state, view.health) in UNHEALTHY
    )


def _note(view: DeviceView, snapshot: Snapshot) -> DeviceNote:
    result = verdict(view, snapshot)
    reasons = "; ".join(view.health_reasons)
    # Of a device without a reading the reason of the failed read says more than its health.
    unread = view.state is DeviceState.DEGRADED and view.sample_time is None
    text = result.summary if unread or not reasons else reasons
    return DeviceNote(
        name=view.device.name,
        health=effective_state(view.state, view.health),
        text=text,
        what_to_do=result.remedy,
    )
