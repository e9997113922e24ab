"""What a hub's stream consists of, for the hub that writes it and the dashboard that reads it.

The structs are the form: JSON, MessagePack and the OpenAPI document are made from them, and a client
decodes straight into them. A field that a newer hub adds is left out by an older client.
"""

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.base.version import __version__
from accelwatch.fleet.odd.documents import Deviation
from accelwatch.fleet.outages import Outage, outage_text
from accelwatch.schema.reading import Number
from accelwatch.schema.timestamps import unix_seconds

SCHEMA = "accelwatch-fleet/2"
"""Of documents, in which every moment is RFC 3339."""
STREAM = "accelwatch-fleet/1"
"""Of the stream: its own moments are Unix seconds, `fleet` in a tick is the document."""


class StoreState(msgspec.Struct, frozen=True, kw_only=True):
    """How reading the store goes, for /v1/fleet."""

    address: str
    read_at: str | float | None = None
    """When a read last gave something; hubs of accelwatch-fleet/1 tell Unix seconds."""
    read_duration_s: float | None = None
    series: int = 0
    targets: int = 0
    unplaced_series: int = 0
    """Series of accelerators that no label gives a node."""
    warnings: tuple[str, ...] = ()
    fault: str = ""
    """Empty when there is none."""


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """A uuid that several nodes claim."""

    uuid: str
    nodes: tuple[str, ...]


class FleetDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The whole fleet in numbers. Sums are over the devices of nodes that are up or slow."""

    schema: str
    version: str
    time: str
    nodes_total: int
    nodes: dict[str, int]
    """By state."""
    devices_total: int
    """Devices present or expected, partitions not counted."""
    devices: dict[str, int]
    """By state."""
    health: dict[str, int]
    """Devices of nodes that are up or slow, by health."""
    power_watts: float | None
    memory_used_bytes: int | None
    memory_size_bytes: int | None
    utilization_ratio: float | None
    """Mean over the devices that have one."""
    conflicts: tuple[Conflict, ...]
    store: StoreState | None = None
    """How the store is read, where the fleet is read from one."""
    problems: tuple[str, ...] = ()
    """What the hub itself cannot do: keep what it expects, or find targets."""
    discovering: tuple[str, ...] = ()
    """Kinds of discoveries that have neither answered nor failed yet."""
    outages: tuple[Outage, ...] = ()
    """Nodes that stopped answering together, from three on; the largest outage first."""

    @property
    def outage_lines(self) -> tuple[str, ...]:
        """Each outage in a sentence, with what to look at."""
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
    """An error event of a node; `/v1/events` has the same words, null in place of empty ones."""

    sequence: int
    """Grows with every event that this hub has taken in; the order is that of arrival."""
    node: str
    device: str
    """Id of the device; empty when the fault belongs to the node."""
    name: str
    """Short name of the device (`gpu3`); empty for the node."""
    code: str
    category: str
    severity: str
    """`critical`, `warning` or `info`."""
    time: float
    """Unix seconds on the hub's clock at which the fault was reported."""
    text: str
    source: str
    subject: str
    """What the source named, such as a PCI id."""
    trusted: bool
    """False for kernel log records that user space wrote."""


class FleetHello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """First message of a stream."""

    schema: str = STREAM
    version: str = __version__
    interval_s: float
    fields: tuple[str, ...]
    """What the values of a device's tick are, in order."""


class DeviceSlot(msgspec.Struct, frozen=True, kw_only=True, tag="device"):
    """Which device number `slot` is and who has it from now on; sent again when either changes."""

    slot: int
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


class DeviceNow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One device at one tick; states and values as in /v1/devices."""

    slot: int
    state: str
    health: str
    sample_age_s: float | None
    values: tuple[Number | None, ...]


class NodeNow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One node at one tick."""

    node: str
    state: str
    age_s: float | None
    devices_missing: int
    why: str = ""
    """Of one that is not heard why it could not be read, of one that is what of it cannot be."""
    odd: tuple[Deviation, ...] = ()
    """In what it differs from the many alike."""


class FleetTick(msgspec.Struct, frozen=True, kw_only=True, tag="tick"):
    """The fleet at one moment; `fleet` counts all devices, whatever the filter."""

    sequence: int
    time: float
    fleet: FleetDocument
    nodes: tuple[NodeNow, ...]
    devices: tuple[DeviceNow, ...]


MOST_OPEN = 1000
"""Open incidents that a stream tells; of more the most severe."""
MOST_CLOSED = 200
"""Incidents that are over and are told all the same: the latest."""
MOST_NAMES = 100
"""Nodes and members that a stream names of one incident."""


class RulesNow(msgspec.Struct, frozen=True, kw_only=True, tag="rules"):
    """How judging goes, before incidents that have changed; told to those who ask for incidents."""

    evaluated: bool = msgspec.field(name="judged")
    """Whether the hub has rules at all."""
    rules: int
    """How many are in force."""
    problems: tuple[str, ...]
    """What is wrong with the journal or with rules."""
    open: dict[str, int]
    """Incidents that go on and are not muted, by severity; those of a group or cause count as one."""
    muted: int
    """Those that go on and of which nobody is told."""
    omitted: int = msgspec.field(name="untold")
    """Open incidents that are left out, since MOST_OPEN others are told."""
    is_reset: bool = msgspec.field(name="anew")
    """What was told of incidents before counts no more: all that there are follow."""


class IncidentNow(msgspec.Struct, frozen=True, kw_only=True, tag="incident"):
    """An incident as it stands now, told when it begins and when it changes."""

    incident: IncidentDocument
    """The document of /v1/incidents, with MOST_NAMES nodes and members at most."""
    nodes_total: int
    members_total: int


FleetMessage = FleetHello | DeviceSlot | FleetEvent | RulesNow | IncidentNow | FleetTick
"""What a stream consists of: the hello, then places, events and incidents as they come, then a tick."""
