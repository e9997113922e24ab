"""A collector's reports to the owner of the store: one frozen record per event.

`monotonic` is always the machine's monotonic clock, which parent and child processes share; wall time is
for people and records only.
"""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Reading
from accelwatch.schema.snapshot import BackendStatus

# Code of a failure that says: calling it killed the collector, and it is excluded for a while.
CRASHED = "crash"


class Component(msgspec.Struct, frozen=True, order=True):
    """What can be held out by itself: a backend, one device of it, or its event source."""

    backend: str
    # Provisional id of the device; empty for the backend as a whole.
    slot: str = ""
    events: bool = False


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a device, as a whole, gave no reading."""

    absence: Absence
    code: str = ""
    message: str = ""


class Called(msgspec.Struct, frozen=True, kw_only=True, tag="called"):
    """A call into a backend is about to be made; noted before the call, so that a crash has a name."""

    call: int
    backend: str
    # `open`, `discover`, `read`, `events` or `close`.
    action: str
    slot: str = ""
    # Identifier of the calling thread, as a crash report prints it.
    thread: int = 0


class Returned(msgspec.Struct, frozen=True, kw_only=True, tag="returned"):
    """The call came back, in time or late."""

    call: int


class BackendChanged(msgspec.Struct, frozen=True, kw_only=True, tag="backend"):
    """What became of a backend; sent on every change."""

    status: BackendStatus


class Slots(msgspec.Struct, frozen=True, kw_only=True, tag="slots"):
    """All whole devices a backend has now, as discovered; a slot is known by its provisional id."""

    backend: str
    devices: tuple[Device, ...]
    # Slots known from the bus alone, whose devices the driver, loaded since, lists by other ids.
    superseded: tuple[str, ...] = ()


class Identified(msgspec.Struct, frozen=True, kw_only=True, tag="identified"):
    """Full identity of a slot's device, followed by its partitions."""

    backend: str
    slot: str
    devices: tuple[Device, ...]


class Outcome(msgspec.Struct, frozen=True, kw_only=True, tag="outcome"):
    """The result of one turn of one slot: readings, or a failure that holds for all its devices."""

    backend: str
    slot: str
    monotonic: float
    # Unix seconds at which the read ended.
    wall: float
    duration_s: float = 0.0
    readings: tuple[Reading, ...] = ()
    failure: Failure | None = None


class EncodedOutcome(msgspec.Struct, frozen=True, kw_only=True, tag="outcome"):
    """An `Outcome` with readings as its collector writes it: they are bytes since they were checked."""

    backend: str
    slot: str
    monotonic: float
    wall: float
    duration_s: float
    readings: msgspec.Raw

    def decoded(self) -> Outcome:
        """What the reader of the pipe makes of it."""
        return Outcome(
            backend=self.backend,
            slot=self.slot,
            monotonic=self.monotonic,
            wall=self.wall,
            duration_s=self.duration_s,
            readings=msgspec.msgpack.decode(self.readings, type=tuple[Reading, ...]),
        )


class Events(msgspec.Struct, frozen=True, kw_only=True, tag="events"):
    """Faults that a backend's event source reported."""

    backend: str
    events: tuple[ErrorEvent, ...]


class Cycle(msgspec.Struct, frozen=True, kw_only=True, tag="cycle"):
    """One backend has had its turn over all its devices."""

    backend: str
    # `ok`, `error`, `timeout` or `skipped`.
    result: str
    duration_s: float
    wall: float
    message: str = ""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, tag="heartbeat"):
    """The collector is alive; what it uses."""

    cpu_s: float
    resident_bytes: int


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """A single reading is complete; nothing more will come."""


class CollectorExited(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """The collector process died or was killed; its owner reports it, never itself."""

    # `SIGSEGV`, `exit_1`, `hang`, `memory`.
    code: str
    message: str
    wall: float
    # What was being called when it ended.
    components: tuple[Component, ...] = ()

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the backends that were being called, each once."""
        return tuple(sorted({component.backend for component in self.components}))


Report = (
    BackendChanged
    | Slots
    | Identified
    | Outcome
    | Events
    | Cycle
    | Heartbeat
    | Done
    | CollectorExited
)

# What a collector writes; who reads it reads a Report.
Written = Report | EncodedOutcome

# What is kept of a collector's calls; nobody reads of them while it lives.
Noted = Called | Returned
