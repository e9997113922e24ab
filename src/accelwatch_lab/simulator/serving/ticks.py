"""Streams at the price of a few microseconds a device: MessagePack made from parts that do not change.

A device's message is a fixed head, its moving values packed in one call, and a tail of constants that
all devices of a model share. Whole numbers travel in their eight-byte form, which all readers accept. A
reader that requests it gets its values as bytes, as from an agent (`schema/stream/packed.py`).
"""

import struct

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.version import __version__
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.compact import (
    LETTERS,
    DeviceTick,
    Hello,
    Layout,
    packed,
    packed_device,
)
from accelwatch.schema.stream.frames import frame
from accelwatch.schema.stream.packed import pack
from accelwatch_lab.simulator.conditions import NodeCondition
from accelwatch_lab.simulator.context import ContextWriter, SentContext
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.nodes import Node, Unit

_FLOAT, _INT, _ARRAY16, _ARRAY32 = 0xCB, 0xD3, 0xDC, 0xDD
_pack = msgspec.msgpack.Encoder().encode
_TICK = struct.Struct(">BI")
_NUMBER = struct.Struct(">Bd")


class _Form:
    """How the devices of one model are packed."""

    def __init__(self, unit: Unit) -> None:
        plan = unit.plan
        self._fractions, wholes = len(plan.fractions), len(plan.wholes)
        self._packer = struct.Struct(">BdBH" + "Bd" * self._fractions + "Bq" * wholes)
        self._frame: list[float] = [_FLOAT, 0.0, _ARRAY16, len(plan.series)]
        self._frame += [_FLOAT, 0.0] * self._fractions + [_INT, 0] * wholes
        self._split = 4 + 2 * self._fractions
        self.tail = b"".join(map(_pack, plan.constants)) + _pack("")

    def moving(self, time: float, fractions: list[float], wholes: list[int]) -> bytes:
        """Sample time and moving values."""
        frame = self._frame
        frame[1] = time
        frame[5 : self._split : 2] = fractions
        frame[self._split + 1 :: 2] = wholes
        return self._packer.pack(*frame)


class _PackedForm:
    """The same with the values as the bytes that `pack` makes of them."""

    def __init__(self, unit: Unit) -> None:
        plan = unit.plan
        fractions, wholes = len(plan.fractions), len(plan.wholes)
        example = pack((*[0.0] * fractions, *[0] * wholes, *plan.constants))
        count = len(plan.series)
        constants = count + 8 * (fractions + wholes)
        # The length, and the marks of all values.
        self._lead = _pack(example)[: -len(example)] + example[:count]
        self._packer = struct.Struct("<" + "d" * fractions + "q" * wholes)
        self.tail = example[constants:] + _pack("")

    def moving(self, time: float, fractions: list[float], wholes: list[int]) -> bytes:
        """Sample time and moving values."""
        return _NUMBER.pack(_FLOAT, time) + self._lead + self._packer.pack(*fractions, *wholes)


class TickWriter:
    """Messages of streams as bytes, framed as /v1/stream frames them."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._context = ContextWriter(fleet)
        self._forms: dict[tuple[str, bool], _Form | _PackedForm] = {}
        self._heads: dict[int, bytes] = {}

    def _form(self, unit: Unit, as_bytes: bool) -> _Form | _PackedForm:
        key = unit.model.name, as_bytes
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = _PackedForm(unit) if as_bytes else _Form(unit)
        return form

    def _head(self, slot: int) -> bytes:
        """`[slot, "ok", start, "ok"` of a device without faults on a node whose clock is right."""
        head = self._heads.get(slot)
        if head is None:
            fields = (slot, "ok", self._fleet.start, "ok")
            head = self._heads[slot] = b"\x97" + b"".join(map(_pack, fields))
        return head

    def opening(self, node: Node, instant: Instant, *, as_bytes: bool = False) -> bytes:
        """Hello and the layouts of every device, then of the host."""
        booted_s = self._fleet.condition(node, instant).booted_s
        condition = NodeCondition(booted_s=booted_s)
        hello = Hello(
            version=__version__,
            host=node.name,
            boot_id=self._fleet.boot_id(node, condition),
            interval_s=self._fleet.interval_s,
        )
        views = [self._fleet.view(node, at, instant, condition) for at in range(len(node.units))]
        views.append(self._fleet.host_view(node, instant, condition))
        units = (*node.units, node.host)
        layouts = [
            Layout(
                slot=slot,
                device=view.device,
                series=unit.plan.series,
                absent=_layout_absences(view),
            )
            for slot, (unit, view) in enumerate(zip(units, views, strict=True))
        ]
        greeting = packed(hello) if as_bytes else hello
        return b"".join(framed(_pack(message)) for message in (greeting, *layouts))

    def context(
        self, node: Node, instant: Instant, condition: NodeCondition, sent: SentContext
    ) -> bytes:
        """What a stream has not been sent yet beside its ticks."""
        messages = self._context.pending_messages(node, instant, condition, sent)
        return b"".join(framed(_pack(message)) for message in messages)

    def devices(
        self, node: Node, instant: Instant, condition: NodeCondition, *, as_bytes: bool = False
    ) -> tuple[float, bytes]:
        """Time of a tick by the node's clock, and its devices as one array in MessagePack."""
        fleet = self._fleet
        time = fleet.wall(instant, condition)
        units = (*node.units, node.host)
        chunks = [struct.pack(">BI", _ARRAY32, len(units))]
        load, time_s = fleet.load(node, instant), instant.time_s
        usual = not condition.skew_s and condition.booted_s is None
        suffering = condition.devices
        for slot, unit in enumerate(units):
            waits = condition.blocked and slot == len(node.units)
            if slot in suffering or waits or not usual:
                view = (
                    fleet.view(node, slot, instant, condition)
                    if slot < len(node.units)
                    else fleet.host_view(node, instant, condition)
                )
                tick = _device_tick(slot, unit, view)
                chunks.append(_pack(packed_device(tick) if as_bytes else tick))
                continue
            form = self._form(unit, as_bytes)
            chunks.append(self._head(slot))
            chunks.append(form.moving(time, *fleet.moving(unit, load, time_s)))
            chunks.append(form.tail)
        return time, b"".join(chunks)


_HEAD = b"\x84" + b"".join(map(_pack, ("type", "tick", "sequence")))
_TIME = _pack("time")
_DEVICES = _pack("devices")


def tick_message(sequence: int, time: float, devices: bytes) -> bytes:
    """One framed tick of one stream; `devices` as TickWriter.devices gives them."""
    number = _TICK.pack(0xCE, sequence)
    body = b"".join((_HEAD, number, _TIME, _NUMBER.pack(_FLOAT, time), _DEVICES, devices))
    return framed(body)


def framed(body: bytes) -> bytes:
    """A body behind its length, four bytes, big-endian."""
    return frame(body)


def _layout_absences(view: DeviceView) -> tuple[tuple[tuple[str, ...], str], ...]:
    letters = {Absence.UNSUPPORTED: "u", Absence.NOT_COLLECTED: "n"}
    absent = view.reading.absent
    return tuple((series, letters[why]) for series, why in absent.items() if why in letters)


def _device_tick(slot: int, unit: Unit, view: DeviceView) -> DeviceTick:
    values, absent = view.reading.values, view.reading.absent
    device_absence = absent.get(("*",))
    letter = "" if device_absence is None else LETTERS[device_absence]

    def value_or_letter(series: Series) -> Number | str:
        """The value, or the letter of its own reason."""
        value = values.get(series)
        return letter or LETTERS[absent.get(series, Absence.ERROR)] if value is None else value

    return DeviceTick(
        slot,
        view.state.value,
        view.state_since,
        view.health.value,
        view.sample_time,
        tuple(map(value_or_letter, unit.plan.series)),
        letter,
    )
