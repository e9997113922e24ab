"""A device that several targets of a node report, as one, by the rules of `fleet.merge`."""

from collections.abc import Mapping, Sequence
from operator import is_

from accelwatch.fleet.merge import (
    HealthReport,
    health_of,
    may_fill,
    reading_of,
    same_devices,
    speaking,
    united,
)
from accelwatch.fleet.state.nodes.devices import FleetDevice
from accelwatch.fleet.state.nodes.usage import UNUSED, Usage, occupancy
from accelwatch.schema.device import Device
from accelwatch.schema.health import HealthEvaluation
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import EventCount


class Joined:
    """One device over its parts, best first; recomputed with every tick of any of them."""

    __slots__ = ("_components", "_names", "_statuses", "_usage", "_usages", "device")

    def __init__(self, device: Device, components: Sequence[tuple[str, FleetDevice]]) -> None:
        """Each part with the name of its exporter."""
        self.device = device
        self._names = tuple(name for name, _ in components)
        self._components = tuple(component for _, component in components)
        self._usages: list[Usage] = []
        self._statuses: list[str] = []
        self._usage = UNUSED

    def _speaking(self) -> list[int]:
        return speaking([component.state for component in self._components])

    def _health_evaluation(self) -> HealthEvaluation:
        components = [self._components[at] for at in self._speaking()]
        return health_of(
            [
                HealthReport(component.state, component.health, component.usage.health_reasons)
                for component in components
            ]
        )

    @property
    def usage(self) -> Usage:
        """Who uses it, by all sources; what is wrong with it, by those that speak."""
        usages = [component.usage for component in self._components]
        statuses = [
            status
            for component in self._components
            for status in (component.state, component.health)
        ]
        if statuses != self._statuses or not all(map(is_, usages, self._usages)):
            self._usages, self._statuses, self._usage = usages, statuses, self._joined()
        return self._usage

    @property
    def event_counts(self) -> tuple[EventCount, ...]:
        """How often each error was counted, by the first source that counts any."""
        return self.usage.event_counts

    def _joined(self) -> Usage:
        usages = [component.usage for component in self._components]
        owners = united(usage.occupancy.owners for usage in usages)
        users = next((usage.users for usage in usages if usage.users), ())
        return Usage(
            occupancy=occupancy(owners, users),
            users=users,
            health_reasons=self._health_evaluation().reasons,
            event_counts=next((usage.event_counts for usage in usages if usage.event_counts), ()),
        )

    @property
    def state(self) -> str:
        """A word of DeviceState, from the first source."""
        return self.first.state

    @property
    def health(self) -> str:
        """A word of Health, the worst of those that speak."""
        return self._health_evaluation().health

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
        """The device of the first source."""
        return self._components[0]

    @property
    def components(self) -> tuple[FleetDevice, ...]:
        """The device of each source, best first."""
        return self._components

    def component_of(self, series: Series) -> FleetDevice:
        """The part that a series' value is from; the first where there is none."""
        for at in self._speaking():
            component = self._components[at]
            if component.number(series) is not None:
                return component
            if not may_fill(series, component.keys((series[0],))):
                break
        return self.first

    def number(self, series: Series) -> Number | None:
        """The value of a series from the first source that reports its quantity."""
        for at in self._speaking():
            component = self._components[at]
            value = component.number(series)
            if value is not None:
                return value
            if not may_fill(series, component.keys((series[0],))):
                return None
        return None

    def keys(self, requested: Sequence[str]) -> set[str]:
        """Those quantities of which any source has a value."""
        return {key for at in self._speaking() for key in self._components[at].keys(requested)}

    def numbers(self, requested: Sequence[Series]) -> list[Number | None]:
        """The same of several."""
        first, *others = [self._components[at] for at in self._speaking()]
        numbers, before = first.numbers(requested), first
        open_ = list(range(len(requested)))
        for component in others:
            lacking = [at for at in open_ if numbers[at] is None]
            keys = before.keys([requested[at][0] for at in lacking])
            open_ = [at for at in lacking if may_fill(requested[at], keys)]
            for at, value in zip(
                open_, component.numbers([requested[at] for at in open_]), strict=True
            ):
                numbers[at] = value
            before = component
        return numbers

    def reading(self) -> Reading:
        """Every value and absence, and the processes."""
        readings = [(self._names[at], self._components[at].reading()) for at in self._speaking()]
        return reading_of(self.device.id, readings)


def merged(sources: Sequence[tuple[str, Mapping[str, FleetDevice]]]) -> dict[str, FleetDevice]:
    """Devices of several sources, each with the name of its exporter, best first, by id as one."""
    named_devices = [(name, tuple(devices.values())) for name, devices in sources]
    by_id: dict[str, FleetDevice] = {}
    for device, positions in same_devices(
        [[present.device for present in devices] for _, devices in named_devices]
    ):
        views = [
            (named_devices[source][0], named_devices[source][1][position])
            for source, position in positions
        ]
        only = views[0][1]
        alone = len(views) == 1 and only.device is device
        by_id[device.id] = only if alone else Joined(device, views)
    return by_id
