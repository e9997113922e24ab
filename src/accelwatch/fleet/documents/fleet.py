"""What the API answers, as structs: JSON is written from them, the OpenAPI document too."""

import msgspec

from accelwatch.fleet.lemons.documents import LemonNote
from accelwatch.fleet.odd.documents import Deviation
from accelwatch.fleet.wire import DeviceIdentity, DeviceTotals, NodeFinding
from accelwatch.schema.reading import Number

FLEET_HISTORY = "/v1/fleet/history"
# The fields of devices by default.
DEFAULT_FIELDS = (
    "utilization_ratio",
    "memory_used_bytes",
    "memory_size_bytes",
    "power_watts",
    "temperature_celsius",
)


class FaultNote(msgspec.Struct, frozen=True, kw_only=True):
    """Why a target could not be read the last time."""

    reason: str
    message: str


class BackendNote(msgspec.Struct, frozen=True, kw_only=True):
    """A backend of a node that cannot read its accelerators."""

    name: str
    # One word for programs.
    reason: str
    message: str
    remedy: str


class TargetNote(msgspec.Struct, frozen=True, kw_only=True):
    """One target of a node."""

    address: str
    # `stream`, `poll`, or empty before the first attempt.
    mode: str
    dialect: str
    version: str
    connected: bool
    failures_total: int
    missed_ticks_total: int
    restarts_total: int
    read_duration_s: float | None = None
    fault: FaultNote | None = None
    # Series refused, by reason.
    rejected: dict[str, int] = {}


class NodeSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A node in lists."""

    node: str
    state: str
    # Seconds since something arrived; null when nothing ever has.
    age_s: float | None
    labels: dict[str, str]
    # Devices present when it last reported.
    devices: int
    devices_expected: int
    devices_missing: int
    clock_skew_s: float | None
    interval_s: float | None
    # Whether a target stands for it.
    listed: bool
    acknowledged: bool
    first_seen: str | None
    last_seen: str | None
    targets: tuple[TargetNote, ...]
    # What of it cannot be read, as its agent says.
    unusable: tuple[BackendNote, ...] = ()
    # In what it differs from the many alike, where few nodes do.
    odd: tuple[Deviation, ...] = ()
    # The worst of what is in it and has failed again and again; null where nothing has.
    lemon: LemonNote | None = None
    # What the detector suspects it of; null of most, and where no detector runs.
    finding: NodeFinding | None = None


class NodePage(NodeSummary, frozen=True, kw_only=True):
    """A node, with what its own agent answers at `/v1/snapshot`; missing devices are lost rows."""

    snapshot: msgspec.Raw


class NodesPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of nodes; `next` is the cursor of the page after it, null at the end."""

    nodes: tuple[NodeSummary, ...]
    next: str | None
    # Which of the hubs that this hub follows are missing in it, and why.
    problems: tuple[str, ...] = ()


class DeviceRow(DeviceIdentity, frozen=True, kw_only=True):
    """A device in lists."""

    node_state: str
    pci_bus_id: str | None
    # A device state; `stale` or `unreachable` when its node is silent, `missing` when it has gone.
    state: str
    health: str
    sample_age_s: float | None
    # The requested fields; null where there is no value.
    values: dict[str, Number | None]


class DevicesPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of devices; `next` is the cursor of the page after it, null at the end.

    A page may hold fewer devices than requested, even none, and still have a page after it.
    """

    devices: tuple[DeviceRow, ...]
    next: str | None
    # Which of the hubs that this hub follows are missing in it, and why.
    problems: tuple[str, ...] = ()


class EventRow(msgspec.Struct, frozen=True, kw_only=True, tag="event"):
    """An error event of a node."""

    # Grows with every event that this hub has received; the order is that of arrival.
    sequence: int
    node: str
    # Id of the device; null when the fault belongs to the node.
    device: str | None
    # Short name of the device (`gpu3`); null for the node.
    name: str | None
    code: str
    category: str
    # `critical`, `warning` or `info`.
    severity: str
    # On the hub's clock, at which the fault was reported; null where it is unknown.
    time: str | None
    text: str
    source: str
    # What the source named, such as a PCI id.
    subject: str | None
    # False for kernel log records that user space wrote.
    trusted: bool


class EventsPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of events, newest first; `next` is the cursor of the page after it, null at the end.

    A page may hold fewer events than requested, even none, and still have a page after it.
    """

    events: tuple[EventRow, ...]
    next: str | None


class GroupRow(DeviceTotals, frozen=True, kw_only=True):
    """Devices that share something, in numbers."""

    # The common value; null for what has none.
    group: str | None
    # The worst state of a device; `failed` or `degraded` when only its health is.
    worst: str


class GroupsPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of groups by name, the null group last; `next` is the cursor of the page after it."""

    by: str
    groups: tuple[GroupRow, ...]
    next: str | None
    # Which of the hubs that this hub follows are missing in it, and why.
    problems: tuple[str, ...] = ()


class HistoryDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A device's last fifteen minutes, or a requested span of a store, oldest first; null: no value."""

    node: str
    device: str
    step_s: int
    end: str
    values: dict[str, list[float | None]]
    # By how much counters have grown a second, where rules read that.
    growth: dict[str, list[float | None]] = {}


class FleetHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet in numbers over the last hour, oldest first; null: not known in that step.

    Sums and the mean are over the devices that reported then: a part of the fleet that fell
    silent is missing in them, and is in `devices_not_answering`.
    """

    step_s: int
    # Of the newest step.
    end: str
    values: dict[str, list[float | None]]


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """What an acknowledgement did."""

    node: str
    devices_removed: int
    # What is wrong with the journal, so that the audit log lacks it; empty when it is written.
    problem: str = ""
