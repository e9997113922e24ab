"""A fleet as its screen sees it, and the protocol of whatever feeds that screen.

What a tick consists of are the hub's own messages (`accelwatch.fleet.wire`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from accelwatch.alerting.evaluation.explanation import Explanation
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

FIELDS = (
    "utilization_ratio",
    "memory_used_bytes",
    "memory_size_bytes",
    "power_watts",
    "temperature_celsius",
    "temperature_limit_celsius",
    "temperature_headroom_celsius",
)
"""What the values of a device are, in order: the fields that the screen asks for, in base units."""
UTILIZATION, MEMORY_USED, MEMORY_SIZE, POWER = range(4)
TEMPERATURE, TEMPERATURE_LIMIT, TEMPERATURE_HEADROOM = range(4, len(FIELDS))

MOST_EVENTS = 1000
"""Events that a source keeps; older ones are left out."""


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet at one tick. Parts that have not changed are the same objects as in the view before."""

    sequence: int
    time: float
    """Unix seconds on the hub's clock."""
    arrived_s: float
    """When it came, on the source's monotonic clock; all ages grow from here."""
    interval_s: float = 1.0
    filter: str = ""
    """The condition that chose `devices`; the hub may be a tick behind the one that was set."""
    sums: FleetDocument
    nodes: Sequence[NodeNow]
    """All of them, whatever the filter."""
    node_labels: Mapping[str, Mapping[str, str]] = {}
    """As far as they are known; a node without devices may have none here."""
    slots: Sequence[DeviceSlot | None]
    """By slot; None where a number is not in use."""
    devices: Sequence[DeviceNow]
    """Those that the filter leaves, a node's next to each other; their slots are in `places`."""
    events: Sequence[FleetEvent] = ()
    """Oldest first, at most MOST_EVENTS."""
    rules: RulesNow | None = None
    """How judging goes; None of a hub that tells nothing of incidents."""
    incidents: Sequence[IncidentNow] = ()
    """Those that go on and those that are over lately, in the order in which they were told first."""
    recorded: bool = False
    """Whether it is of a recorded moment, so that it does not grow old while it is shown."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is nothing new."""

    text: str
    """What was tried and what came of it, for a person, on one line."""
    since: float
    """Unix seconds."""


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub still knows of the last minutes of a device, or of the whole fleet."""

    step_s: float
    end: float
    """Unix seconds of the last step."""
    values: Mapping[str, Sequence[float | None]]
    """Path of a quantity (`power_watts`, `temperature_celsius.gpu`) to its steps, oldest first."""
    growth: Mapping[str, Sequence[float | None]] = {}
    """The same of counters: by how much they have grown a second."""


class FleetSource(Protocol):
    """Feeds the Fleet screen. Everything happens on the event loop and nothing blocks it."""

    name: str
    """What is followed, in a few words: a hub's address, or the embedded hub's targets."""

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
        """Take a tick this often; never more often than the hub makes one."""
        ...

    async def acknowledge(self, node: str, device: str | None) -> str:
        """Stop expecting what has gone of a node, or one device by its id; what was done, in words.

        Raises AccelwatchError when the hub refuses or cannot be reached.
        """
        ...

    def open_node(self, node: str) -> SnapshotSource:
        """The node's snapshots as the hub has them; `local` and `recorded` are false."""
        ...

    async def past(self, node: str, device: str) -> Past | None:
        """Recent history of a device by its id; None where there is none. Never raises for a fault."""
        ...

    async def fleet_past(self) -> Past | None:
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
        """Let go of what `run` has not taken over."""
        ...
