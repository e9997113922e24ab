"""The compact form for streams: a device's series layout once, then an array of values a tick.

Messages are msgspec structs, so the same stream can be JSON lines or msgpack. A value that is absent
travels as the letter of its reason; a layout is sent again when a device's series change. What is no
number (`schema/context.py`) travels beside the ticks, when it changes.
"""

from collections.abc import Iterable

import msgspec

from accelwatch.errors import WireError
from accelwatch.schema.absence import Absence
from accelwatch.schema.context import (
    Backends,
    Context,
    Event,
    Findings,
    Owners,
    Processes,
    process_of,
)
from accelwatch.schema.context_encoder import ContextEncoder, EventNumbers
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process, Reading
from accelwatch.schema.snapshot import DeviceView, Snapshot

STREAM = "accelwatch/1"
"""Schema of streams: all their moments are Unix seconds."""

_LETTERS = {
    Absence.UNSUPPORTED: "u",
    Absence.PERMISSION: "p",
    Absence.TIMEOUT: "t",
    Absence.LOST: "l",
    Absence.SUSPENDED: "z",
    Absence.ERROR: "e",
    Absence.STALE: "s",
    Absence.NOT_COLLECTED: "n",
}
_REASONS = {letter: reason for reason, letter in _LETTERS.items()}
_STANDING = (Absence.UNSUPPORTED, Absence.NOT_COLLECTED)


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """First message of a stream."""

    schema: str = STREAM
    version: str
    host: str
    boot_id: str = ""
    interval_s: float | None = None


class Layout(msgspec.Struct, frozen=True, kw_only=True, tag="layout"):
    """What the values of device number `slot` mean from now on."""

    slot: int
    device: Device
    series: tuple[Series, ...]
    absent: tuple[tuple[Series, str], ...] = ()
    """Standing absences (unsupported, not collected) as (series, letter)."""


class DeviceTick(msgspec.Struct, frozen=True, array_like=True):
    """One device at one tick; `sample_time` in Unix seconds."""

    slot: int
    state: str
    state_since: float
    health: str
    sample_time: float | None
    values: tuple[Number | str, ...]
    whole: str = ""
    """Letter of the reason why the device as a whole has no values; empty when it has."""


class Tick(msgspec.Struct, frozen=True, kw_only=True, tag="tick"):
    """All devices at one moment; `sequence` grows by one, a gap means that ticks were dropped."""

    sequence: int
    time: float
    devices: tuple[DeviceTick, ...]


Message = Hello | Layout | Tick | Context


class _Kind(msgspec.Struct):
    type: str


_kind = msgspec.msgpack.Decoder(_Kind).decode
_ESSENTIAL = frozenset(one.__struct_config__.tag for one in (Hello, Layout, Tick))


def is_spare(body: bytes) -> bool:
    """Whether a MessagePack message that cannot be read may be skipped: it tells no numbers.

    A newer agent sends kinds, and words within known kinds, that this version does not know.
    """
    try:
        return _kind(body).type not in _ESSENTIAL
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
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
        layout, known = self._layouts.get(view.device.id, (None, frozenset[Series]()))
        if (
            layout is None
            or layout.device != view.device
            or not view.reading.values.keys() <= known
        ):
            layout = self._new_layout(view, layout)
            messages.append(layout)
        return DeviceTick(
            layout.slot,
            view.state.value,
            view.state_since,
            view.health.value,
            view.sample_time,
            _values(layout.series, view.reading),
            _LETTERS[whole] if (whole := view.reading.absent.get(("*",))) else "",
        )

    def _new_layout(self, view: DeviceView, before: Layout | None) -> Layout:
        key = view.device.id
        reading = view.reading
        passing = [
            s for s, reason in reading.absent.items() if reason not in _STANDING and s[0] != "*"
        ]
        series = dict.fromkeys((*(before.series if before else ()), *reading.values, *passing))
        layout = Layout(
            slot=self._slots.setdefault(key, len(self._slots)),
            device=view.device,
            series=tuple(series),
            absent=tuple(
                (s, _LETTERS[reason])
                for s, reason in reading.absent.items()
                if reason in _STANDING and s not in series
            ),
        )
        self._layouts[key] = (layout, frozenset(series))
        return layout


def _values(series: Iterable[Series], reading: Reading) -> tuple[Number | str, ...]:
    values, absent = reading.values, reading.absent
    whole = absent.get(("*",))
    letters = _LETTERS

    def letter(one: Series) -> str:
        reason = absent.get(one) or absent.get(one[:1]) or whole or Absence.NOT_COLLECTED
        return letters[reason]

    return tuple([values[one] if one in values else letter(one) for one in series])


class CompactDecoder:
    """Turns the messages of one stream back into device views; keeps what layouts said."""

    def __init__(self) -> None:
        self.hello: Hello | None = None
        self.backends = Backends()
        self.events: dict[int, ErrorEvent] = {}
        """By sequence."""
        self._layouts: dict[int, Layout] = {}
        self._owners: dict[int, Owners] = {}
        self._processes: dict[int, Processes] = {}
        self._findings: dict[int, Findings] = {}
        self._sequence = 0
        self.gaps = 0
        """Ticks that the stream skipped."""

    def feed(self, message: Message) -> tuple[DeviceView, ...] | None:
        """Views of the devices when the message was a tick, else None. Raises WireError."""
        if isinstance(message, Tick):
            return self._tick(message)
        match message:
            case Hello():
                if message.schema != STREAM:
                    text = f"the stream speaks {message.schema!r}, this version {STREAM!r}"
                    raise WireError(text)
                self.hello = message
            case Layout():
                self._layouts[message.slot] = message
            case Owners():
                self._owners[message.slot] = message
            case Processes():
                self._processes[message.slot] = message
            case Findings():
                self._findings[message.slot] = message
            case Backends():
                self.backends = message
            case Event():
                self.events[message.sequence] = message.event
        return None

    def _tick(self, tick: Tick) -> tuple[DeviceView, ...]:
        if self._sequence and tick.sequence > self._sequence + 1:
            self.gaps += tick.sequence - self._sequence - 1
        self._sequence = tick.sequence
        return tuple(self._view(device, tick.time) for device in tick.devices)

    def _view(self, tick: DeviceTick, now: float) -> DeviceView:
        layout = self._layouts.get(tick.slot)
        if layout is None or len(layout.series) != len(tick.values):
            raise WireError(f"values for slot {tick.slot} do not fit its layout")
        values: dict[Series, Number] = {}
        absent = {series: _REASONS[letter] for series, letter in layout.absent}
        if tick.whole:
            absent = {("*",): _REASONS.get(tick.whole, Absence.ERROR)}
        for series, value in zip(layout.series, tick.values, strict=True):
            if isinstance(value, str):
                absent[series] = _REASONS.get(value, Absence.ERROR)
            else:
                values[series] = value
        device_id, found = layout.device.id, self._findings.get(tick.slot)
        return DeviceView(
            device=layout.device,
            state=DeviceState(tick.state),
            state_since=tick.state_since,
            reading=Reading(
                device_id=device_id,
                values=values,
                absent=absent,
                processes=self._processes_of(tick.slot, device_id, absent),
            ),
            sample_time=tick.sample_time,
            sample_age_s=None if tick.sample_time is None else now - tick.sample_time,
            health=Health(tick.health),
            health_reasons=() if found is None else found.health_reasons,
            owners=self._owners[tick.slot].owners if tick.slot in self._owners else (),
            event_counts=() if found is None else found.event_counts,
        )

    def _processes_of(
        self, slot: int, device_id: str, absent: dict[Series, Absence]
    ) -> tuple[Process, ...] | None:
        told = self._processes.get(slot)
        if told is None or ("processes",) in absent or ("*",) in absent:
            return None
        return tuple(process_of(row, device_id) for row in told.rows)
