"""Frames for the detector out of the columns of rules: of a hub's table or of an archive."""

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from accelwatch.archive.detector.row_identities import RowIdentities
from accelwatch.base.slices import LongWork
from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.device_states import DEVICE_STATES
from accelwatch.detection.frame import DeviceState, Frame, FrameEvent, Names
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.folding import FoldedSignal, sources_of
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.signals.signal import SignalRow
from accelwatch.expr.needs import Needs
from accelwatch.fleet.detection.identities import DeviceRows, NodeRows, row_values, same_columns
from accelwatch.fleet.detection.sources import STAGE_LABEL, UPTIME, needs_of
from accelwatch.fleet.detection.states import NODE_STATES, codes_of
from accelwatch.fleet.rules.columns.columns import Texts
from accelwatch.fleet.rules.columns.event_columns import EventHistory
from accelwatch.fleet.rules.columns.rule_context import TableViews
from accelwatch.fleet.state.evidence.board import STANDS
from accelwatch.schema.event import severity
from accelwatch.schema.metrics import Series

# Those of nodes that are in an announced window of maintenance; Unix seconds.
InMaintenance = Callable[[Sequence[str], float], Collection[str]]
# Agents send what they remember when they are connected; rules too leave out what is older.
_RECENT_S = 600.0


class Frames:
    """One after the other, of columns that were brought to the moment before.

    The history of rows is here, so a fleet has one of these, called once a tick.
    """

    def __init__(
        self,
        history: EventHistory,
        interval_s: float,
        existing: Iterable[Series] = (),
        in_maintenance: InMaintenance = lambda _nodes, _now: (),
        *,
        signals: tuple[Sequence[SignalRow], Sequence[SignalRow]] = (DEVICE_SIGNALS, NODE_SIGNALS),
    ) -> None:
        """`interval_s` between samples; `existing` are the series that anybody has, which labels of
        signals are looked up in; `signals` of devices and of nodes.
        """
        existing_series = frozenset(existing)
        self._devices, self._nodes = (
            [FoldedSignal(signal, sources_of(signal, existing_series)) for signal in table]
            for table in signals
        )
        # What the columns have to provide.
        self.needs: Needs = needs_of(each.sources for each in (*self._devices, *self._nodes))
        self._history, self.interval_s = history, interval_s
        self._in_maintenance = in_maintenance
        self._node_rows, self._device_rows = NodeRows(), DeviceRows()
        self._names = Names((), (), (), (), ())
        # The columns of ids and names at the frame before.
        self._device_texts: tuple[Texts, ...] = ()
        self._size = 0
        self._node_of: Indices = np.zeros(0, dtype=np.intp)
        # bool[N]: the rows that were devices at the frame before.
        self._here: Bools = np.zeros(0, dtype=np.bool_)
        # Of the newest event that a frame has had.
        self._sequence = 0

    def extend(self, existing: Collection[Series]) -> bool:
        """Read signals of these series too, from the next frame on; whether that changes `needs`."""
        changed = False
        for signal in (*self._devices, *self._nodes):
            sources = sources_of(signal.signal, {*existing, *signal.sources})
            if sources != signal.sources:
                signal.extend(sources)
                changed = True
        if changed:
            self.needs = needs_of(each.sources for each in (*self._devices, *self._nodes))
        return changed

    async def frame(self, columns: TableViews, work: LongWork) -> Frame:
        """The tick that columns are at."""
        # Rows do not become fewer: a history is kept by the row.
        here = columns.here
        self._size = max(self._size, int(np.flatnonzero(here).max(initial=-1)) + 1)
        size, now = self._size, columns.now
        here = here[:size]
        first = self._assign_nodes(columns.text("node"), here)
        device_generation, node_generation = self._generations(columns, first, here)
        job, stage, model = (columns.text(key) for key in ("job", f"labels.{STAGE_LABEL}", "model"))
        names = self._named(columns, (job, stage, model), here)
        sampled = now - columns.number("sample_age_s")[:size]
        device_sampled = np.where(np.isnan(sampled), -np.inf, sampled)
        node_sampled = np.full(len(first), -np.inf)
        np.maximum.at(node_sampled, self._node_of[here], device_sampled[here])
        device_state = codes_of(columns.text("state"), DEVICE_STATES, np.arange(size))
        # A row without a device is nobody's concern.
        device_state[~here] = DeviceState.AWAY
        return Frame(
            now=now,
            interval_s=self.interval_s,
            names=names,
            devices=await _table(columns, self._devices, np.arange(size), work),
            nodes=await _table(columns, self._nodes, first, work),
            device_sampled=device_sampled,
            node_sampled=node_sampled,
            node_of=self._node_of,
            job=np.where(here, job.codes[:size], -1),
            stage=np.where(here, stage.codes[:size], -1),
            model=np.where(here, model.codes[:size], -1),
            device_generation=device_generation,
            node_generation=node_generation,
            device_state=device_state,
            node_state=codes_of(columns.text("node_state"), NODE_STATES, first),
            maintenance=self._maintained(names.nodes, now),
            events=tuple(self._events(names, now)),
        )

    def identities(self) -> RowIdentities:
        """Who stands in the rows of the newest frame."""
        *_, uuid, serial = self._device_rows.texts or [np.zeros(0, dtype=object)] * 4
        return RowIdentities(
            self._names.nodes,
            self._node_rows.booted_at,
            self._names.devices,
            self._node_of,
            uuid,
            serial,
        )

    def shifted(self) -> Bools:
        """bool[signals, nodes]: sums that only these frames can go on with."""
        count = len(self._names.nodes)
        return np.array([signal.shifted(count) for signal in self._nodes], dtype=np.bool_)

    def restore(self, saved: RowIdentities) -> None:
        """What nodes and devices in these rows said before a restart, as far as they are silent now.

        So it is noticed when they turn out to be others.
        """
        self._node_rows.restore(saved.booted_at)
        none = np.full(len(saved.uuid), None)
        self._device_rows.restore([none, none, saved.uuid, saved.serial])

    def _assign_nodes(self, node: Texts, here: Bools) -> Indices:
        """Give every node a row; intp[nodes]: the first row of a device of it, -1 for none."""
        codes = node.codes[: len(here)]
        speaking = np.flatnonzero(here & (codes >= 0))
        present, firsts = np.unique(codes[speaking], return_index=True)
        expected = [node.values[code] for code in present.tolist()]
        changed = self._node_rows.assign(expected)
        _forget(self._nodes, changed)
        first = np.full(len(self._node_rows.names), -1, dtype=np.intp)
        row_of = np.zeros(len(node.values), dtype=np.intp)
        rows = np.array([self._node_rows.row(name) for name in expected], dtype=np.intp)
        first[rows] = speaking[firsts]
        row_of[present] = rows
        node_of = np.zeros(len(here), dtype=np.intp)
        node_of[: len(self._node_of)] = self._node_of
        node_of[speaking] = row_of[codes[speaking]]
        self._node_of = node_of
        return first

    def _generations(
        self, columns: TableViews, first: Indices, here: Bools
    ) -> tuple[Indices, Indices]:
        size = len(here)
        # Ids without a serial number are the same on every node.
        identity = (columns.text(key) for key in ("node", "id", "uuid", "serial"))
        changed = self._device_rows.update(identity, size)
        booted = self._node_rows.boot(columns.now, _picked(columns.number(UPTIME), first))
        of_booted = booted[self._node_of] & here if len(booted) else np.zeros(size, dtype=np.bool_)
        self._device_rows.add(of_booted & ~changed)
        _forget(self._devices, changed | of_booted)
        _forget(self._nodes, booted)
        return self._device_rows.generation, self._node_rows.generation

    def _named(self, columns: TableViews, of_codes: Sequence[Texts], here: Bools) -> Names:
        """The names, the very same object where they are the same."""
        texts = columns.text("id"), columns.text("name")
        jobs, stages, models = (texts.values for texts in of_codes)
        nodes = tuple(self._node_rows.names)
        # Thousands of texts are compared only where a column is another object.
        if same_columns(texts, self._device_texts) and np.array_equal(here, self._here):
            devices, device_names = self._names.devices, self._names.device_names
        else:
            # A row that is empty has the texts of who was there last.
            devices, device_names = (
                tuple(
                    text if present and text else ""
                    for present, text in zip(here, row_values(column, len(here)), strict=True)
                )
                for column in texts
            )
        self._device_texts, self._here = texts, here.copy()
        names = Names(nodes, devices, jobs, stages, models, device_names)
        if names != self._names:
            self._names = names
        return self._names

    def _maintained(self, nodes: Sequence[str], now: float) -> Bools:
        working = self._in_maintenance(nodes, now)
        if not working:
            return np.zeros(len(nodes), dtype=np.bool_)
        return np.array([bool(name) and name in working for name in nodes], dtype=np.bool_)

    def _events(self, names: Names, now: float) -> Iterable[FrameEvent]:
        oldest = now - _RECENT_S
        for noted in self._history.after(self._sequence):
            self._sequence = noted.sequence
            event, node = noted.event, self._node_rows.row(noted.node)
            # Standing evidence is a state that others push again and again.
            if node < 0 or STANDS in event.detail or event.time < oldest:
                continue
            rows = self._history.rows_of(noted.node, event.device_id) if event.device_id else []
            own = [
                row
                for row in rows
                if row < len(names.devices) and names.devices[row] == event.device_id
            ]
            yield FrameEvent(node, own[0] if own else -1, event, severity(event))


def _forget(signals: Iterable[FoldedSignal], rows: Bools) -> None:
    if rows.any():
        for signal in signals:
            signal.forget(rows)


async def _table(
    columns: TableViews, signals: Sequence[FoldedSignal], rows: Indices, work: LongWork
) -> Floats:
    """float64[signals, rows] of rows of columns; NaN at -1."""
    table = np.empty((len(signals), len(rows)))
    for position, signal in enumerate(signals):
        values = [_picked(columns.number(series), rows) for series in signal.sources]
        table[position] = signal.folded(values, len(rows))
        await work.yield_control()
    return table


def _picked(values: Floats, rows: Indices) -> Floats:
    """Values at rows; NaN at -1."""
    padded = np.append(values, np.nan)
    return padded[rows]
