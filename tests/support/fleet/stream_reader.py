"""A reader of an agent's stream made of what a hub reads it with: frames, then a source of a node."""

from collections.abc import Mapping

import msgspec

from accelwatch.fleet.follow.frames import FrameReader
from accelwatch.fleet.state.nodes.devices import FleetDevice
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.table.columns import ColumnStore
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import BackendStatus, DeviceView
from accelwatch.schema.stream.compact import Hello, Message, PackedTick, Tick
from accelwatch.schema.stream.context import Event
from support.machines.composed import NOW

_backends = msgspec.msgpack.Decoder(tuple[BackendStatus, ...]).decode


class StreamFollower:
    """What one stream has sent so far."""

    def __init__(self) -> None:
        self.hello: Hello | None = None
        # By sequence.
        self.events: dict[int, ErrorEvent] = {}
        self._frames = FrameReader(1 << 20)
        self._source = TargetSource(targets_of(["n01"])[0], ColumnStore())
        self._source.start_stream()

    @property
    def gaps(self) -> int:
        """Ticks that the stream skipped."""
        return self._source.gaps_total

    @property
    def backends(self) -> tuple[BackendStatus, ...]:
        """What the devices are read through."""
        return _backends(self._source.backends.backends)

    @property
    def own(self) -> Mapping[Series, Number]:
        """What the agent says of its own collecting."""
        return self._source.own

    def feed(self, message: Message | PackedTick) -> tuple[DeviceView, ...] | None:
        """Views of the devices, the host last, when the message was a tick. Raises TargetFault."""
        if isinstance(message, Hello):
            self.hello = message
        if isinstance(message, Event):
            self.events[message.sequence] = message.event
        body = msgspec.msgpack.encode(message)
        for received, size in self._frames.feed(len(body).to_bytes(4, "big") + body):
            self._source.accept(received, size, NOW, 0.0)
        if not isinstance(message, Tick | PackedTick):
            return None
        host = () if self._source.host is None else (self._source.host,)
        return tuple(_view(held) for held in (*self._source.devices.values(), *host))


def _view(held: FleetDevice) -> DeviceView:
    usage = held.usage
    return DeviceView(
        device=held.device,
        state=DeviceState(held.state),
        state_since=held.state_since,
        reading=held.reading(),
        sample_time=held.sample_time,
        health=Health(held.health),
        health_reasons=usage.health_reasons,
        owners=usage.occupancy.owners,
        event_counts=usage.event_counts,
    )
