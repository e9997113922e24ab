"""A fleet as its screen sees it, and the protocol of whatever feeds that screen.

What a tick consists of are the hub's own messages (`accelwatch.fleet.wire`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.hub_states import HubState
from accelwatch.fleet.picture.changing import IncidentChanges
from accelwatch.fleet.picture.remedies import RemedySource
from accelwatch.fleet.picture.source import SnapshotSource
from accelwatch.fleet.picture.timeline import Player
from accelwatch.fleet.wire import (
    DeviceNow,
    DeviceSlot,
    FleetDocument,
    FleetEvent,
    IncidentNow,
    NodeNow,
    RulesNow,
)
from accelwatch.node.usage.report import UsageReport

# What the values of a device are, in order: the fields that the screen requests, in base units.
FIELDS = (
    "utilization_ratio",
    "memory_used_bytes",
    "memory_size_bytes",
    "power_watts",
    "temperature_celsius",
    "temperature_limit_celsius",
    "temperature_headroom_celsius",
)
UTILIZATION, MEMORY_USED, MEMORY_SIZE, POWER = range(4)
TEMPERATURE, TEMPERATURE_LIMIT, TEMPERATURE_HEADROOM = range(4, len(FIELDS))

# Events that a source keeps; older ones are left out.
MOST_EVENTS = 1000


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet at one tick. Parts that have not changed are the same objects as in the view before."""

    sequence: int
    # Unix seconds on the hub's clock.
    time: float
    # When it came, on the source's monotonic clock; all ages grow from here.
    arrived_s: float
    interval_s: float = 1.0
    # The condition that chose `devices`; the hub may be a tick behind the one that was set.
    filter: str = ""
    sums: FleetDocument
    # All of them, whatever the filter.
    nodes: Sequence[NodeNow]
    # As far as they are known; a node without devices may have none here.
    node_labels: Mapping[str, Mapping[str, str]] = {}
    # By slot; None where a number is not in use.
    slots: Sequence[DeviceSlot | None]
    # Those that the filter lets through, a node's next to each other; each has the `slot` of its device.
    devices: Sequence[DeviceNow]
    # Devices and nodes of the tick that are left out, beyond what is kept of the hub.
    omitted: int = 0
    # Oldest first, at most MOST_EVENTS.
    events: Sequence[FleetEvent] = ()
    # The state of its rules; None of a hub without incidents.
    rules: RulesNow | None = None
    # The open ones and those closed lately, in the order of their first message.
    incidents: Sequence[IncidentNow] = ()
    # Whether it is of a recorded time, so that it does not grow old while it is shown.
    recorded: bool = False
    # The hubs that it comes from, where they are several.
    hubs: Sequence[HubState] = ()


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is nothing new."""

    # What was tried and what came of it, for a person, on one line.
    text: str
    # Unix seconds.
    since: float


class RecentHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub still knows of the last minutes of a device, or of the whole fleet."""

    step_s: float
    # Unix seconds of the last step.
    end: float
    # Path of a quantity (`power_watts`, `temperature_celsius.gpu`) to its steps, oldest first.
    values: Mapping[str, Sequence[float | None]]
    # The same of counters: by how much they have grown a second.
    growth: Mapping[str, Sequence[float | None]] = {}


class FleetSource(Protocol):
    """Feeds the Fleet screen. Everything happens on the event loop and nothing blocks it."""

    # What is followed, in a few words: a hub's address, or the embedded hub's targets.
    name: str

    @property
    def player(self) -> Player | None:
        """What moves through time, where the fleet is a recorded one."""
        ...

    @property
    def changes(self) -> IncidentChanges | None:
        """By whom incidents are silenced and closed; None of a recorded fleet."""
        ...

    @property
    def remedies(self) -> RemedySource | None:
        """What is done about incidents; None where nobody could do anything."""
        ...

    async def run(self, changed: Callable[[], None]) -> None:
        """Work until cancelled; call `changed` when there is something new, a problem too."""
        ...

    def fleet(self) -> FleetView | None:
        """The newest tick; None until the first. It stays when the hub falls silent."""
        ...

    def problem(self) -> Problem | None:
        """What is wrong with the hub or with the filter that was set; None while ticks come."""
        ...

    def set_filter(self, text: str) -> None:
        """Want only devices for which this condition (docs/expressions.md) holds; empty: all."""
        ...

    def set_interval(self, interval_s: float) -> None:
        """Read a tick this often; never more often than the hub makes one."""
        ...

    async def acknowledge(self, node: str, device: str | None) -> str:
        """Stop expecting what has gone of a node, or one device by its id; what was done, in words.

        Raises AccelwatchError when the hub refuses or cannot be reached.
        """
        ...

    def open_node(self, node: str) -> SnapshotSource:
        """The node's snapshots as the hub has them; `local` and `recorded` are false."""
        ...

    async def device_history(self, node: str, device: str) -> RecentHistory | None:
        """Recent history of a device by its id; None where there is none. Never raises for a fault."""
        ...

    async def graphs(self, incident: str) -> IncidentGraphs | None:
        """The graphs of an incident by its id; None where nobody makes them. A fault is None too."""
        ...

    async def fleet_history(self) -> RecentHistory | None:
        """The whole fleet over the last hour, by the names of `/v1/fleet/history`; None where nobody
        keeps it. Never raises for a fault."""
        ...

    async def explain(self, rule: str, entity: str) -> Explanation:
        """A rule on an entity now, part by part; entities are named as `n12/nvidia3`, `n12`, `job:4711`.

        Raises AccelwatchError when the hub cannot say.
        """
        ...

    async def usage(self, by: str, since: str) -> UsageReport:
        """Who uses the devices, by `user` or `job`, of `1h` or since it is counted (`job`).

        Raises AccelwatchError when nobody has counted.
        """
        ...

    def close(self) -> None:
        """Close what `run` has not adopted."""
        ...
