"""The picture of several hubs as `/v1/stream` sends it."""

import asyncio
from collections.abc import Callable, Sequence

from accelwatch.base.errors import ExpressionError, UsageError
from accelwatch.base.slices import LongWork
from accelwatch.fleet.api.live.tick_frames import TickFrames
from accelwatch.fleet.api.query.names import condition as compiled_condition
from accelwatch.fleet.documents.fleet import DEFAULT_FIELDS
from accelwatch.fleet.global_hub.events import NumberedEvents
from accelwatch.fleet.global_hub.followed import FollowedHubs
from accelwatch.fleet.hub_client.several.names.locations import is_hub_label
from accelwatch.fleet.hub_client.several.source import SeveralHubs
from accelwatch.fleet.names import HUB_LABEL
from accelwatch.fleet.picture.model import FIELDS, FleetView
from accelwatch.fleet.wire import DeviceNow, DeviceSlot, FleetDocument, FleetTick
from accelwatch.web.http.stream import framed

# For the first picture of a filter, before a client is shown that there is none yet.
_PATIENCE_S = 3.0
_POLL_S = 0.05
# Devices between which others on the event loop may have their turn.
_AT_ONCE = 500


class PictureFeed:
    """Implements `LiveFeed` over a picture of several hubs."""

    def __init__(
        self,
        fields: Sequence[str],
        hubs: SeveralHubs,
        time: Callable[[], float],
        events: NumberedEvents,
        *,
        follows: bool = False,
    ) -> None:
        """`follows`: whether the hubs have to be followed for it alone, where it has a filter."""
        self.clients = 0
        self.ticks = TickFrames()
        self.fields = tuple(fields)
        self._columns = None if self.fields == FIELDS else [FIELDS.index(name) for name in fields]
        self._hubs = hubs
        self._time = time
        self._follows = follows
        self._task: asyncio.Task[None] | None = None
        self._events = events
        self._slots: Sequence[DeviceSlot | None] = ()

    @property
    def last_event(self) -> int:
        """Number of the newest event."""
        return self._events.last

    async def start(self) -> None:
        """Follow the hubs with its filter, and wait a moment for all of them."""
        if not self._follows or self._task is not None:
            return
        self._task = asyncio.create_task(self._hubs.run(lambda: None), name="hubs of a filter")
        hubs = range(len(self._hubs.picture.hubs))
        for _ in range(int(_PATIENCE_S / _POLL_S)):
            if all(self._hubs.has_answered(hub) for hub in hubs):
                break
            await asyncio.sleep(_POLL_S)

    def close(self) -> None:
        """Follow nothing for it any more."""
        if self._task is not None:
            self._task.cancel()

    async def make(self, document: FleetDocument) -> None:
        """Make the next tick."""
        await self._hubs.remake()
        view = self._hubs.fleet()
        devices = () if view is None else await self._devices(view)
        if view is not None:
            self._assign(view.slots)
            self._events.update(view.events)
        self.ticks.publish(
            FleetTick(
                sequence=self.ticks.sequence + 1,
                time=self._time(),
                fleet=document,
                nodes=() if view is None else tuple(view.nodes),
                devices=devices,
            )
        )

    def _assign(self, slots: Sequence[DeviceSlot | None]) -> None:
        """Who stands in the slots; what has not changed is the same object as before."""
        before, self._slots = self._slots, slots
        if slots is before:
            return
        count = len(before)
        for number, slot in enumerate(slots):
            if slot is not None and (number >= count or before[number] is not slot):
                self.ticks.assign(slot)

    async def _devices(self, view: FleetView) -> tuple[DeviceNow, ...]:
        columns = self._columns
        if columns is None:
            return tuple(view.devices)
        work, devices = LongWork(), []
        for device in view.devices:
            values = tuple(device.values[column] for column in columns)
            devices.append(
                DeviceNow(device.slot, device.state, device.health, device.sample_age_s, values)
            )
            if len(devices) % _AT_ONCE == 0:
                await work.yield_control()
        return tuple(devices)

    def events(self, media: str, after: int) -> bytes:
        """Events after a number, as bytes."""
        return b"".join([framed(event, media) for event in self._events.after(after)])


class PictureFeeds:
    """Implements `LiveSource` over the hubs that are followed."""

    def __init__(self, followed: FollowedHubs) -> None:
        self._followed = followed

    def feed(self, fields: Sequence[str], condition: str) -> PictureFeed:
        """A new feed. Raises ExpressionError, UsageError."""
        chosen = tuple(fields) or DEFAULT_FIELDS
        unknown = [name for name in chosen if name not in FIELDS]
        if unknown:
            raise UsageError(
                f"fields: {unknown[0][:60]!r} is not in the stream of a hub of hubs, which has "
                f"{', '.join(FIELDS)}; /v1/devices has all"
            )
        clock = self._followed.clock
        if not condition:
            return PictureFeed(chosen, self._followed.hubs, clock.wall, self._followed.events)
        check_condition(condition, self._followed.view())
        own = self._followed.source(condition)
        return PictureFeed(chosen, own, clock.wall, NumberedEvents(), follows=True)

    async def document(self) -> FleetDocument:
        """The fleet in numbers."""
        await self._followed.hubs.remake()
        return self._followed.document()


def check_condition(text: str, view: FleetView | None) -> None:
    """Raise ExpressionError or UsageError for a filter that the hubs below cannot evaluate."""
    labels = labels_of(view)
    try:
        compiled_condition(text, labels)
    except ExpressionError:
        compiled_condition(text, {*labels, HUB_LABEL})  # raises what else is wrong with it
        raise UsageError(
            f"filter: the hubs evaluate it, and none knows the label {HUB_LABEL}: group by it (t on the "
            f"screen, --by {HUB_LABEL}), or ask that hub itself"
        ) from None


def labels_of(view: FleetView | None) -> set[str]:
    """The labels that the hubs themselves know: those of nodes, but for the name of the hub."""
    by_node = {} if view is None else view.node_labels
    return {name for name in set().union(*by_node.values()) if not is_hub_label(name)}
