"""How nodes and devices of an archive stood at a moment: by the age of their rows and their signals."""

import math
from collections.abc import Iterable, Mapping

from accelwatch.archive.history.rows import EventRow
from accelwatch.fleet.names import GONE, SPEAKING, NodeState
from accelwatch.fleet.replay.reading.events import error_event
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.state.nodes.losses import reports_loss
from accelwatch.schema.device import ABSENCE_WITHOUT_VALUES, BROKEN, UP, DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading

_THRESHOLDS = Thresholds()
_UP: Series = ("device_up",)
UNREADABLE = "device_unreadable_info"
_EVALUATED = frozenset({*UP, *BROKEN})


def node_state(age_s: float | None, interval_s: float) -> NodeState:
    """As a hub would call a node whose newest row is so old; None: it has none."""
    return NodeState.NEVER if age_s is None else _THRESHOLDS.state(age_s, interval_s)


def device_state(
    node: NodeState, age_s: float | None, unread: DeviceState | None, interval_s: float
) -> str:
    """State of a device with a row of that age, and what it is called when it cannot be read.

    Which devices are read at a moment, the node's own state says: without a row, one is missing.
    """
    if node not in SPEAKING:
        return GONE[node]
    if age_s is None or _THRESHOLDS.state(age_s, interval_s) not in SPEAKING:
        return "missing"
    return (unread or DeviceState.OK).value


def health(
    state: str, values: Mapping[Series, Number], events: Iterable[ErrorEvent], now: float
) -> str:
    """Health by state, the device's own signals and its events of the last minutes."""
    if state not in _EVALUATED:
        return Health.UNKNOWN.value
    reading = Reading(device_id="", values=dict(values))
    return evaluate_health(DeviceState(state), reading, events, now).health.value


def by_device(rows: Iterable[EventRow], since_ms: int) -> dict[tuple[str, str], list[ErrorEvent]]:
    """The events of devices since a moment, by node and device."""
    grouped: dict[tuple[str, str], list[ErrorEvent]] = {}
    for row in rows:
        if row.device and row.time >= since_ms:
            grouped.setdefault((row.node, row.device), []).append(error_event(row))
    return grouped


def reported_lost_at(events: Iterable[ErrorEvent]) -> float:
    """When a log said last that a device is lost, Unix seconds; minus infinity if it never did."""
    return max((event.time for event in events if reports_loss(event)), default=-math.inf)


def unread_state(values: Mapping[Series, Number], *, is_lost: bool) -> DeviceState | None:
    """What a device is called that its collector could not read; None for one that it could.

    It is what was recorded of it; where nothing but `device_up` was, one that is not lost is degraded.
    """
    if values.get(_UP) != 0:
        return None
    reasons = [series[1] for series, value in values.items() if series[0] == UNREADABLE and value]
    if reasons and reasons[0] in ABSENCE_WITHOUT_VALUES:
        return DeviceState(reasons[0])
    return DeviceState.LOST if is_lost else DeviceState.DEGRADED
