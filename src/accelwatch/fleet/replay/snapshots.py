"""A node of a recorded moment as its own agent would have shown it. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.base.version import __version__
from accelwatch.fleet.dialects.plans.host import HOST
from accelwatch.fleet.replay.reading.subject import Subject
from accelwatch.schema.catalogue.lookup import reading_metrics
from accelwatch.schema.device import ABSENCE_WITHOUT_VALUES, Device, DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading, wholly_absent
from accelwatch.schema.snapshot import (
    BackendState,
    BackendStatus,
    DeviceView,
    Owner,
    Snapshot,
)

ARCHIVE = "archive"
_STATES = {"missing": (DeviceState.LOST, Absence.LOST)}
_UNREAD = frozenset(DeviceState) - {DeviceState.OK}
_SILENT = (DeviceState.UNRESPONSIVE, Absence.STALE)
# By device: when it was last read, Unix milliseconds, and its values.
Newest = Mapping[str, tuple[int, Mapping[Series, Number]]]


class NodeRecords(NamedTuple):
    """An archive's records of a node at a time."""

    node: str
    subjects: Sequence[Subject]
    devices: Newest
    host: Newest
    events: Sequence[ErrorEvent]


def snapshot_of(records: NodeRecords, now: float, interval_s: float) -> Snapshot:
    """The node at `now`, Unix seconds."""
    views = tuple(_view(subject, now, records.devices) for subject in records.subjects)
    status = BackendStatus(
        name=ARCHIVE, vendor="", state=BackendState.OK, source=ARCHIVE, devices=len(views)
    )
    return Snapshot(
        time=now,
        host=records.node,
        version=__version__,
        interval_s=interval_s,
        devices=views,
        node=_host(now, records.host),
        backends=(status,),
        events=tuple(records.events),
    )


def _view(subject: Subject, now: float, devices: Newest) -> DeviceView:
    device_slot = subject.device_slot
    device = Device(
        id=device_slot.id,
        vendor=device_slot.vendor,
        backend=ARCHIVE,
        index=device_slot.index,
        name=device_slot.name,
        model=device_slot.model,
        uuid=device_slot.uuid,
    )
    newest = devices.get(device_slot.id)
    if subject.state == "missing" or newest is None:
        state, why = _STATES.get(subject.state, _SILENT)
        read, reading = None, wholly_absent(device_slot.id, why)
    elif subject.state in _UNREAD:
        state, read = DeviceState(subject.state), newest[0] / 1000
        reading = wholly_absent(device_slot.id, ABSENCE_WITHOUT_VALUES.get(state, Absence.ERROR))
    else:
        state, read, reading = DeviceState.OK, newest[0] / 1000, _reading(device_slot.id, newest[1])
    since = 0.0 if subject.age_s is None else now - subject.age_s
    return DeviceView(
        device=device,
        state=state,
        state_since=since if read is None else read,
        reading=reading,
        sample_time=read,
        sample_age_s=None if read is None else now - read,
        health=Health(subject.health),
        owners=_owners(subject),
    )


def _reading(device_id: str, values: Mapping[Series, Number]) -> Reading:
    """What is in the row; what is not, an archive does not say why."""
    present = {series[0] for series in values}
    rows = [row.key for row in reading_metrics() if row.key not in present]
    absent: dict[Series, Absence] = {(key,): Absence.NOT_COLLECTED for key in (*rows, "processes")}
    return Reading(device_id=device_id, values=dict(values), absent=absent)


def _owners(subject: Subject) -> tuple[Owner, ...]:
    jobs, user = subject.device_slot.job, subject.device_slot.user or ""
    return tuple(Owner(kind="job", job_id=job, user=user) for job in (jobs or "").split("+") if job)


def _host(now: float, host: Newest) -> DeviceView | None:
    newest = host.get("")
    if newest is None:
        return None
    read = newest[0] / 1000
    return DeviceView(
        device=HOST,
        state=DeviceState.OK,
        state_since=read,
        reading=Reading(device_id=HOST.id, values=dict(newest[1])),
        sample_time=read,
        sample_age_s=now - read,
        health=Health.UNKNOWN,
    )
