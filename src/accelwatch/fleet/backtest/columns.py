"""The columns of a back-test: what the samples up to now say, as the rules of a live hub ask for it.

A value stands until the next sample of its device, for two steps of the archive at most: as in a live
fleet, what is older is not known.
"""

import math
from collections.abc import Iterable

import numpy as np

from accelwatch.alerting.rules.timing import silence_s
from accelwatch.base.slices import LongWork
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.needs import Needs
from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.fleet.backtest.places import Places as Belonging
from accelwatch.fleet.backtest.roster import Roster
from accelwatch.fleet.backtest.stream import Told
from accelwatch.fleet.rules.columns import Places, Texts
from accelwatch.fleet.rules.ground import Firing
from accelwatch.fleet.rules.groups import Groups
from accelwatch.fleet.rules.heard import EventColumns, Hearing
from accelwatch.fleet.rules.past import Asked, Past
from accelwatch.fleet.rules.standing import StandingTexts
from accelwatch.fleet.state.liveness import ORDER, Thresholds
from accelwatch.fleet.state.losses import are_lost, says_lost
from accelwatch.fleet.state.moment import standing_number
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.jobs import RowJobs
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.windows import Heard, Windows
from accelwatch.fleet.table.words import HEALTH, NODE_STATE, STATE
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.provenance import Provenance

DEVICE_UP = ("device_up",)
SKEW = ("fleet_target_clock_skew_seconds",)
UNREADABLE = "device_unreadable_info"
_STATE_CODES = np.array([NODE_STATE[one] for one in ORDER[:4]], dtype=np.intp)


class ArchiveColumns:
    """All rows at one moment of an archive."""

    def __init__(
        self,
        roster: Roster,
        belonging: Belonging,
        hearing: Hearing,
        needs: Needs,
        firing: Firing,
    ) -> None:
        """Raises WindowsError when the windows of `needs` take too much memory."""
        self._roster, self._belonging, self._firing = roster, belonging, firing
        self._step_s = roster.step_s
        self.series = (DEVICE_UP, *sorted(_of_devices(needs.series) - {DEVICE_UP}))
        """What is wanted of devices."""
        self.node_series = (SKEW, *sorted(needs.series - _of_devices(needs.series) - {SKEW}))
        """What is wanted of nodes."""
        self._windows, self._node_windows = Windows(1.0), Windows(1.0)
        self._past = Past(self._windows, [w for w in needs.windows if not of_host(w.series)])
        self._node_past = Past(self._node_windows, [w for w in needs.windows if of_host(w.series)])
        self._row_jobs = RowJobs()
        self._events = EventColumns(hearing, needs.events)
        self._place = {one: at for at, one in enumerate(self.series)}
        self._node_place = {one: at for at, one in enumerate(self.node_series)}
        self._values: Floats = np.full((len(self.series), roster.size), math.nan)
        self._node_values: Floats = np.full((len(self.node_series), roster.node_size), math.nan)
        self._unread_since: Floats = np.full(roster.size, math.nan)
        """By row: since when `device_up` is 0, Unix seconds; NaN where it is not."""
        self._read_at: Floats = np.full(roster.size, -math.inf)
        """By row: when it was read last, Unix seconds."""
        self._said_lost_at: Floats = np.full(roster.size, -math.inf)
        """By row: when a log said last that it is lost, Unix seconds."""
        self._hearing, self._heard = hearing, 0
        self._numbers: dict[Key, Floats] = {}
        self._standing = StandingTexts()
        self._groups: dict[str, tuple[object, Groups]] = {}
        self._now = 0.0
        self.here: Bools = roster.here
        self._current: Bools = roster.here
        self._node_current: Bools = roster.here
        self._state: Places = np.zeros(0, dtype=np.intp)
        self._node_state: Places = np.zeros(0, dtype=np.intp)

    def tell(self, now: float, devices: Iterable[Told], nodes: Iterable[Told]) -> None:
        """Samples that have come since; `now` in Unix seconds."""
        roster = self._roster
        self._now = now
        self._values = grown(self._values, roster.size, math.nan)
        self._node_values = grown(self._node_values, roster.node_size, math.nan)
        self._unread_since = grown(self._unread_since, roster.size, math.nan)
        self._read_at = grown(self._read_at, roster.size, -math.inf)
        for told in devices:
            self._values[:, told.entity] = told.values
            before = self._unread_since[told.entity]
            since = np.where(np.isnan(before), told.seconds, before)
            failed = told.values[0] == 0
            self._unread_since[told.entity] = np.where(failed, since, math.nan)
            self._read_at[told.entity[~failed]] = told.seconds[~failed]
            roster.hear_devices(told.entity, told.seconds)
        for told in nodes:
            self._node_values[:, roster.hear_nodes(told.entity, told.seconds)] = told.values

    def skew_s(self, number: int) -> float:
        """How far the clock of a node is ahead, seconds; 0 where nobody knows."""
        found = (
            float(self._node_values[0, number]) if number < self._node_values.shape[1] else math.nan
        )
        return 0.0 if math.isnan(found) else found

    async def bring(self, work: LongWork) -> None:
        """Take samples for the windows, and say how everybody is."""
        roster = self._roster
        self._numbers = {}
        self.here = roster.here.copy()
        interval_s = np.full(roster.size, self._step_s)
        self._belonging.bring(self._now)
        job = self._belonging.by("job")
        jobs = self._row_jobs.bring(job, job.codes, job.words)
        heard = Heard(len(roster.devices), roster.told_at, interval_s, roster.generation, jobs)
        self._windows.sample(self._now, heard, lambda one: self._values[self._place[one]])
        once = np.ones(roster.node_size, dtype=np.uint32)
        interval_s = np.full(roster.node_size, self._step_s)
        heard = Heard(len(roster.nodes), roster.node_told_at, interval_s, once)
        self._node_windows.sample(
            self._now, heard, lambda one: self._node_values[self._node_place[one]]
        )
        self._hear_losses()
        self._stand()
        await work.rest()
        self._events.bring()

    def _hear_losses(self) -> None:
        """Events that have come since and say that a device is lost."""
        roster = self._roster
        self._said_lost_at = grown(self._said_lost_at, roster.size, -math.inf)
        for noted in self._hearing.after(self._heard):
            self._heard = noted.sequence
            event = noted.event
            row = roster.row(noted.node, event.device_id) if says_lost(event) else None
            if row is not None:
                self._said_lost_at[row] = max(self._said_lost_at[row], event.time)

    def _stand(self) -> None:
        """States of nodes by how long they are silent, and of devices."""
        roster, limits = self._roster, Thresholds()
        age = self._now - roster.node_told_at
        late, silent = 1.5 * self._step_s + 1.0, 6.0 * self._step_s
        edges = (
            max(limits.slow_s, late),
            max(limits.stale_s, 3.0 * self._step_s),
            max(limits.down_s, silent),
        )
        of_node = _STATE_CODES[
            np.searchsorted(edges, np.nan_to_num(age, nan=math.inf), side="left")
        ]
        node_state = of_node[roster.node_of]
        self._node_state = np.where(self.here, node_state, -1)
        speaks = (node_state != NODE_STATE[ORDER[2]]) & (node_state != NODE_STATE[ORDER[3]])
        missed = roster.missed()
        # Of devices none of which is told any more, their collector is silent and they are not lost.
        told = self._now - roster.told_at <= edges[1]
        newest_s = silence_s(self._step_s)
        current = self._now - roster.told_at <= newest_s
        self._current = speaks & current & ~missed
        self._node_current = speaks & (age <= newest_s)[roster.node_of]
        state = np.full(roster.size, STATE["ok"], dtype=np.intp)
        self._stand_unread(state)
        state[~current] = -1
        state[~(speaks & told)] = STATE["stale"]
        state[missed & speaks] = np.where(self._node_current, STATE["missing"], -1)[missed & speaks]
        self._state = np.where(self.here, state, -1)

    def _stand_unread(self, state: Places) -> None:
        """States of devices that cannot be read: what was recorded of them, else how long it lasts."""
        unread = self._values[0] == 0
        failing_s = self._roster.told_at - self._unread_since
        gone = unread & are_lost(failing_s, self._said_lost_at, self._read_at)
        state[unread] = STATE[DeviceState.DEGRADED]
        state[gone] = STATE[DeviceState.LOST]
        for series, place in self._place.items():
            if series[0] == UNREADABLE and series[1] in STATE:
                state[unread & (self._values[place] == 1)] = STATE[series[1]]

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
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = self._number(key)
        return found

    def _number(self, key: Key) -> Floats:
        if key == "sample_age_s":
            return self._now - self._roster.told_at
        if isinstance(key, str):
            return np.full(self.size, math.nan)
        if of_host(key):
            place = self._node_place.get(key)
            if place is None:
                return np.full(self.size, math.nan)
            found = self._node_values[place][self._roster.node_of]
            return np.where(self._node_current, found, math.nan)
        values = np.full(self.size, math.nan)
        if key in self._place:
            values = np.where(self._current, self._values[self._place[key]], math.nan)
        instead = standing_number(key, self._state, _unknown_health(self.size))
        if instead is None:
            return values
        told = self.here & (self._current | (self._state == STATE["missing"]))
        return np.where(np.isnan(values) & told, instead, values)

    def text(self, key: str) -> Texts:
        """A field or label."""
        if key == "state":
            return self._standing.of(key, self._state)
        if key == "health":
            return self._standing.of(key, _unknown_health(self.size))
        if key == "node_state":
            return self._standing.of(key, self._node_state)
        return self._belonging.text(key)

    def window(
        self, kind: str, key: Series, seconds: int, quantile: float | None, *, of_job: bool = False
    ) -> Floats:
        """A window."""
        asked = Asked(kind, key, seconds, quantile, of_job)
        if of_host(key):
            found, current = self._by_row(self._node_past.window(asked)), self._node_current
        else:
            found, current = self._whole(self._past.window(asked)), self._current
        return found if kind == WindowKind.AGE else np.where(current, found, math.nan)

    def coverage(self, key: Series, seconds: int, *, of_job: bool = False) -> Floats:
        """Share of the samples of such a window that there are."""
        if of_host(key):
            return self._by_row(self._node_past.coverage(key, seconds))
        return self._whole(self._past.coverage(key, seconds, of_job=of_job))

    def _whole(self, values: Floats | None) -> Floats:
        if values is None:
            return np.full(self.size, math.nan)
        return grown(values, self.size, math.nan)[: self.size]

    def _by_row(self, values: Floats | None) -> Floats:
        if values is None:
            return np.full(self.size, math.nan)
        found: Floats = grown(values, self._roster.node_size, math.nan)[self._roster.node_of]
        return found

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

    def weakest(self, _rows: Places) -> Provenance:
        """All of it is from the archive."""
        return Provenance.STORE

    def groups(self, by: str) -> Groups | None:
        """Rows in groups; made anew only when somebody has moved."""
        named = self._belonging.by(by)
        kept = self._groups.get(by)
        if kept is None or kept[0] is not named:
            kept = self._groups[by] = named, Groups(named.codes, len(named.words))
        return kept[1]

    def firing(self, rule: str) -> Bools | None:
        """Where another rule is firing."""
        return self._firing(rule)

    def close(self) -> None:
        """Let go of the windows."""
        self._past.close()
        self._node_past.close()


def _of_devices(series: Iterable[Series]) -> frozenset[Series]:
    return frozenset(one for one in series if not of_host(one))


def _unknown_health(size: int) -> Places:
    return np.full(size, HEALTH[Health.UNKNOWN], dtype=np.intp)
