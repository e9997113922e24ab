"""One device as its source last reported it: undecoded from a stream, or whole from an exposition."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.fleet.follow.frames import RawDevice
from accelwatch.fleet.state.nodes.liveness import is_time
from accelwatch.fleet.state.nodes.usage import UNUSED, Usage, usage_of
from accelwatch.fleet.table.columns import Columns
from accelwatch.fleet.table.pick import Values, decoded
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading, may_be_absent
from accelwatch.schema.snapshot import DeviceView, EventCount
from accelwatch.schema.stream.compact import REASONS
from accelwatch.schema.values.plausible import SENTINELS, believed

_STATES = frozenset(DeviceState)
_HEALTHS = frozenset(Health)


class FleetDevice(Protocol):
    """What the fleet reads of a device."""

    device: Device

    @property
    def usage(self) -> Usage:
        """Who uses it, and findings."""
        ...

    @property
    def event_counts(self) -> tuple[EventCount, ...]:
        """Those of `usage`, for readers that need nothing else."""
        ...

    @property
    def state(self) -> str:
        """A word of DeviceState."""
        ...

    @property
    def health(self) -> str:
        """A word of Health."""
        ...

    @property
    def state_since(self) -> float:
        """Unix seconds on the node's clock."""
        ...

    @property
    def sample_time(self) -> float | None:
        """Unix seconds of the last good read, on the node's clock."""
        ...

    def number(self, series: Series) -> Number | None:
        """The value of a series; None when it has none."""
        ...

    def numbers(self, requested: Sequence[Series]) -> list[Number | None]:
        """The same of several, without caching the decoded form."""
        ...

    def keys(self, requested: Sequence[str]) -> set[str]:
        """Those quantities that have a value in any of their series; kept no more than `numbers`."""
        ...

    def reading(self) -> Reading:
        """Every value and absence, and the processes."""
        ...


class StreamDevice:
    """A device of a stream; values are decoded on each read: cached, they are most of the memory."""

    __slots__ = ("columns", "device", "tick", "usage")

    def __init__(self, device: Device, columns: Columns) -> None:
        self.device = device
        self.columns = columns
        self.usage = UNUSED
        self.tick: RawDevice | None = None

    def update(self, tick: RawDevice) -> None:
        """Another tick."""
        self.tick = tick

    @property
    def event_counts(self) -> tuple[EventCount, ...]:
        """How often each error was counted."""
        return self.usage.event_counts

    @property
    def state(self) -> str:
        """A word of DeviceState; one that this version does not know counts as degraded."""
        name = self.tick.state if self.tick is not None else DeviceState.UNRESPONSIVE
        return name if name in _STATES else DeviceState.DEGRADED

    @property
    def health(self) -> str:
        """A word of Health."""
        name = self.tick.health if self.tick is not None else Health.UNKNOWN
        return name if name in _HEALTHS else Health.UNKNOWN

    @property
    def state_since(self) -> float:
        """Unix seconds on the node's clock."""
        since = self.tick.state_since if self.tick is not None else 0.0
        return since if is_time(since) else 0.0

    @property
    def sample_time(self) -> float | None:
        """Unix seconds of the last good read, on the node's clock."""
        sampled = self.tick.sample_time if self.tick is not None else None
        return sampled if sampled is not None and is_time(sampled) else None

    def number(self, series: Series) -> Number | None:
        """The value of a series; None when it has none."""
        position = self.columns.index.get(series)
        return None if position is None else self._number(position, self._decode())

    def numbers(self, requested: Sequence[Series]) -> list[Number | None]:
        """The same of several, without caching the decoded form."""
        values = self._decode()
        positions = [self.columns.index.get(series) for series in requested]
        return [None if at is None else self._number(at, values) for at in positions]

    def keys(self, requested: Sequence[str]) -> set[str]:
        """Those quantities that have a value in any of their series."""
        positions = [(key, at) for key in set(requested) for at in self.columns.of_key.get(key, ())]
        values = self._decode() if positions else ()
        return {key for key, at in positions if self._number(at, values) is not None}

    def _number(self, position: int, values: Values) -> Number | None:
        value = values[position]
        if isinstance(value, str):
            return None
        low, high = self.columns.limits[position]
        return value if low <= value <= high and value not in SENTINELS else None

    def reading(self) -> Reading:
        """Every value and absence, and the processes."""
        absent = dict(self.columns.absent)
        if self.tick is not None and self.tick.device_absence:
            absence = REASONS.get(self.tick.device_absence, Absence.ERROR)
            return Reading(device_id=self.device.id, absent={("*",): absence})
        values: dict[Series, Number] = {}
        decoded = self._decode()
        for series, value in zip(self.columns.series, decoded, strict=True):
            if isinstance(value, str):
                if may_be_absent(series):
                    absent[series] = REASONS.get(value, Absence.ERROR)
            elif series not in self.columns.index:
                continue
            elif believed(series, value):
                values[series] = value
            else:
                absent[series] = Absence.ERROR
        reading = Reading(device_id=self.device.id, values=values, absent=absent)
        return self.usage.reading(reading)

    def _decode(self) -> Values:
        count = len(self.columns.series)
        return ("e",) * count if self.tick is None else decoded(self.tick.values, count)


class ReadDevice:
    """A device of expositions that are read whole, one after the other."""

    __slots__ = ("_usage", "_values", "device", "view")

    def __init__(self, view: DeviceView) -> None:
        self.device = view.device
        self.update(view)

    def update(self, view: DeviceView) -> None:
        """Another exposition with the same device."""
        self.view = view
        self._values: Mapping[Series, Number] = view.reading.values
        self._usage: Usage | None = None

    @property
    def usage(self) -> Usage:
        """Who uses it, and findings."""
        if self._usage is None:
            self._usage = usage_of(self.view)
        return self._usage

    @property
    def event_counts(self) -> tuple[EventCount, ...]:
        """How often each error was counted."""
        return self.view.event_counts

    @property
    def state(self) -> str:
        """A word of DeviceState."""
        return self.view.state.value

    @property
    def health(self) -> str:
        """A word of Health."""
        return self.view.health.value

    @property
    def state_since(self) -> float:
        """Unix seconds."""
        return self.view.state_since

    @property
    def sample_time(self) -> float | None:
        """Unix seconds of the last good read."""
        return self.view.sample_time

    def number(self, series: Series) -> Number | None:
        """The value of a series; None when it has none."""
        value = self._values.get(series)
        return None if value is None or not believed(series, value) else value

    def numbers(self, requested: Sequence[Series]) -> list[Number | None]:
        """The same of several."""
        value_of = self._values.get
        return [
            None if (value := value_of(series)) is None or not believed(series, value) else value
            for series in requested
        ]

    def keys(self, requested: Sequence[str]) -> set[str]:
        """Those quantities that have a value in any of their series."""
        names = set(requested)
        return {
            series[0]
            for series, value in self._values.items()
            if series[0] in names and believed(series, value)
        }

    def reading(self) -> Reading:
        """Every value and absence, and the processes."""
        reading = self.view.reading
        broken = [series for series, value in reading.values.items() if not believed(series, value)]
        if not broken:
            return reading
        return msgspec.structs.replace(
            reading,
            values={key: value for key, value in reading.values.items() if key not in broken},
            absent={**reading.absent, **dict.fromkeys(broken, Absence.ERROR)},
        )
