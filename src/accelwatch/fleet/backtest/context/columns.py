"""The columns of a back-test: the samples up to now, as the rules of a live hub read them.

A value stands until the next sample of its device, for two steps of the archive at most: as in a live
fleet, what is older is not known.
"""

import math
from collections.abc import Iterable

import numpy as np

from accelwatch.base.slices import LongWork
from accelwatch.detection.findings.finding import Finding
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.needs import Needs, WindowNeed
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS
from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.fleet.backtest.context.archive_states import ArchiveStates
from accelwatch.fleet.backtest.context.archive_windows import ArchiveWindows
from accelwatch.fleet.backtest.context.device_groups import DeviceGroups as Belonging
from accelwatch.fleet.backtest.context.device_index import DeviceIndex
from accelwatch.fleet.backtest.context.newest_samples import NewestSamples
from accelwatch.fleet.backtest.context.stream import SampleBatch
from accelwatch.fleet.rules.columns.columns import Indices, Texts
from accelwatch.fleet.rules.columns.detector_facts import DetectorFacts
from accelwatch.fleet.rules.columns.event_columns import EventColumns, EventHistory
from accelwatch.fleet.rules.columns.groups import Groups
from accelwatch.fleet.rules.columns.rule_context import Firing
from accelwatch.fleet.rules.columns.texts.status import StatusTexts
from accelwatch.fleet.state.fleet_status import status_number
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.state_codes import HEALTH, STATE
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.provenance import Provenance


class ArchiveColumns:
    """All rows at one moment of an archive."""

    def __init__(
        self,
        device_index: DeviceIndex,
        belonging: Belonging,
        event_history: EventHistory,
        needs: Needs,
        firing: Firing,
    ) -> None:
        """Raises WindowsError when the windows of `needs` need too much memory."""
        self._device_index, self._belonging, self._firing = device_index, belonging, firing
        self.samples = NewestSamples(device_index, needs.series)
        self._windows = ArchiveWindows(device_index, belonging, self.samples, needs.windows)
        self._states = ArchiveStates(device_index, self.samples, event_history)
        self._events = EventColumns(event_history, needs.events)
        self._numbers: dict[Key, Floats] = {}
        self._status_texts = StatusTexts()
        self._groups: dict[str, tuple[object, Groups]] = {}
        self._now = 0.0
        self.detector_facts = DetectorFacts()

    def add_samples(
        self, now: float, devices: Iterable[SampleBatch], nodes: Iterable[SampleBatch]
    ) -> None:
        """Samples that have come since; `now` in Unix seconds."""
        self._now = now
        self.samples.add(devices, nodes)

    async def refresh(self, work: LongWork) -> None:
        """Add samples to the windows, and compute all states."""
        self._numbers = {}
        self._belonging.refresh(self._now)
        self._windows.sample(self._now)
        self._states.refresh(self._now)
        await work.yield_control()
        self._events.refresh()

    @property
    def here(self) -> Bools:
        """Which rows have a device."""
        return self._states.here

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.here)

    @property
    def now(self) -> float:
        """Unix seconds."""
        return self._now

    def number(self, key: Key) -> Floats:
        """A quantity of the device or its host, or a field that is a number."""
        values = self._numbers.get(key)
        if values is None:
            values = self._numbers[key] = self._number(key)
        return values

    def _number(self, key: Key) -> Floats:
        if key == "sample_age_s":
            return self._now - self._device_index.reported_at
        if key in DETECTOR_FIELDS:
            return self.detector_facts.number(str(key), self.size)
        if isinstance(key, str):
            return np.full(self.size, math.nan)
        states, unknown = self._states, np.full(self.size, math.nan)
        if of_host(key):
            node_values = self.samples.of_nodes(key)
            if node_values is None:
                return unknown
            of_node = node_values[self._device_index.node_of]
            return np.where(states.node_current, of_node, math.nan)
        device_values = self.samples.of_devices(key)
        values = (
            unknown if device_values is None else np.where(states.current, device_values, math.nan)
        )
        instead = status_number(key, states.of_device, _unknown_health(self.size))
        if instead is None:
            return values
        is_reported = states.here & (states.current | (states.of_device == STATE["missing"]))
        return np.where(np.isnan(values) & is_reported, instead, values)

    def text(self, key: str) -> Texts:
        """A field or label."""
        if key in DETECTOR_FIELDS:
            return self.detector_facts.text(key, self.size)
        if key == "state":
            return self._status_texts.of(key, self._states.of_device)
        if key == "health":
            return self._status_texts.of(key, _unknown_health(self.size))
        if key == "node_state":
            return self._status_texts.of(key, self._states.of_node)
        return self._belonging.text(key)

    def window(
        self, kind: str, key: Series, seconds: int, quantile: float | None, *, of_job: bool = False
    ) -> Floats:
        """A window."""
        query = WindowNeed(kind, key, seconds, quantile, of_job)
        result = self._windows.window(query, self.size)
        if kind == WindowKind.AGE:
            return result
        current = self._states.node_current if of_host(key) else self._states.current
        return np.where(current, result, math.nan)

    def coverage(self, key: Series, seconds: int, *, of_job: bool = False) -> Floats:
        """Share of the samples of such a window that there are."""
        return self._windows.coverage(key, seconds, self.size, of_job=of_job)

    def last(self, pattern: EventPattern) -> Floats:
        """Unix seconds of the last match."""
        return self._events.last(pattern, self.size)

    def newest(self, pattern: EventPattern) -> float:
        """When a pattern was matched last by anybody."""
        return self._events.newest(pattern)

    def occurrences(self, pattern: EventPattern, seconds: int) -> Floats:
        """How many matches there were."""
        return self._events.occurrences(pattern, self._now - seconds, self.size)

    def latest(self, pattern: EventPattern, row: int) -> ErrorEvent | None:
        """The last match of a row."""
        return self._events.latest(pattern, row)

    def absence(self, _row: int, _key: Key) -> str:
        """An archive does not say."""
        return ""

    def provenance(self, _row: int, _key: Key | None) -> Provenance:
        """All of it is from the archive."""
        return Provenance.STORE

    def weakest(self, _rows: Indices) -> Provenance:
        """All of it is from the archive."""
        return Provenance.STORE

    def groups(self, by: str) -> Groups | None:
        """Rows in groups; recomputed only when a device has moved."""
        named = self._belonging.by(by)
        kept = self._groups.get(by)
        if kept is None or kept[0] is not named:
            kept = self._groups[by] = named, Groups(named.codes, len(named.values))
        return kept[1]

    def finding(self, subject: str, row: int, /) -> Finding | None:
        """What the detector has found of a row."""
        return self.detector_facts.of_row(subject, row)

    def firing(self, rule: str) -> Bools | None:
        """Where another rule is firing."""
        return self._firing(rule)

    def close(self) -> None:
        """Let go of the windows."""
        self._windows.close()


def _unknown_health(size: int) -> Indices:
    return np.full(size, HEALTH[Health.UNKNOWN], dtype=np.intp)
