"""The data of one target: devices, when they came, how well the connection went."""

import functools
import math
from collections.abc import Iterable

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import without_guess
from accelwatch.fleet.follow.frames import (
    MAX_SLOTS,
    RawBackends,
    RawContext,
    RawProcesses,
    RawTick,
    Received,
)
from accelwatch.fleet.state.nodes.devices import FleetDevice, ReadDevice, StreamDevice
from accelwatch.fleet.state.nodes.liveness import Skew, is_time
from accelwatch.fleet.state.nodes.usage import Usage
from accelwatch.fleet.table.columns import ColumnStore
from accelwatch.fleet.table.pick import count_of
from accelwatch.fleet.target import Target
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import BackendStatus, DeviceView, unusable
from accelwatch.schema.stream.compact import STREAM, Hello, Layout
from accelwatch.schema.stream.context import Event, Findings, Own, Owners

MAX_SERIES = 10_000
_MAX_LAYOUT_BYTES = 32 << 20
# Of one message beside the ticks; a larger one is refused.
MAX_CONTEXT_BYTES = 16 << 10
# Devices of which more than numbers is kept.
MAX_CONTEXT_SLOTS = 512
MAX_WAITING_EVENTS = 128
# More ticks are not left out in a row: the sequence has restarted, wherever.
_MAX_MISSED = 100_000
# The longest that an agent can be given: a target must not say itself how long it counts as up.
_MAX_INTERVAL_S = 60.0
OURS = "accelwatch"
decode_backends = msgspec.msgpack.Decoder(tuple[BackendStatus, ...]).decode


@functools.lru_cache(maxsize=256)  # the nodes of a fleet are alike
def _unusable_in(backends: bytes) -> tuple[BackendStatus, ...]:
    try:
        return tuple(unusable(decode_backends(backends)))
    except DECODE_ERRORS:
        return ()


class TargetSource:
    """One target of a node; the loop's thread only."""

    # Of its backends those that cannot read their accelerators.
    unusable: tuple[BackendStatus, ...] = ()

    def __init__(self, target: Target, columns: ColumnStore) -> None:
        self.target = target
        self.dialect = self.version = self.boot_id = ""
        # What the machine calls itself.
        self.host_name = ""
        # Unix seconds, of the node's own clock.
        self.boot_time: float | None = None
        self.system_uuid = ""
        # `stream` or `poll`, once it is known.
        self.mode = ""
        # Whether the certificate of a target that is read over TLS is verified.
        self.verified = True
        self.interval_s = 1.0
        # Whether the latest attempt succeeded.
        self.connected = False
        self.fault: TargetFault | None = None
        self.faults_total = 0
        # Ticks that a stream left out.
        self.gaps_total = 0
        # Times that a stream's sequence restarted.
        self.restarts_total = 0
        # Series that were refused, by reason.
        self.rejected: dict[str, int] = {}
        # Monotonic seconds.
        self.arrived: float | None = None
        self.arrived_wall = 0.0
        # The node's own time of its newest data, Unix seconds.
        self.time = 0.0
        # Duration of the latest poll, or from request to first tick of a stream.
        self.read_s: float | None = None
        self.skew = Skew()
        # The devices of the newest tick by id, without the host.
        self.devices: dict[str, FleetDevice] = {}
        self.host: FleetDevice | None = None
        self.backends = RawBackends()
        # What the agent says of its own collecting.
        self.own: dict[Series, Number] = {}
        # Events that arrived since the tick before, at most MAX_WAITING_EVENTS.
        self.events: list[Event] = []
        # Grows with every message of a stream about its devices beside their ticks.
        self.noted = 0
        # Grows when a device may say to be in another state than before.
        self.restated = 0
        # Whether a stream has not ticked yet: what it sends may be known from before.
        self.opening = False
        self._columns = columns
        self._slots: dict[int, StreamDevice] = {}
        self._present: tuple[int, ...] = ()
        self._sequence = 0
        self._greeted = False
        self._layout_bytes = 0

    def start_stream(self) -> None:
        """A new connection: slots and sequence restart, devices stay until its first tick."""
        self.events = []
        self.opening = True
        self.own = {}
        self._slots = {}
        self._present = ()
        self._sequence = 0
        self._greeted = False
        self._layout_bytes = 0

    def accept(self, message: Received, size: int, wall: float, monotonic: float) -> bool:
        """A message of a stream; True when it changed which devices there are. Raises TargetFault."""
        if not self._greeted and not isinstance(message, Hello):
            raise TargetFault(Reason.GARBAGE, "the stream does not start with our hello")
        if isinstance(message, RawTick):
            return self._tick(message, wall, monotonic)
        if isinstance(message, Layout):
            self._layout(message, size)
        elif isinstance(message, Hello):
            self._hello(message)
        elif size > MAX_CONTEXT_BYTES:
            self.rejected["too_large"] = self.rejected.get("too_large", 0) + 1
        else:
            self._context(message)
        return False

    def read(self, views: Iterable[DeviceView], interval_s: float) -> bool:
        """The devices of an exposition, instead of those before; True when they are others.

        A device that is described as before stays the same object: who knows it has its new numbers.
        """
        self.interval_s = interval_s
        self.restated += 1
        devices: dict[str, FleetDevice] = {}
        host: FleetDevice | None = None
        for view in views:
            device = view.device
            if _is_accelerator(device):
                devices[device.id] = _read(view, self.devices.get(device.id))
            elif host is None:
                host = _read(view, self.host)
        self.host = host
        # By the objects and their order, which is that of the exposition.
        if list(devices.values()) == list(self.devices.values()):
            return False
        self.devices = devices
        return True

    def arrive(self, node_time: float | None, wall: float, monotonic: float) -> None:
        """Something arrived, written at `node_time` if the target says so."""
        self.connected = True
        self.fault = None
        self.arrived, self.arrived_wall = monotonic, wall
        self.time = wall if node_time is None else node_time
        if node_time is not None:
            self.skew.observe(node_time, wall)

    def fail(self, fault: TargetFault) -> None:
        """An attempt failed."""
        self.connected = False
        if self.arrived is not None and fault.reason is Reason.CLOSED:
            fault = TargetFault(fault.reason, without_guess(str(fault)))
        self.fault = fault
        self.faults_total += 1

    def _hello(self, hello: Hello) -> None:
        if hello.schema != STREAM:
            text = f"the stream speaks {hello.schema[:40]!r}, this version {STREAM!r}"
            raise TargetFault(Reason.GARBAGE, text)
        self._greeted = True
        self.dialect, self.version, self.boot_id = OURS, hello.version[:64], hello.boot_id[:64]
        self.host_name, self.system_uuid = hello.host[:255], hello.system_uuid[:64]
        reported = hello.boot_time
        self.boot_time = reported if reported is not None and is_time(reported) else None
        interval = hello.interval_s
        well = (
            interval is not None and math.isfinite(interval) and 0.05 <= interval <= _MAX_INTERVAL_S
        )
        self.interval_s = interval if well and interval is not None else 1.0

    def _layout(self, layout: Layout, size: int) -> None:
        self._layout_bytes += size
        if not 0 <= layout.slot < MAX_SLOTS or len(layout.series) > MAX_SERIES:
            raise TargetFault(Reason.TOO_LARGE, f"more than {MAX_SLOTS} devices or too many series")
        if self._layout_bytes > _MAX_LAYOUT_BYTES:
            raise TargetFault(Reason.TOO_LARGE, "too many layouts; the stream restarts")
        if not all(layout.series) or not all(series for series, _ in layout.absent):
            raise TargetFault(Reason.GARBAGE, f"a series of slot {layout.slot} has no name")
        device = StreamDevice(layout.device, self._columns.of(layout))
        before = self._slots.get(layout.slot)
        # Owners, processes and findings come when they change, not again with a layout.
        if before is not None and before.device.id == device.device.id:
            device.usage = before.usage
        self._slots[layout.slot] = device
        self._present = ()

    def _context(self, message: RawContext) -> None:
        if isinstance(message, Event):
            if len(self.events) < MAX_WAITING_EVENTS:
                self.events.append(message)
        elif isinstance(message, RawBackends):
            self.backends = message
            self.unusable = _unusable_in(bytes(message.backends))
        elif isinstance(message, Own):
            series = message.series or tuple(self.own)
            if len(series) == len(message.values):
                self.own = dict(zip(series, message.values, strict=True))
        elif (device := self._slots.get(message.slot)) and message.slot < MAX_CONTEXT_SLOTS:
            device.usage = _with_context(device.usage, message)
            self.noted += 1

    def _tick(self, tick: RawTick, wall: float, monotonic: float) -> bool:
        if not is_time(tick.time):
            raise TargetFault(Reason.GARBAGE, "a tick without a time")
        self._count(tick.sequence)
        for raw in tick.devices:
            device = self._slots.get(raw.slot)
            if device is None or count_of(raw.values) != len(device.columns.series):
                text = f"values for slot {raw.slot} do not fit its layout"
                raise TargetFault(Reason.GARBAGE, text)
            before = device.tick
            device.update(raw)
            if before is None or before.state != raw.state:
                self.restated += 1
        self.arrive(tick.time, wall, monotonic)
        present = tuple([raw.slot for raw in tick.devices])
        # Whatever else may change who is in a slot comes as a layout, which forgets `_present`.
        if present == self._present:
            return False
        self._present = present
        shown = [self._slots[slot] for slot in present]
        self.devices = {view.device.id: view for view in shown if _is_accelerator(view.device)}
        self.host = next((view for view in shown if not _is_accelerator(view.device)), None)
        return True

    def _count(self, sequence: int) -> None:
        missed = sequence - self._sequence - 1
        if self._sequence and 0 < missed <= _MAX_MISSED:
            self.gaps_total += missed
        elif self._sequence and missed:
            self.restarts_total += 1
        self._sequence = sequence


def _read(view: DeviceView, before: FleetDevice | None) -> ReadDevice:
    if isinstance(before, ReadDevice) and before.device == view.device:
        before.update(view)
        return before
    return ReadDevice(view)


def _with_context(usage: Usage, message: Owners | RawProcesses | Findings) -> Usage:
    if isinstance(message, Owners):
        return usage.with_owners(message.owners)
    if isinstance(message, RawProcesses):
        return usage.with_processes(bytes(message.rows), message.total, message.users)
    return msgspec.structs.replace(
        usage, health_reasons=message.health_reasons, event_counts=message.event_counts
    )


def _is_accelerator(device: Device) -> bool:
    return device.kind is not DeviceKind.HOST
