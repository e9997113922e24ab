"""A device that several targets of a node tell of, as one, by the rules of `fleet.merge`."""

from collections.abc import Mapping, Sequence
from operator import is_

from accelwatch.fleet.merge import (
    Judged,
    health_of,
    may_fill,
    reading_of,
    same_devices,
    speaking,
    united,
)
from accelwatch.fleet.state.devices import FleetDevice
from accelwatch.fleet.state.usage import UNUSED, Usage, occupancy
from accelwatch.schema.device import Device
from accelwatch.schema.health import Judgement
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import EventCount


class Joined:
    """One device over its parts, best first; worked out anew with every tick of any of them."""

    __slots__ = ("_names", "_parts", "_usage", "_usages", "_words", "device")

    def __init__(self, device: Device, parts: Sequence[tuple[str, FleetDevice]]) -> None:
        """Each part with the name of its exporter."""
        self.device = device
        self._names = tuple(name for name, _ in parts)
        self._parts = tuple(part for _, part in parts)
        self._usages: list[Usage] = []
        self._words: list[str] = []
        self._usage = UNUSED

    def _speaking(self) -> list[int]:
        return speaking([part.state for part in self._parts])

    def _judgement(self) -> Judgement:
        parts = [self._parts[at] for at in self._speaking()]
        return health_of(
            [Judged(part.state, part.health, part.usage.health_reasons) for part in parts]
        )

    @property
    def usage(self) -> Usage:
        """Who uses it, by all sources; what is wrong with it, by those that speak."""
        usages = [part.usage for part in self._parts]
        words = [word for part in self._parts for word in (part.state, part.health)]
        if words != self._words or not all(map(is_, usages, self._usages)):
            self._usages, self._words, self._usage = usages, words, self._joined()
        return self._usage

    @property
    def event_counts(self) -> tuple[EventCount, ...]:
        """How often each error was counted, by the first source that counts any."""
        return self.usage.event_counts

    def _joined(self) -> Usage:
        parts = [part.usage for part in self._parts]
        owners = united(usage.occupancy.owners for usage in parts)
        users = next((usage.users for usage in parts if usage.users), ())
        return Usage(
            occupancy=occupancy(owners, users),
            users=users,
            health_reasons=self._judgement().reasons,
            event_counts=next((usage.event_counts for usage in parts if usage.event_counts), ()),
        )

    @property
    def state(self) -> str:
        """A word of DeviceState, from the first source."""
        return self.first.state

    @property
    def health(self) -> str:
        """A word of Health, the worst of those that speak."""
        return self._judgement().health

    @property
    def state_since(self) -> float:
        """Unix seconds, from the first source."""
        return self.first.state_since

    @property
    def sample_time(self) -> float | None:
        """Unix seconds, from the first source."""
        return self.first.sample_time

    @property
    def first(self) -> FleetDevice:
        """What the first source tells."""
        return self._parts[0]

    @property
    def parts(self) -> tuple[FleetDevice, ...]:
        """What each source tells, best first."""
        return self._parts

    def teller(self, series: Series) -> FleetDevice:
        """The part that a series' value is from; the first where there is none."""
        for at in self._speaking():
            part = self._parts[at]
            if part.number(series) is not None:
                return part
            if not may_fill(series, part.keys((series[0],))):
                break
        return self.first

    def number(self, series: Series) -> Number | None:
        """The value of a series from the first source that tells of its quantity."""
        for at in self._speaking():
            part = self._parts[at]
            value = part.number(series)
            if value is not None:
                return value
            if not may_fill(series, part.keys((series[0],))):
                return None
        return None

    def keys(self, wanted: Sequence[str]) -> set[str]:
        """Those quantities of which any source has a value."""
        return {key for at in self._speaking() for key in self._parts[at].keys(wanted)}

    def numbers(self, wanted: Sequence[Series]) -> list[Number | None]:
        """The same of several."""
        first, *others = [self._parts[at] for at in self._speaking()]
        numbers, before = first.numbers(wanted), first
        open_ = list(range(len(wanted)))
        for part in others:
            lacking = [at for at in open_ if numbers[at] is None]
            keys = before.keys([wanted[at][0] for at in lacking])
            open_ = [at for at in lacking if may_fill(wanted[at], keys)]
            for at, value in zip(open_, part.numbers([wanted[at] for at in open_]), strict=True):
                numbers[at] = value
            before = part
        return numbers

    def reading(self) -> Reading:
        """Every value and absence, and the processes."""
        parts = [(self._names[at], self._parts[at].reading()) for at in self._speaking()]
        return reading_of(self.device.id, parts)


def merged(sources: Sequence[tuple[str, Mapping[str, FleetDevice]]]) -> dict[str, FleetDevice]:
    """Devices of several sources, each with the name of its exporter, best first, by id as one."""
    parts = [(name, tuple(devices.values())) for name, devices in sources]
    by_id: dict[str, FleetDevice] = {}
    for device, places in same_devices(
        [[known.device for known in devices] for _, devices in parts]
    ):
        views = [(parts[source][0], parts[source][1][place]) for source, place in places]
        only = views[0][1]
        alone = len(views) == 1 and only.device is device
        by_id[device.id] = only if alone else Joined(device, views)
    return by_id
