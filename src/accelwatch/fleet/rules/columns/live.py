"""The hub's table as rules read it: the present state of all devices, refreshed for each tick."""

import math

import numpy as np

from accelwatch.base.absence import reason_of
from accelwatch.base.slices import LongWork
from accelwatch.detection.findings.finding import Finding
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.needs import Needs, WindowNeed
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS
from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.expr.vocabulary.rule_names import HEALTH_REASON, ODD, of_host
from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.fleet.rules.columns.columns import Indices, Texts
from accelwatch.fleet.rules.columns.detector_facts import DetectorFacts, Generations
from accelwatch.fleet.rules.columns.event_columns import EventColumns, IsNew
from accelwatch.fleet.rules.columns.event_history import FleetEventHistory
from accelwatch.fleet.rules.columns.groups import Groups
from accelwatch.fleet.rules.columns.hosts import Hosts
from accelwatch.fleet.rules.columns.identity_columns import IdentityColumns
from accelwatch.fleet.rules.columns.row_status import NO_ROWS, row_status
from accelwatch.fleet.rules.columns.rule_context import Firing
from accelwatch.fleet.rules.columns.rule_windows import RuleWindows
from accelwatch.fleet.rules.columns.texts.health_reasons import HealthReasons
from accelwatch.fleet.rules.columns.texts.odd import OddTexts
from accelwatch.fleet.rules.columns.texts.status import StatusTexts
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.fleet_status import full_status, refresh_nodes, status_number
from accelwatch.fleet.state.nodes.tracing import of_value
from accelwatch.fleet.state.rows.groups import Groups as Belonging
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.state_codes import NODE_STATES
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.provenance import ORDER, Provenance


class FleetColumns:
    """All rows of the table at the beginning of a tick, empty ones too: `here` says which are devices.

    What a device or its host said more than two intervals ago is missing, whatever its node is called
    then; how long a value has been missing (`age`) and the state of the node are known. A device that
    several jobs share counts to the first by name.
    """

    def __init__(
        self,
        fleet: Fleet,
        needs: Needs,
        firing: Firing | None = None,
        is_new: IsNew = lambda _: True,
        *,
        adds_samples: bool = True,
        wall_offset: float | None = None,
    ) -> None:
        """Of several columns of a fleet only those of the rules add samples to its windows.

        `wall_offset` is Unix seconds at monotonic 0; else by the clocks of now.

        Raises WindowsError when the windows of `needs` need too much memory.
        """
        self._fleet = fleet
        self._adds_samples = adds_samples
        self._firing = firing
        self._series = frozenset(series for series in needs.series if not of_host(series))
        self._rule_windows = RuleWindows(
            fleet.table.windows, [need for need in needs.windows if not of_host(need.series)]
        )
        self._hosts = Hosts(fleet, needs)
        self._events = EventColumns(FleetEventHistory(fleet), needs.events, is_new)
        labels = [f"labels.{label}" for label in needs.labels]
        # The evidence of a fold names a member.
        self._identity = IdentityColumns(fleet, ["node", "name", *needs.fields, *labels])
        # By key, with the membership that it was made of: another membership is another object.
        self._groups: dict[str, tuple[Belonging, Groups]] = {}
        # Columns of the present tick; `refresh` drops them.
        self._numbers: dict[Key, Floats] = {}
        self._status_texts = StatusTexts()
        self._reasons = HealthReasons(fleet)
        self._odd = OddTexts(fleet)
        self._needs_odd = ODD in needs.fields
        by_clocks = fleet.clock.wall() - fleet.clock.monotonic()
        self._wall_offset = by_clocks if wall_offset is None else wall_offset
        self._now = fleet.clock.wall()
        self.detector_facts = DetectorFacts()
        # By row, of the newest `refresh`: another number says that somebody else is in it.
        self.generations: Generations = np.zeros(0, dtype=np.uint32)
        self._status = NO_ROWS

    @property
    def here(self) -> Bools:
        """Which rows are devices, present or expected."""
        return self._status.here

    async def refresh(self, work: LongWork) -> None:
        """Refresh everything, and add samples to the windows."""
        fleet = self._fleet
        needed = self._series | set(fleet.table.windows.series)
        nodes = await refresh_nodes(fleet, needed, work.yield_control)
        if self._adds_samples:
            fleet.table.sample(fleet.clock.monotonic(), fleet.groups.jobs())
        # Before anything is read of the rows: who comes meanwhile is unknown, and no other.
        self.generations = fleet.table.rows.generation.copy()
        self.detector_facts.refresh(self.generations)
        status = await full_status(fleet, nodes, work.yield_control)
        self._now = self._wall_offset + fleet.clock.monotonic()
        self._numbers = {}
        self._status = row_status(status, fleet.table.rows.size)
        await self._hosts.refresh(work)
        for _ in self._rule_windows.prepare():
            await work.yield_control()
        await self._identity.refresh(np.flatnonzero(self.here), work)
        self._events.refresh(self._now)
        if self._needs_odd:
            await self._fleet.odd.refresh(work)

    def close(self) -> None:
        """Let go of the windows."""
        self._rule_windows.close()

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.here)

    @property
    def now(self) -> float:
        """Unix seconds as if nobody had set the clock since we began: events are as old as they are."""
        return self._now

    def number(self, key: Key) -> Floats:
        """A quantity of the device or its host, or a field that is a number."""
        column = self._numbers.get(key)
        if column is None:
            column = self._numbers[key] = self._number(key)
        return column

    def _number(self, key: Key) -> Floats:
        if key in DETECTOR_FIELDS:
            return self.detector_facts.number(str(key), self.size)
        if isinstance(key, str):
            return (
                self._status.age_s
                if key == "sample_age_s"
                else self._padded(self._identity.number(key, self.size))
            )
        if of_host(key):
            return self._hosts.number(key, self.size)
        values = self._padded(self._fleet.table.planes.column(key).values)
        values = np.where(self._status.current, values, math.nan)
        instead = status_number(key, self._status.state, self._status.health)
        if instead is None:
            return values
        return np.where(np.isnan(values) & self._status.current, instead, values)

    def text(self, key: str) -> Texts:
        """A field or label."""
        if key in DETECTOR_FIELDS:
            return self.detector_facts.text(key, self.size)
        if key == "state":
            return self._status_texts.of(key, self._status.state)
        if key == "health":
            return self._status_texts.of(key, self._status.health)
        if key == "node_state":
            return self._status_texts.of(key, self._status.node_state)
        if key == HEALTH_REASON:
            return self._reasons.texts(self._status.health)
        if key == ODD:
            return self._odd.texts(self.here)
        texts = self._identity.text(key, self.size)
        if len(texts.codes) == self.size:
            return texts
        return Texts(texts.codes[: self.size], texts.values)

    def window(
        self, kind: str, key: Series, seconds: int, quantile: float | None, *, of_job: bool = False
    ) -> Floats:
        """A window."""
        request = WindowNeed(kind, key, seconds, quantile, of_job)
        if of_host(key):
            return self._hosts.window(request, self.size)
        values = self._padded(self._rule_windows.window(request))
        # A window that ends in a silence says nothing of now; `age` says how long that lasts.
        return (
            values if kind == WindowKind.AGE else np.where(self._status.current, values, math.nan)
        )

    def coverage(self, key: Series, seconds: int, *, of_job: bool = False) -> Floats:
        """Share of the samples of such a window that there are."""
        if of_host(key):
            return self._hosts.coverage(key, seconds, self.size)
        return self._padded(self._rule_windows.coverage(key, seconds, of_job=of_job))

    def _padded(self, values: Floats | None) -> Floats:
        if values is None:
            return np.full(self.size, math.nan)
        return grown(values, self.size, math.nan)[: self.size]

    def last(self, pattern: EventPattern) -> Floats:
        """Unix seconds of the last match."""
        return self._events.last(pattern, self.size)[: self.size]

    def newest(self, pattern: EventPattern) -> float:
        """When a pattern was matched last by anybody."""
        return self._events.newest(pattern)

    def occurrences(self, pattern: EventPattern, seconds: int) -> Floats:
        """How many matches there were."""
        return self._events.occurrences(pattern, self._now - seconds, self.size)[: self.size]

    def latest(self, pattern: EventPattern, row: int) -> ErrorEvent | None:
        """The last match of a row."""
        return self._events.latest(pattern, row)

    def absence(self, row: int, key: Key) -> str:
        """Why a row has no current value."""
        state = NODE_STATES[int(self._status.node_state[row])]
        if isinstance(key, tuple) and not self._status.speaks[row]:
            return f"its node is {state}"
        if (isinstance(key, tuple) or key in ("state", "health")) and not self._status.current[row]:
            return "nothing has been received for more than two of its intervals"
        table = self._fleet.table
        device = table.present[row]
        if isinstance(key, tuple) and of_host(key):
            node = self._fleet.nodes.get(table.at_number[int(table.node[row])].node)
            device = None if node is None else node.host
            if device is None:
                return "its node reports nothing about the host"
        elif device is None:
            return "the device is missing"
        return reason_of(device.reading().absent, key) if isinstance(key, tuple) else ""

    def provenance(self, row: int, key: Key | None) -> Provenance:
        """The class of the source of a row's value."""
        table = self._fleet.table
        node = self._fleet.nodes.get(table.at_number[int(table.node[row])].node)
        if key is None or node is None:
            return ORDER[int(table.provenance[row])]
        return of_value(node, table.present[row], key)

    def weakest(self, rows: Indices) -> Provenance:
        """The weakest class of source among rows."""
        return ORDER[int(self._fleet.table.provenance[rows].max(initial=0))]

    def groups(self, by: str) -> Groups | None:
        """Rows in groups; recomputed only when a device has moved."""
        belonging = self._fleet.groups.by(by)
        kept = self._groups.get(by)
        if kept is not None and kept[0] is belonging and len(kept[1].codes) == self.size:
            return kept[1]
        codes = belonging.of_row[: self.size].astype(np.intp)
        come_since = (codes >= 0) & ~self.here
        codes[come_since] = -1
        made = Groups(codes, len(belonging.names))
        if not come_since.any():
            self._groups[by] = belonging, made
        return made

    def finding(self, subject: str, row: int, /) -> Finding | None:
        """What the detector has found of a row."""
        return self.detector_facts.of_row(subject, row)

    def firing(self, rule: str) -> Bools | None:
        """Where another rule is firing."""
        return None if self._firing is None else self._firing(rule)
