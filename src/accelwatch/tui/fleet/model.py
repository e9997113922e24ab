"""A fleet as its screen sees it, and the protocol of whatever feeds that screen.

The structs of a tick have the fields of the hub's messages in their order, so a client can decode
straight into them and hand over what it decoded.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from accelwatch.schema.reading import Number
from accelwatch.tui.source import Source

FIELDS = (
    "utilization_ratio",
    "memory_used_bytes",
    "memory_size_bytes",
    "power_watts",
    "temperature_celsius",
)
"""What the values of a device are, in order: the fields that the screen asks for, in base units."""
UTILIZATION, MEMORY_USED, MEMORY_SIZE, POWER, TEMPERATURE = range(len(FIELDS))

NODE_STATES = ("never", "down", "stale", "slow", "up")
"""Worst first."""
SPEAKING = frozenset({"up", "slow"})
"""States of a node whose values are of now; those of any other are the last that were heard."""
OWNER_NAMES = ("job", "user", "queue", "namespace", "pod", "container")
MOST_EVENTS = 1000
"""Events that a source keeps; older ones are left out."""


class DevicePlace(msgspec.Struct, frozen=True, kw_only=True, tag="device"):
    """Who a device is and whose work it does; the same object as long as none of that changes."""

    slot: int
    node: str
    labels: Mapping[str, str] = {}
    """Those of its node."""
    id: str
    vendor: str
    index: int
    name: str
    kind: str = ""
    model: str | None = None
    uuid: str | None = None
    parent_id: str | None = None
    """Set on a partition: its values are part of its parent's and not counted again."""
    job: str | None = None
    """Several owners are joined by `+`, here and below."""
    user: str | None = None
    queue: str | None = None
    """The job's queue or partition."""
    namespace: str | None = None
    pod: str | None = None
    container: str | None = None


class DeviceNow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One device at one tick."""

    slot: int
    state: str
    """A device state; `stale` or `unreachable` when its node is silent, `missing` when it has gone."""
    health: str
    sample_age_s: float | None
    """When the tick was made; grows by the age of the tick."""
    values: tuple[Number | None, ...]
    """As FIELDS; None where there is no value."""


class NodeNow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One node at one tick."""

    node: str
    state: str
    """One of NODE_STATES."""
    age_s: float | None
    """Seconds since something arrived from it when the tick was made; None: never."""
    devices_missing: int


class StoreNow(msgspec.Struct, frozen=True, kw_only=True):
    """How reading the store goes, where a fleet is read from one; a subset of the hub's /v1/fleet."""

    address: str = ""
    fault: str = ""
    warnings: tuple[str, ...] = ()


class FleetSums(msgspec.Struct, frozen=True, kw_only=True):
    """The whole fleet in numbers, whatever the filter; a subset of the hub's /v1/fleet."""

    nodes_total: int = 0
    nodes: Mapping[str, int] = {}
    """By state."""
    devices_total: int = 0
    devices: Mapping[str, int] = {}
    """By state."""
    health: Mapping[str, int] = {}
    """Devices of nodes that speak, by health; empty from a hub that does not count it."""
    power_watts: float | None = None
    memory_used_bytes: int | None = None
    memory_size_bytes: int | None = None
    utilization_ratio: float | None = None
    problems: tuple[str, ...] = ()
    """What the hub itself cannot do: keep what it expects, or find targets."""
    store: StoreNow | None = None

    @property
    def troubles(self) -> tuple[str, ...]:
        """Why targets or values may be lacking: the hub's problems, and those of its store."""
        store = self.store
        if store is None:
            return self.problems
        place = f"store {store.address}" if store.address else "the store"
        faults = (f"{place}: {store.fault}",) if store.fault else ()
        return (*self.problems, *faults, *(f"{place} warns: {text}" for text in store.warnings))


class FleetEvent(msgspec.Struct, frozen=True, kw_only=True, tag="event"):
    """An error event of a device or of its node."""

    sequence: int = 0
    """Grows with every event that the hub has taken in."""
    time: float
    """Unix seconds."""
    node: str
    device: str = ""
    """The device's id; empty for an event of the node."""
    name: str = ""
    """The device's name."""
    category: str = ""
    severity: str = ""
    """`critical`, `warning` or `info`."""
    code: str = ""
    text: str = ""
    trusted: bool = True
    """False for kernel log records that user space wrote."""


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
    sums: FleetSums
    nodes: Sequence[NodeNow]
    """All of them, whatever the filter."""
    node_labels: Mapping[str, Mapping[str, str]] = {}
    """As far as they are known; a node without devices may have none here."""
    places: Sequence[DevicePlace | None]
    """By slot; None where a number is not in use."""
    devices: Sequence[DeviceNow]
    """Those that the filter leaves, a node's next to each other; their slots are in `places`."""
    events: Sequence[FleetEvent] = ()
    """Oldest first, at most MOST_EVENTS."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is nothing new."""

    text: str
    """What was tried and what came of it, for a person, on one line."""
    since: float
    """Unix seconds."""


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub still knows of a device's last minutes."""

    step_s: float
    end: float
    """Unix seconds of the last step."""
    values: Mapping[str, Sequence[float | None]]
    """Path of a quantity (`power_watts`, `temperature_celsius.gpu`) to its steps, oldest first."""


class FleetSource(Protocol):
    """Feeds the Fleet screen. Everything happens on the event loop and nothing blocks it."""

    name: str
    """What is followed, in a few words: a hub's address, or the embedded hub's targets."""

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

    def open_node(self, node: str) -> Source:
        """The node's snapshots as the hub has them; `local` and `recorded` are false."""
        ...

    async def past(self, node: str, device: str) -> Past | None:
        """Recent history of a device by its id; None where there is none. Never raises for a fault."""
        ...

    def close(self) -> None:
        """Let go of what `run` has not taken over."""
        ...
