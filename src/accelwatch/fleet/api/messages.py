"""What the hub's /v1/stream consists of."""

import msgspec

from accelwatch.fleet.api.documents import SCHEMA, FleetDocument, FleetEvent
from accelwatch.schema.reading import Number
from accelwatch.version import __version__


class FleetHello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """First message of a stream."""

    schema: str = SCHEMA
    version: str = __version__
    interval_s: float
    fields: tuple[str, ...]
    """What the values of a device's tick are, in order."""


class DevicePlace(msgspec.Struct, frozen=True, kw_only=True, tag="device"):
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
    namespace: str | None = None
    pod: str | None = None
    container: str | None = None


class DeviceNow(msgspec.Struct, frozen=True, array_like=True):
    """One device at one tick; states and values as in /v1/devices."""

    slot: int
    state: str
    health: str
    sample_age_s: float | None
    values: tuple[Number | None, ...]


class NodeNow(msgspec.Struct, frozen=True, array_like=True):
    """One node at one tick."""

    node: str
    state: str
    age_s: float | None
    devices_missing: int


class FleetTick(msgspec.Struct, frozen=True, kw_only=True, tag="tick"):
    """The fleet at one moment; `fleet` counts all devices, whatever the filter."""

    sequence: int
    time: float
    fleet: FleetDocument
    nodes: tuple[NodeNow, ...]
    devices: tuple[DeviceNow, ...]


FleetMessage = FleetHello | DevicePlace | FleetEvent | FleetTick
"""What a stream consists of: the hello, then places and events as they come, then a tick."""
