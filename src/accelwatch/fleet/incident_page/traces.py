"""Which of what the hub keeps of a device is drawn for an incident: what its evidence speaks of."""

from collections.abc import Iterator, Mapping, Sequence

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.incident_page.graph import Trace
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.history import STEP_S
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.schema.device import UP
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import path_of

MOST = 2
# What is drawn where the evidence is no quantity, such as an event: it shows whether it still works.
_USUAL = ("power_watts", "temperature_celsius.gpu", "utilization_ratio")
# Steps that are drawn at least.
_LEAST = 30
Steps = Mapping[Series, Sequence[float | None]]


def traces_of(fleet: Fleet, incident: Incident) -> tuple[Trace, ...]:
    """At most two, those of the evidence first; none where nothing is kept."""
    node = fleet.nodes.get(incident.entity.node)
    device = incident.entity.device
    if node is None or not device:
        return ()
    windowed, growth = fleet.windowed_history(node, device)
    values = _by_path({**windowed, **fleet.history(node, device)})
    signals = [evidence.signal for evidence in incident.evidence]
    chosen = [
        *_matching(values, signals, rate=False),
        *_matching(_by_path(growth), signals, rate=True),
    ] or [(name, values[name], False) for name in _USUAL if name in values]
    absent = _absent(node, device)
    # The last step is still open.
    end = fleet.clock.wall() + STEP_S - fleet.clock.monotonic() % STEP_S
    return tuple(
        Trace(
            name=name,
            rate=rate,
            step_s=STEP_S,
            end=end,
            values=tuple(_from_first(steps)),
            absent=absent.get(name) or absent.get("*", ""),
        )
        for name, steps, rate in chosen[:MOST]
    )


def _by_path(steps: Steps) -> dict[str, Sequence[float | None]]:
    return {path_of(series): values for series, values in steps.items()}


def _matching(
    kept: Mapping[str, Sequence[float | None]], signals: Sequence[str], *, rate: bool
) -> Iterator[tuple[str, Sequence[float | None], bool]]:
    for name, steps in kept.items():
        key = name.partition(".")[0]
        if any(name in signal or key in signal for signal in signals):
            yield name, steps, rate


def _from_first(steps: Sequence[float | None]) -> Sequence[float | None]:
    """Without the beginning of which nothing is known, as after the hub has begun."""
    first = next((at for at, value in enumerate(steps) if value is not None), len(steps))
    return steps[max(0, min(first, len(steps) - _LEAST)) :]


def _absent(node: Node, device_id: str) -> Mapping[str, str]:
    """Why a device has no values now: its state, and the reason of each quantity."""
    device = node.devices.get(device_id)
    if device is None:
        return {"*": "the device has gone"}
    by_state = {} if device.state in UP else {"*": device.state}
    try:
        reasons = device.reading().absent
    except AccelwatchError:
        return by_state
    return {**{path_of(series): reason.value for series, reason in reasons.items()}, **by_state}
