"""What the API answers, as structs: JSON is written from them, the OpenAPI document too."""

import msgspec

from accelwatch.fleet.odd.documents import Deviation
from accelwatch.schema.reading import Number

FLEET_HISTORY = "/v1/fleet/history"
DEFAULT_FIELDS = (
    "utilization_ratio",
    "memory_used_bytes",
    "memory_size_bytes",
    "power_watts",
    "temperature_celsius",
)
"""The fields of devices that are told where none are asked for."""


class FaultNote(msgspec.Struct, frozen=True, kw_only=True):
    """Why a target could not be read the last time."""

    reason: str
    message: str


class BackendNote(msgspec.Struct, frozen=True, kw_only=True):
    """A backend of a node that cannot tell of its accelerators."""

    name: str
    reason: str
    """One word for programs."""
    message: str
    remedy: str


class TargetNote(msgspec.Struct, frozen=True, kw_only=True):
    """One target of a node."""

    address: str
    mode: str
    """`stream`, `poll`, or empty before the first attempt."""
    dialect: str
    version: str
    connected: bool
    failures_total: int
    missed_ticks_total: int
    restarts_total: int
    read_duration_s: float | None = None
    fault: FaultNote | None = None
    rejected: dict[str, int] = {}
    """Series not taken, by reason."""


class NodeSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A node in lists."""

    node: str
    state: str
    age_s: float | None
    """Seconds since something arrived; null when nothing ever has."""
    labels: dict[str, str]
    devices: int
    """Devices present when it was last heard."""
    devices_expected: int
    devices_missing: int
    clock_skew_s: float | None
    interval_s: float | None
    listed: bool
    """Whether a target stands for it."""
    acknowledged: bool
    first_seen: str | None
    last_seen: str | None
    targets: tuple[TargetNote, ...]
    unusable: tuple[BackendNote, ...] = ()
    """What of it cannot be read, as its agent says."""
    odd: tuple[Deviation, ...] = ()
    """In what it differs from the many alike, where few nodes do."""


class NodesPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of nodes; `next` is the cursor of the page after it, null at the end."""

    nodes: tuple[NodeSummary, ...]
    next: str | None


class DeviceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A device in lists."""

    node: str
    node_state: str
    labels: dict[str, str]
    id: str
    vendor: str
    index: int
    name: str
    kind: str
    model: str | None
    uuid: str | None
    pci_bus_id: str | None
    parent_id: str | None
    state: str
    """A device state; `stale` or `unreachable` when its node is silent, `missing` when it has gone."""
    health: str
    sample_age_s: float | None
    values: dict[str, Number | None]
    """The fields asked for; null where there is no value."""
    job: str | None = None
    """Id of the batch job that has the device; several are joined by `+`, here and below."""
    user: str | None = None
    """Whose job it is, else who runs processes on it."""
    queue: str | None = None
    """The job's queue or Slurm partition."""
    account: str | None = None
    scheduler: str | None = None
    namespace: str | None = None
    pod: str | None = None
    container: str | None = None


class DevicesPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of devices; `next` is the cursor of the page after it, null at the end.

    A page may hold fewer devices than asked for, even none, and still have a page after it.
    """

    devices: tuple[DeviceRow, ...]
    next: str | None


class EventRow(msgspec.Struct, frozen=True, kw_only=True, tag="event"):
    """An error event of a node."""

    sequence: int
    """Grows with every event that this hub has taken in; the order is that of arrival."""
    node: str
    device: str | None
    """Id of the device; null when the fault belongs to the node."""
    name: str | None
    """Short name of the device (`gpu3`); null for the node."""
    code: str
    category: str
    severity: str
    """`critical`, `warning` or `info`."""
    time: str | None
    """On the hub's clock, at which the fault was reported; null where nobody tells it."""
    text: str
    source: str
    subject: str | None
    """What the source named, such as a PCI id."""
    trusted: bool
    """False for kernel log records that user space wrote."""


class EventsPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of events, newest first; `next` is the cursor of the page after it, null at the end.

    A page may hold fewer events than asked for, even none, and still have a page after it.
    """

    events: tuple[EventRow, ...]
    next: str | None


class GroupRow(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs together, in numbers. Sums are over the devices of nodes that are up or slow."""

    group: str | None
    """The common value; null for what has none."""
    nodes_total: int
    nodes: dict[str, int]
    """By state."""
    devices_total: int
    """Whole devices. By an owner: partitions are counted in place of a device that has some."""
    devices: dict[str, int]
    """By state."""
    health: dict[str, int]
    """Devices of nodes that are up or slow, by health."""
    worst: str
    """The worst state of a device; `failed` or `degraded` when only its health is."""
    power_watts: float | None
    memory_used_bytes: int | None
    memory_size_bytes: int | None
    utilization_ratio: float | None
    """Mean over the devices that have one."""


class GroupsPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of groups by name, the null group last; `next` is the cursor of the page after it."""

    by: str
    groups: tuple[GroupRow, ...]
    next: str | None


class HistoryDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A device's last fifteen minutes, or what was asked of a store, oldest first; null: no value."""

    node: str
    device: str
    step_s: int
    end: str
    values: dict[str, list[float | None]]
    growth: dict[str, list[float | None]] = {}
    """By how much counters have grown a second, as far as rules ask for it."""


class FleetHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet in numbers over the last hour, oldest first; null: not known in that step.

    Sums and the mean are over the devices that told something then: a part of the fleet that fell
    silent is missing in them, and is in `devices_not_answering`.
    """

    step_s: int
    end: str
    """Of the newest step."""
    values: dict[str, list[float | None]]


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """What an acknowledgement did."""

    node: str
    devices_removed: int
