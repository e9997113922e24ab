"""The compact form for streams: a device's series layout once, then an array of values a tick.

Messages are msgspec structs, so the same stream can be JSON lines or msgpack. A value that is absent
travels as the letter of its reason; a layout is sent again when a device's series change. What is no
number (`schema/stream/context.py`) travels beside the ticks, when it changes.
"""

from collections.abc import Iterable

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView, Snapshot, absences
from accelwatch.schema.stream.context import (
    Context,
)
from accelwatch.schema.stream.context_encoder import ContextEncoder, EventNumbers
from accelwatch.schema.stream.packed import FORM, pack

# Schema of streams: all their timestamps are Unix seconds.
STREAM = "accelwatch/1"

# Of the reasons for absences, in a tick.
LETTERS = {
    Absence.UNSUPPORTED: "u",
    Absence.PERMISSION: "p",
    Absence.TIMEOUT: "t",
    Absence.LOST: "l",
    Absence.SUSPENDED: "z",
    Absence.ERROR: "e",
    Absence.STALE: "s",
    Absence.NOT_COLLECTED: "n",
}
REASONS = {letter: reason for reason, letter in LETTERS.items()}
_STATIC = (Absence.UNSUPPORTED, Absence.NOT_COLLECTED)


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """First message of a stream."""

    schema: str = STREAM
    version: str
    host: str
    boot_id: str = ""
    # Unix seconds, of the node's own clock.
    boot_time: float | None = None
    system_uuid: str = ""
    interval_s: float | None = None
    # `packed` where the values of ticks are bytes (`packed.py`), which a reader must request.
    values: str | msgspec.UnsetType = msgspec.UNSET


class Layout(msgspec.Struct, frozen=True, kw_only=True, tag="layout"):
    """What the values of device number `slot` mean from now on."""

    slot: int
    device: Device
    series: tuple[Series, ...]
    # Standing absences (unsupported, not collected) as (series, letter).
    absent: tuple[tuple[Series, str], ...] = ()


class DeviceTick(msgspec.Struct, frozen=True, array_like=True):
    """One device at one tick; `sample_time` in Unix seconds."""

    slot: int
    state: str
    state_since: float
    health: str
    sample_time: float | None
    values: tuple[Number | str, ...]
    # Letter of the reason why the device as a whole has no values; empty when it has.
    device_absence: str = ""


class Tick(msgspec.Struct, frozen=True, kw_only=True, tag="tick"):
    """All devices at one time; `sequence` grows by one, a gap means that ticks were dropped."""

    sequence: int
    time: float
    devices: tuple[DeviceTick, ...]


class PackedDevice(msgspec.Struct, frozen=True, array_like=True):
    """`DeviceTick` with its values packed."""

    slot: int
    state: str
    state_since: float
    health: str
    sample_time: float | None
    values: bytes
    device_absence: str = ""


class PackedTick(msgspec.Struct, frozen=True, kw_only=True, tag="tick"):
    """`Tick` with packed values."""

    sequence: int
    time: float
    devices: tuple[PackedDevice, ...]


Message = Hello | Layout | Tick | Context


def packed(message: Message) -> Message | PackedTick:
    """A message of a stream whose reader requested packed values."""
    if isinstance(message, Hello):
        return msgspec.structs.replace(message, values=FORM)
    if not isinstance(message, Tick):
        return message
    devices = tuple([packed_device(device) for device in message.devices])
    return PackedTick(sequence=message.sequence, time=message.time, devices=devices)


def packed_device(device: DeviceTick) -> PackedDevice:
    """One device at one tick with its values packed."""
    return PackedDevice(
        device.slot,
        device.state,
        device.state_since,
        device.health,
        device.sample_time,
        pack(device.values),
        device.device_absence,
    )


class _Kind(msgspec.Struct):
    type: str


_kind = msgspec.msgpack.Decoder(_Kind).decode
_ESSENTIAL = frozenset(kind.__struct_config__.tag for kind in (Hello, Layout, Tick))


def is_spare(body: bytes) -> bool:
    """Whether a MessagePack message that cannot be read may be skipped: it carries no numbers.

    A newer agent sends kinds, and words within known kinds, that this version does not know.
    """
    try:
        return _kind(body).type not in _ESSENTIAL
    except DECODE_ERRORS:
        return False


class CompactEncoder:
    """Turns the snapshots of one stream into messages."""

    def __init__(self, numbers: EventNumbers | None = None) -> None:
        """`numbers` are shared by the streams of one agent."""
        self._context = ContextEncoder(numbers or EventNumbers())
        self._slots: dict[str, int] = {}
        self._layouts: dict[str, tuple[Layout, frozenset[Series]]] = {}
        self._sequence = 0

    def messages(self, snapshot: Snapshot) -> list[Message]:
        """Hello when it is the first, layouts and context that are new or changed, and the tick."""
        messages: list[Message] = []
        if self._sequence == 0:
            messages.append(
                Hello(
                    version=snapshot.version,
                    host=snapshot.host,
                    boot_id=snapshot.boot_id,
                    boot_time=snapshot.boot_time,
                    system_uuid=snapshot.system_uuid,
                    interval_s=snapshot.interval_s,
                )
            )
        views = (*snapshot.devices, snapshot.node) if snapshot.node else snapshot.devices
        ticks = [self._device(view, messages) for view in views]
        messages += self._context.messages(snapshot, self._slots)
        self._sequence += 1
        messages.append(Tick(sequence=self._sequence, time=snapshot.time, devices=tuple(ticks)))
        return messages

    def _device(self, view: DeviceView, messages: list[Message]) -> DeviceTick:
        layout, sent_series = self._layouts.get(view.device.id, (None, frozenset[Series]()))
        if (
            layout is None
            or layout.device != view.device
            or not view.reading.values.keys() <= sent_series
        ):
            layout = self._new_layout(view, layout)
            messages.append(layout)
        return DeviceTick(
            layout.slot,
            view.state.value,
            view.state_since,
            view.health.value,
            view.sample_time,
            _values(layout.series, view),
            LETTERS[absence] if (absence := view.reading.absent.get(("*",))) else "",
        )

    def _new_layout(self, view: DeviceView, before: Layout | None) -> Layout:
        key = view.device.id
        absent = absences(view)
        passing = [s for s, reason in absent.items() if reason not in _STATIC and s[0] != "*"]
        series = dict.fromkeys((*(before.series if before else ()), *view.reading.values, *passing))
        layout = Layout(
            slot=self._slots.setdefault(key, len(self._slots)),
            device=view.device,
            series=tuple(series),
            absent=tuple(
                (s, LETTERS[reason])
                for s, reason in absent.items()
                if reason in _STATIC and s not in series
            ),
        )
        self._layouts[key] = (layout, frozenset(series))
        return layout


def _values(series: Iterable[Series], view: DeviceView) -> tuple[Number | str, ...]:
    values, absent, unreported = view.reading.values, view.reading.absent, view.unreported
    device_absence = absent.get(("*",))
    letters = LETTERS

    def letter(key: Series) -> str:
        quantity = key[:1]
        reason = (
            absent.get(key) or absent.get(quantity) or unreported.get(quantity) or device_absence
        )
        return letters[reason or Absence.NOT_COLLECTED]

    return tuple([values[key] if key in values else letter(key) for key in series])
