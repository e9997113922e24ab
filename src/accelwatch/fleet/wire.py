"""What a hub's stream consists of, for the hub that writes it and the dashboard that reads it.

The structs are the form: JSON, MessagePack and the OpenAPI document are made from them, and a client
decodes straight into them. A field that a newer hub adds is left out by an older client.
"""

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.base.version import __version__
from accelwatch.fleet.hub_states import HubState
from accelwatch.fleet.leader_note import LeaderNote
from accelwatch.fleet.lemons.documents import LemonNote
from accelwatch.fleet.odd.documents import Deviation
from accelwatch.fleet.outages import Outage, outage_text
from accelwatch.schema.reading import Number
from accelwatch.schema.timestamps import unix_seconds

# Of documents, in which every moment is RFC 3339.
SCHEMA = "accelwatch-fleet/2"
# Of the stream: its own moments are Unix seconds, `fleet` in a tick is the document.
STREAM = "accelwatch-fleet/1"


class StoreState(msgspec.Struct, frozen=True, kw_only=True):
    """How reading the store goes, for /v1/fleet."""

    address: str
    # When a read last returned something; hubs of accelwatch-fleet/1 send Unix seconds.
    read_at: str | float | None = None
    read_duration_s: float | None = None
    series: int = 0
    targets: int = 0
    # Series of accelerators that no label gives a node.
    unplaced_series: int = 0
    warnings: tuple[str, ...] = ()
    # Empty when there is none.
    fault: str = ""


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """A uuid that several nodes claim."""

    uuid: str
    nodes: tuple[str, ...]


class DeviceTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes and devices in numbers. Sums are over the devices of nodes that are up or slow."""

    nodes_total: int
    # By state.
    nodes: dict[str, int]
    # Devices present or expected, partitions not counted. In a group by owner partitions are counted
    # instead of a device that has some.
    devices_total: int
    # By state.
    devices: dict[str, int]
    # Devices of nodes that are up or slow, by health.
    health: dict[str, int]
    power_watts: float | None
    memory_used_bytes: int | None
    memory_size_bytes: int | None
    # Mean over the devices that have one.
    utilization_ratio: float | None


class FleetDocument(DeviceTotals, frozen=True, kw_only=True):
    """The whole fleet in numbers."""

    schema: str
    version: str
    time: str
    conflicts: tuple[Conflict, ...]
    # How the store is read, where the fleet is read from one.
    store: StoreState | None = None
    # What the hub itself cannot do: keep what it expects, or find targets.
    problems: tuple[str, ...] = ()
    # Kinds of discoveries that have neither answered nor failed yet.
    discovering: tuple[str, ...] = ()
    # Nodes that stopped answering together, from three on; the largest outage first.
    outages: tuple[Outage, ...] = ()
    # Which of several hubs with one journal leads; null of a hub whose journal no other can have.
    leader: LeaderNote | None = None
    # The hubs that this hub follows, in their order; empty of one that follows nodes.
    hubs: tuple[HubState, ...] = ()
    # Ids of this hub and of all hubs below it, where it follows hubs: by them a loop is found.
    hub_ids: tuple[str, ...] = ()

    @property
    def outage_lines(self) -> tuple[str, ...]:
        """Each outage in a sentence, with what to check."""
        now = unix_seconds(self.time)
        return tuple(f"{outage_text(outage, now)}; {outage.what_to_do}" for outage in self.outages)

    @property
    def troubles(self) -> tuple[str, ...]:
        """Why targets or values may be lacking: outages, the hub's problems, and those of its store."""
        texts, store = (*self.outage_lines, *self.problems), self.store
        if store is None:
            return texts
        source = f"store {store.address}" if store.address else "the store"
        faults = (f"{source}: {store.fault}",) if store.fault else ()
        return (*texts, *faults, *(f"{source} warns: {text}" for text in store.warnings))


class FleetEvent(msgspec.Struct, frozen=True, kw_only=True, tag="event"):
    """An error event of a node; `/v1/events` has the same fields, null instead of empty ones."""

    # Grows with every event that this hub has received; the order is that of arrival.
    sequence: int
    node: str
    # Id of the device; empty when the fault belongs to the node.
    device: str
    # Short name of the device (`gpu3`); empty for the node.
    name: str
    code: str
    category: str
    # `critical`, `warning` or `info`.
    severity: str
    # Unix seconds on the hub's clock at which the fault was reported.
    time: float
    text: str
    source: str
    # What the source named, such as a PCI id.
    subject: str
    # False for kernel log records that user space wrote.
    trusted: bool


class FleetHello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """First message of a stream."""

    schema: str = STREAM
    version: str = __version__
    interval_s: float
    # What the values of a device's tick are, in order.
    fields: tuple[str, ...]


class DeviceIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Who a device is, where it is, and who has it."""

    node: str
    labels: dict[str, str]
    id: str
    vendor: str
    index: int
    name: str
    kind: str
    model: str | None
    uuid: str | None
    parent_id: str | None
    # Id of the batch job that has the device; several are joined by `+`, here and below.
    job: str | None = None
    # Whose job it is, else who runs processes on it.
    user: str | None = None
    # The job's queue or Slurm partition.
    queue: str | None = None
    account: str | None = None
    scheduler: str | None = None
    namespace: str | None = None
    pod: str | None = None
    container: str | None = None
    # What people call the job.
    job_name: str | None = None


class DeviceSlot(DeviceIdentity, frozen=True, kw_only=True, tag="device"):
    """Which device number `slot` is and who has it from now on; sent again when either changes."""

    slot: int


class DeviceNow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One device at one tick; states and values as in /v1/devices."""

    slot: int
    state: str
    health: str
    sample_age_s: float | None
    values: tuple[Number | None, ...]


class NodeFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What the detector has found of a node, of which it is the suspect."""

    # `alert` or `watch`.
    level: str
    # Id of the device that is to blame, and what people call it; empty where it is the node.
    device: str = ""
    name: str = ""
    # The family of signals with the greatest share.
    family: str
    # Who differs, since when, and by which signals.
    sentence: str

    @property
    def text(self) -> str:
        """`ALERT nvidia3 power`, `watch host`."""
        level = self.level.upper() if self.level == "alert" else self.level
        return " ".join(filter(None, (level, self.name, self.family)))


class NodeNow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One node at one tick."""

    node: str
    state: str
    age_s: float | None
    devices_missing: int
    # Why a silent node could not be read; of one that reports, what of it cannot be.
    why: str = ""
    # In what it differs from the many alike.
    odd: tuple[Deviation, ...] = ()
    # The worst of what is in it and has failed again and again.
    lemon: LemonNote | None = None
    # What the detector suspects it of; null of most.
    finding: NodeFinding | None = None


class FleetTick(msgspec.Struct, frozen=True, kw_only=True, tag="tick"):
    """The fleet at one moment; `fleet` counts all devices, whatever the filter."""

    sequence: int
    time: float
    fleet: FleetDocument
    nodes: tuple[NodeNow, ...]
    devices: tuple[DeviceNow, ...]


# Open incidents that a stream sends; of more the most severe.
MOST_OPEN = 1000
# Closed incidents that are sent all the same: the latest.
MOST_CLOSED = 200
# Nodes and members that a stream names of one incident.
MOST_NAMES = 100


class RulesNow(msgspec.Struct, frozen=True, kw_only=True, tag="rules"):
    """The state of the rules, before incidents that have changed; sent to clients of incidents."""

    # Whether the hub has rules at all.
    evaluated: bool = msgspec.field(name="judged")
    # How many are in force.
    rules: int
    # What is wrong with the journal or with rules.
    problems: tuple[str, ...]
    # Incidents that go on and are not muted, by severity; those of a group or cause count as one.
    open: dict[str, int]
    # Those that are open and muted.
    muted: int
    # Open incidents that are left out, since MOST_OPEN others are sent.
    omitted: int = msgspec.field(name="untold")
    # The incidents sent before count no more: all that there are follow.
    is_reset: bool = msgspec.field(name="anew")


class IncidentNow(msgspec.Struct, frozen=True, kw_only=True, tag="incident"):
    """An incident in its present state, sent when it opens and when it changes."""

    # The document of /v1/incidents, with MOST_NAMES nodes and members at most.
    incident: IncidentDocument
    nodes_total: int
    members_total: int


# What a stream consists of: the hello, then slots, events and incidents as they come, then a tick.
FleetMessage = FleetHello | DeviceSlot | FleetEvent | RulesNow | IncidentNow | FleetTick
