"""The columns of a back-test: what the samples up to now say, as the rules of a live hub ask for it.

A value stands until the next sample of its device, for two steps of the archive at most: as in a live
fleet, what is older is not known.
"""

import math
from collections.abc import Iterable

import numpy as np

from accelwatch.alerting.rules.timing import silence_s
from accelwatch.base.slices import LongWork
from accelwatch.detection.findings.finding import Finding
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.needs import Needs, WindowNeed
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS
from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.fleet.backtest.context.device_groups import DeviceGroups as Belonging
from accelwatch.fleet.backtest.context.device_index import DeviceIndex
from accelwatch.fleet.backtest.context.stream import SampleBatch
from accelwatch.fleet.rules.columns.columns import Indices, Texts
from accelwatch.fleet.rules.columns.detector_facts import DetectorFacts
from accelwatch.fleet.rules.columns.event_columns import EventColumns, EventHistory
from accelwatch.fleet.rules.columns.groups import Groups
from accelwatch.fleet.rules.columns.past import Past
from accelwatch.fleet.rules.columns.rule_context import Firing
from accelwatch.fleet.rules.columns.texts.status import StatusTexts
from accelwatch.fleet.state.fleet_status import status_number
from accelwatch.fleet.state.nodes.liveness import ORDER, Thresholds
from accelwatch.fleet.state.nodes.losses import are_lost, reports_loss
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.jobs import RowJobs
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.state_codes import HEALTH, NODE_STATE, STATE
from accelwatch.fleet.table.windows import Arrivals, Windows
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.provenance import Provenance

DEVICE_UP = ("device_up",)
SKEW = ("fleet_target_clock_skew_seconds",)
UNREADABLE = "device_unreadable_info"
_STATE_CODES = np.array([NODE_STATE[state] for state in ORDER[:4]], dtype=np.intp)


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
        """Raises WindowsError when the windows of `needs` take too much memory."""
        self._device_index, self._belonging, self._firing = device_index, belonging, firing
        self._step_s = device_index.step_s
        # What is wanted of devices.
        self.series = (DEVICE_UP, *sorted(_of_devices(needs.series) - {DEVICE_UP}))
        # What is wanted of nodes.
        self.node_series = (SKEW, *sorted(needs.series - _of_devices(needs.series) - {SKEW}))
        self._windows, self._node_windows = Windows(1.0), Windows(1.0)
        self._past = Past(self._windows, [w for w in needs.windows if not of_host(w.series)])
        self._node_past = Past(self._node_windows, [w for w in needs.windows if of_host(w.series)])
        self._row_jobs = RowJobs()
        self._events = EventColumns(event_history, needs.events)
        self._series_index = {key: at for at, key in enumerate(self.series)}
        self._node_series_index = {key: at for at, key in enumerate(self.node_series)}
        self._values: Floats = np.full((len(self.series), device_index.size), math.nan)
        self._node_values: Floats = np.full(
            (len(self.node_series), device_index.node_size), math.nan
        )
        # By row: since when `device_up` is 0, Unix seconds; NaN where it is not.
        self._unread_since: Floats = np.full(device_index.size, math.nan)
        # By row: when it was read last, Unix seconds.
        self._read_at: Floats = np.full(device_index.size, -math.inf)
        # By row: when a log said last that it is lost, Unix seconds.
        self._reported_lost_at: Floats = np.full(device_index.size, -math.inf)
        self._event_history, self._last_sequence = event_history, 0
        self._numbers: dict[Key, Floats] = {}
        self._status_texts = StatusTexts()
        self._groups: dict[str, tuple[object, Groups]] = {}
        self._now = 0.0
        self.detector_facts = DetectorFacts()
        self.here: Bools = device_index.here
        self._current: Bools = device_index.here
        self._node_current: Bools = device_index.here
        self._state: Indices = np.zeros(0, dtype=np.intp)
        self._node_state: Indices = np.zeros(0, dtype=np.intp)

    def add_samples(
        self, now: float, devices: Iterable[SampleBatch], nodes: Iterable[SampleBatch]
    ) -> None:
        """Samples that have come since; `now` in Unix seconds."""
        device_index = self._device_index
        self._now = now
        self._values = grown(self._values, device_index.size, math.nan)
        self._node_values = grown(self._node_values, device_index.node_size, math.nan)
        self._unread_since = grown(self._unread_since, device_index.size, math.nan)
        self._read_at = grown(self._read_at, device_index.size, -math.inf)
        for batch in devices:
            self._values[:, batch.entity] = batch.values
            before = self._unread_since[batch.entity]
            since = np.where(np.isnan(before), batch.seconds, before)
            failed = batch.values[0] == 0
            self._unread_since[batch.entity] = np.where(failed, since, math.nan)
            self._read_at[batch.entity[~failed]] = batch.seconds[~failed]
            device_index.record_devices(batch.entity, batch.seconds)
        for batch in nodes:
            self._node_values[:, device_index.record_nodes(batch.entity, batch.seconds)] = (
                batch.values
            )

    def skew_s(self, number: int) -> float:
        """How far the clock of a node is ahead, seconds; 0 where nobody knows."""
        skew = (
            float(self._node_values[0, number]) if number < self._node_values.shape[1] else math.nan
        )
        return 0.0 if math.isnan(skew) else skew

    async def refresh(self, work: LongWork) -> None:
        """Take samples for the windows, and say how everybody is."""
        device_index = self._device_index
        self._numbers = {}
        self.here = device_index.here.copy()
        interval_s = np.full(device_index.size, self._step_s)
        self._belonging.refresh(self._now)
        job = self._belonging.by("job")
        jobs = self._row_jobs.refresh(job, job.codes, job.values, self._belonging.shared_jobs)
        arrivals = Arrivals(
            len(device_index.devices),
            device_index.reported_at,
            interval_s,
            device_index.generation,
            jobs,
        )
        self._windows.sample(
            self._now, arrivals, lambda series: self._values[self._series_index[series]]
        )
        once = np.ones(device_index.node_size, dtype=np.uint32)
        interval_s = np.full(device_index.node_size, self._step_s)
        arrivals = Arrivals(
            len(device_index.nodes), device_index.node_reported_at, interval_s, once
        )
        self._node_windows.sample(
            self._now, arrivals, lambda series: self._node_values[self._node_series_index[series]]
        )
        self._record_losses()
        self._stand()
        await work.rest()
        self._events.refresh()

    def _record_losses(self) -> None:
        """Events that have come since and say that a device is lost."""
        device_index = self._device_index
        self._reported_lost_at = grown(self._reported_lost_at, device_index.size, -math.inf)
        for noted in self._event_history.after(self._last_sequence):
            self._last_sequence = noted.sequence
            event = noted.event
            row = device_index.row(noted.node, event.device_id) if reports_loss(event) else None
            if row is not None:
                self._reported_lost_at[row] = max(self._reported_lost_at[row], event.time)

    def _stand(self) -> None:
        """States of nodes by how long they are silent, and of devices."""
        device_index, limits = self._device_index, Thresholds()
        age = self._now - device_index.node_reported_at
        late, silent = 1.5 * self._step_s + 1.0, 6.0 * self._step_s
        edges = (
            max(limits.slow_s, late),
            max(limits.stale_s, 3.0 * self._step_s),
            max(limits.down_s, silent),
        )
        of_node = _STATE_CODES[
            np.searchsorted(edges, np.nan_to_num(age, nan=math.inf), side="left")
        ]
        node_state = of_node[device_index.node_of]
        self._node_state = np.where(self.here, node_state, -1)
        speaks = (node_state != NODE_STATE[ORDER[2]]) & (node_state != NODE_STATE[ORDER[3]])
        missed = device_index.missed()
        # Of devices none of which is told any more, their collector is silent and they are not lost.
        is_reported = self._now - device_index.reported_at <= edges[1]
        newest_s = silence_s(self._step_s)
        current = self._now - device_index.reported_at <= newest_s
        self._current = speaks & current & ~missed
        self._node_current = speaks & (age <= newest_s)[device_index.node_of]
        state = np.full(device_index.size, STATE["ok"], dtype=np.intp)
        self._stand_unread(state)
        state[~current] = -1
        state[~(speaks & is_reported)] = STATE["stale"]
        state[missed & speaks] = np.where(self._node_current, STATE["missing"], -1)[missed & speaks]
        self._state = np.where(self.here, state, -1)

    def _stand_unread(self, state: Indices) -> None:
        """States of devices that cannot be read: what was recorded of them, else how long it lasts."""
        unread = self._values[0] == 0
        failing_s = self._device_index.reported_at - self._unread_since
        gone = unread & are_lost(failing_s, self._reported_lost_at, self._read_at)
        state[unread] = STATE[DeviceState.DEGRADED]
        state[gone] = STATE[DeviceState.LOST]
        for series, position in self._series_index.items():
            if series[0] == UNREADABLE and series[1] in STATE:
                state[unread & (self._values[position] == 1)] = STATE[series[1]]

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
        if of_host(key):
            position = self._node_series_index.get(key)
            if position is None:
                return np.full(self.size, math.nan)
            of_node = self._node_values[position][self._device_index.node_of]
            return np.where(self._node_current, of_node, math.nan)
        values = np.full(self.size, math.nan)
        if key in self._series_index:
            values = np.where(self._current, self._values[self._series_index[key]], math.nan)
        instead = status_number(key, self._state, _unknown_health(self.size))
        if instead is None:
            return values
        is_reported = self.here & (self._current | (self._state == STATE["missing"]))
        return np.where(np.isnan(values) & is_reported, instead, values)

    def text(self, key: str) -> Texts:
        """A field or label."""
        if key in DETECTOR_FIELDS:
            return self.detector_facts.text(key, self.size)
        if key == "state":
            return self._status_texts.of(key, self._state)
        if key == "health":
            return self._status_texts.of(key, _unknown_health(self.size))
        if key == "node_state":
            return self._status_texts.of(key, self._node_state)
        return self._belonging.text(key)

    def window(
        self, kind: str, key: Series, seconds: int, quantile: float | None, *, of_job: bool = False
    ) -> Floats:
        """A window."""
        query = WindowNeed(kind, key, seconds, quantile, of_job)
        if of_host(key):
            result, current = self._by_row(self._node_past.window(query)), self._node_current
        else:
            result, current = self._full_size(self._past.window(query)), self._current
        return result if kind == WindowKind.AGE else np.where(current, result, math.nan)

    def coverage(self, key: Series, seconds: int, *, of_job: bool = False) -> Floats:
        """Share of the samples of such a window that there are."""
        if of_host(key):
            return self._by_row(self._node_past.coverage(key, seconds))
        return self._full_size(self._past.coverage(key, seconds, of_job=of_job))

    def _full_size(self, values: Floats | None) -> Floats:
        if values is None:
            return np.full(self.size, math.nan)
        return grown(values, self.size, math.nan)[: self.size]

    def _by_row(self, values: Floats | None) -> Floats:
        if values is None:
            return np.full(self.size, math.nan)
        result: Floats = grown(values, self._device_index.node_size, math.nan)[
            self._device_index.node_of
        ]
        return result

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
        """Rows in groups; made anew only when somebody has moved."""
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
        self._past.close()
        self._node_past.close()


def _of_devices(series: Iterable[Series]) -> frozenset[Series]:
    return frozenset(key for key in series if not of_host(key))


def _unknown_health(size: int) -> Indices:
    return np.full(size, HEALTH[Health.UNKNOWN], dtype=np.intp)
