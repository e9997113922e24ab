"""A snapshot as rules see it: what each device and the host itself answer to names and series."""

from collections.abc import Collection, Iterator

from accelwatch.base.absence import reason_of
from accelwatch.expr.checking.boot import UPTIME_SERIES
from accelwatch.expr.rule_history import HOST
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Lookup, Missing, Value
from accelwatch.node.query.lookup import STATUS_SERIES, lookup
from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import OWNER_NAMES, DeviceView, Owner, Snapshot, absences

_ATTRIBUTES = {name: "job_id" if name == "job" else name for name in OWNER_NAMES}
# The state of a node that reads itself.
_UP = "up"


def lookups_of(snapshot: Snapshot) -> dict[str, Lookup]:
    """The values that rules may read, by device id and for `HOST`."""
    lookups = {view.device.id: _of_device(view, snapshot) for view in snapshot.devices}
    lookups[HOST] = _of_host(snapshot)
    return lookups


def absence_of(snapshot: Snapshot, device: str, key: Key) -> str:
    """Why a device, or `HOST`, has no current value; empty where that is not known."""
    if isinstance(key, str):
        return ""
    views = (snapshot.node,) if device == HOST else snapshot.devices
    view = next(
        (
            candidate
            for candidate in views
            if candidate is not None and device in (HOST, candidate.device.id)
        ),
        None,
    )
    if view is None:
        return "the host is not read" if device == HOST else ""
    return reason_of(absences(view), key)


def reported_series(snapshot: Snapshot) -> Iterator[Collection[Series]]:
    """The series of which the same lookups have a value."""
    yield STATUS_SERIES
    yield from (view.reading.values for view in snapshot.devices)
    if snapshot.node is not None:
        yield snapshot.node.reading.values
    yield snapshot.own
    if snapshot.boot_time is not None:
        yield (UPTIME_SERIES,)


def owner_names(owners: tuple[Owner, ...], name: str) -> tuple[str, ...]:
    """The different jobs, users, ... of some owners, sorted."""
    return tuple(sorted({getattr(owner, _ATTRIBUTES[name]) for owner in owners} - {""}))


def _of_device(view: DeviceView, snapshot: Snapshot) -> Lookup:
    values = view.reading.values
    other = lookup(view, snapshot.host)

    def value(key: Key) -> Value | Missing:
        if isinstance(key, tuple):
            current = values.get(key)
            return other(key) if current is None else current
        match key:
            case "node":
                return snapshot.host or MISSING
            case "node_state":
                return _UP
            case "boot_id":
                return snapshot.boot_id or MISSING
            case "health_reason":
                return "; ".join(view.health_reasons) or MISSING
        if key in _ATTRIBUTES:
            return "+".join(owner_names(view.owners, key)) or MISSING
        return other(key)

    return value


def _of_host(snapshot: Snapshot) -> Lookup:
    values = snapshot.node.reading.values if snapshot.node is not None else {}

    def value(key: Key) -> Value | Missing:
        if isinstance(key, tuple):
            if key == UPTIME_SERIES and snapshot.boot_time is not None:
                return snapshot.time - snapshot.boot_time
            current = values.get(key)
            current = snapshot.own.get(key) if current is None else current
            return MISSING if current is None else current
        match key:
            case "node" | "host":
                return snapshot.host or MISSING
            case "node_state":
                return _UP
            case "boot_id":
                return snapshot.boot_id or MISSING
        return MISSING

    return value
