"""The state of one node at one time: what every view (table, JSON, exposition) is made from."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind, DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process, Reading

# Of documents and recordings; streams have their own (`schema/stream/compact.py`).
SCHEMA = "accelwatch/2"


# Backends that read no accelerator: left out of lists of accelerators.
NO_ACCELERATORS = frozenset({"host", "kernel_log"})


_UNHEALTHY = frozenset({Health.DEGRADED, Health.FAILED})


class BackendState(StrEnum):
    """What became of a backend in this process."""

    OK = "ok"
    # Nothing of its kind is in the machine: no driver, no device. Not an error.
    ABSENT = "absent"
    # Hardware or driver is there, but it cannot be used; the reason says why.
    UNAVAILABLE = "unavailable"
    # It crashed or broke its contract and is excluded for a while.
    FAILED = "failed"


class BackendStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One backend as the user sees it in `backends` and `doctor`."""

    name: str
    vendor: str
    state: BackendState
    # What it reads through: `nvml`, `nvidia-smi`, `sysfs`.
    source: str = ""
    # Component to version: driver, library, cuda, kernel.
    versions: dict[str, str] = {}
    devices: int = 0
    reason: str = ""
    message: str = ""
    remedy: str = ""

    @property
    def complaint(self) -> str:
        """Its name and what is wrong with it, in a line."""
        return f"{self.name}: {self.message or self.reason or self.state}"

    @property
    def complaint_and_remedy(self) -> str:
        """The same, and what to do about it."""
        return f"{self.complaint}; {self.remedy}" if self.remedy else self.complaint

    @property
    def reads_accelerators(self) -> bool:
        """False for backends that read the host or its log; a backend never received has no vendor."""
        return self.name not in NO_ACCELERATORS and self.vendor not in ("host", "kernel")


def unusable(backends: Iterable[BackendStatus]) -> list[BackendStatus]:
    """Backends that cannot read their accelerators although some, or their driver, are there."""
    bad = (BackendState.UNAVAILABLE, BackendState.FAILED)
    return [backend for backend in backends if backend.state in bad and backend.reads_accelerators]


class ReadFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a device or backend could not be read."""

    backend: str
    device_id: str = ""
    code: str = ""
    absence: Absence = Absence.ERROR
    message: str = ""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """To whom a device or partition is allocated: a container of a pod, or a batch job."""

    # `kubernetes` (a container of a pod), `container` (one without a pod) or `job`.
    kind: str
    namespace: str = ""
    pod: str = ""
    pod_uid: str = ""
    container: str = ""
    resource: str = ""
    scheduler: str = ""
    job_id: str = ""
    user: str = ""
    account: str = ""
    queue: str = ""
    # What people call the job, where the scheduler's ids say nothing to them; names are used again.
    job_name: str = ""


# The names of an owner's fields in filters, rules, groups, rows and paths.
OWNER_NAMES = (
    *("job", "user", "account", "queue", "scheduler", "namespace", "pod", "container"),
    "job_name",
)


class EventCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often a code was seen on a device since its counter started, and when last (Unix seconds)."""

    code: str
    category: str
    total: int
    last_time: float


class DeviceView(msgspec.Struct, frozen=True, kw_only=True):
    """One device as it stands: identity, state, and the last reading with its age."""

    device: Device
    state: DeviceState
    # Unix seconds; 0.0 where the first reading found it in that state: nobody knows since when.
    state_since: float
    # As it was read; `absences` adds the reasons for quantities that it leaves out.
    reading: Reading
    # Reasons for the quantities that the kind could have and the reading leaves out; one object from
    # tick to tick. Empty where the reading is complete, as one from a document is.
    unreported: dict[Series, Absence] = {}
    # Unix seconds of the last good read; None before the first.
    sample_time: float | None = None
    sample_age_s: float | None = None
    health: Health = Health.UNKNOWN
    health_reasons: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()
    event_counts: tuple[EventCount, ...] = ()
    # Key to (cumulative bucket counts, +Inf last; sum of samples) for histogram rows.
    histograms: dict[str, tuple[tuple[int, ...], float]] = {}


def is_awaited(view: DeviceView) -> bool:
    """Whether the first reading of a device is not over yet: nothing is known of its state."""
    why = view.reading.absent.get(("*",))
    return why is Absence.NOT_COLLECTED and view.state is DeviceState.UNRESPONSIVE


def absences(view: DeviceView) -> dict[Series, Absence]:
    """The reason for every quantity that has no value: under its series, `(key,)` or `("*",)`."""
    if not view.unreported:
        return view.reading.absent
    return {**view.reading.absent, **view.unreported}


def filled(view: DeviceView) -> DeviceView:
    """The view with a complete reading."""
    if not view.unreported:
        return view
    reading = msgspec.structs.replace(view.reading, absent=absences(view))
    return msgspec.structs.replace(view, reading=reading, unreported={})


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about one node at `time` (Unix seconds)."""

    time: float
    host: str
    version: str
    devices: tuple[DeviceView, ...] = ()
    # The host itself, when it was collected.
    node: DeviceView | None = None
    boot_id: str = ""
    # Unix seconds, of the node's own clock; sent on streams only, as is `system_uuid`.
    boot_time: float | None = None
    # Of the machine's firmware; empty where nobody may read it.
    system_uuid: str = ""
    interval_s: float | None = None
    backends: tuple[BackendStatus, ...] = ()
    events: tuple[ErrorEvent, ...] = ()
    errors: tuple[ReadFailure, ...] = ()
    # Our own families (`exporter_*`, `collector_*`) as series to number.
    own: dict[tuple[str, ...], Number] = {}

    def processes(self) -> Iterable[Process]:
        """Processes of all devices, flat, in device order."""
        for view in self.devices:
            yield from view.reading.processes or ()


def observed_since(view: DeviceView, snapshot: Snapshot) -> float | None:
    """When the device came into its state, in Unix seconds; None if it already was at the first reading.

    A single reading does not know, and `state_since` of a device that was never read is the time
    of the first attempt. Only a driver call that has not returned is counted from its own start. Of a
    device that answers and calls itself degraded, `state_since` is since when it answers.
    """
    if snapshot.interval_s is None or view.state_since == 0.0:
        return None
    if view.state is DeviceState.OK and view.health in _UNHEALTHY:
        return None
    if view.sample_time is None and not _in_driver_call(view, snapshot):
        return None
    return view.state_since


def _in_driver_call(view: DeviceView, snapshot: Snapshot) -> bool:
    """Whether the one who reads the device reports a call that has not returned."""
    return view.state is DeviceState.UNRESPONSIVE and any(
        error.device_id == view.device.id and error.absence is Absence.TIMEOUT
        for error in snapshot.errors
    )


def with_absences(snapshot: Snapshot) -> Snapshot:
    """The snapshot with complete readings, for programs that read nothing else."""
    return msgspec.structs.replace(
        snapshot,
        devices=tuple(filled(view) for view in snapshot.devices),
        node=filled(snapshot.node) if snapshot.node is not None else None,
    )


def physical_devices(views: Iterable[DeviceView]) -> list[DeviceView]:
    """The rows that are no partitions."""
    return [view for view in views if view.device.parent_id is None]


def is_host(device: Device) -> bool:
    """Whether a row is the host itself rather than an accelerator."""
    return device.kind is DeviceKind.HOST
