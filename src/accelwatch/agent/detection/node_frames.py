"""Frames for the detector out of the snapshots of one node."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from accelwatch.agent.detection.device_rows import DeviceRows
from accelwatch.agent.snapshots.lookups import lookups_of, owner_names
from accelwatch.agent.snapshots.new_events import NewEvents
from accelwatch.archive.detector.row_identities import RowIdentities
from accelwatch.detection.arrays import Bools, Codes, Floats, Indices
from accelwatch.detection.device_states import DEVICE_STATES
from accelwatch.detection.frame import DeviceState, Frame, FrameEvent, Names, NodeState
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.folding import FoldedSignal, sources_of
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.signals.signal import ANY
from accelwatch.expr.rule_history import HOST
from accelwatch.expr.vocabulary.kleene import Lookup, number
from accelwatch.schema.event import severity
from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import DeviceView, Snapshot, is_awaited, physical_devices

# The kernel's log is read from its beginning, by a clock of its own that drifts from Unix time: what
# is said to be older than this was there before, and no finding of now.
RECENT_S = 120.0
# Only hosts have signals of whatever interfaces and disks there are.
_NAMES = frozenset(signal.series[0] for signal in NODE_SIGNALS if ANY in signal.series)


class NodeFrames:
    """One after the other; the past of rows is here, so of one node there is one of these."""

    def __init__(self) -> None:
        self._rows = DeviceRows()
        self._events = NewEvents()
        self._nodes = [FoldedSignal(signal, sources_of(signal, ())) for signal in NODE_SIGNALS]
        # Series of interfaces and disks that the host has had.
        self._existing: frozenset[Series] = frozenset()
        self._names = Names((), (), (), (), ())
        # Unix time less monotonic time at the first frame: a clock that is set makes no minutes.
        self._wall_offset: float | None = None
        # Unix seconds; NaN where nobody knows.
        self._booted_at = math.nan

    def frame(
        self, snapshot: Snapshot, at: float, interval_s: float, *, maintained: bool = False
    ) -> Frame:
        """A snapshot at a monotonic moment; `maintained`: somebody works on the node.

        Partitions of a device are no rows: they come and go, and are as well as the whole.
        """
        if self._wall_offset is None:
            self._wall_offset = snapshot.time - at
        now = at + self._wall_offset
        self._booted_at = math.nan if snapshot.boot_time is None else snapshot.boot_time
        views = physical_devices(snapshot.devices)
        rows = self._rows.assign([view.device for view in views])
        size = len(self._rows.ids)
        jobs = ["+".join(owner_names(view.owners, "job")) for view in views]
        models = [view.device.model or "" for view in views]
        names = self._named(snapshot.host, jobs, models)
        lookups = lookups_of(snapshot)
        device_sampled = np.full(size, -np.inf)
        device_sampled[rows] = [_sampled(view, now) for view in views]
        node_sampled = float(device_sampled.max(initial=-np.inf))
        if snapshot.node is not None:
            node_sampled = _sampled(snapshot.node, now)
        return Frame(
            now=now,
            interval_s=interval_s,
            names=names,
            devices=_device_table(lookups, views, rows, size),
            nodes=self._node_table(snapshot, lookups[HOST]),
            device_sampled=device_sampled,
            node_sampled=np.array([node_sampled]),
            node_of=np.zeros(size, dtype=np.intp),
            job=_codes(jobs, names.jobs, rows, size),
            stage=np.full(size, -1, dtype=np.intp),
            model=_codes(models, names.models, rows, size),
            device_generation=self._rows.generation,
            # An agent ends with the boot that it began in.
            node_generation=np.zeros(1, dtype=np.intp),
            device_state=_states(views, rows, size),
            node_state=np.array([NodeState.UP], dtype=np.int16),
            maintenance=np.array([maintained]),
            events=tuple(self._new_events(snapshot, at)),
            single_node=True,
        )

    def identities(self) -> RowIdentities:
        """Who stands in the rows of the newest frame."""
        uuid, serial = ([pair[position] or None for pair in self._rows.who] for position in (0, 1))
        return RowIdentities(
            self._names.nodes,
            np.array([self._booted_at]),
            self._names.devices,
            np.zeros(len(self._names.devices), dtype=np.intp),
            np.array(uuid, dtype=object),
            np.array(serial, dtype=object),
        )

    def shifted(self) -> Bools:
        """bool[signals, 1]: sums that only these frames can go on with."""
        return np.array([signal.shifted(1) for signal in self._nodes], dtype=np.bool_)

    def restore(self, saved: RowIdentities) -> None:
        """What devices in these rows said before a restart, as far as they are silent now."""
        pairs = zip(saved.uuid.tolist(), saved.serial.tolist(), strict=True)
        self._rows.restore([(uuid or "", serial or "") for uuid, serial in pairs])

    def _named(self, host: str, jobs: Sequence[str], models: Sequence[str]) -> Names:
        """The names, the very same object where they are the same."""
        names = Names(
            (host,),
            tuple(self._rows.ids),
            tuple(sorted({*jobs} - {""})),
            (),
            tuple(sorted({*models} - {""})),
        )
        if names != self._names:
            self._names = names
        return self._names

    def _node_table(self, snapshot: Snapshot, host: Lookup) -> Floats:
        """float64[signals, 1]"""
        self._extend(snapshot)
        table = np.empty((len(self._nodes), 1))
        for position, signal in enumerate(self._nodes):
            values = [np.array([_number(host, series)]) for series in signal.sources]
            table[position] = signal.folded(values, 1)
        return table

    def _extend(self, snapshot: Snapshot) -> None:
        """Read the interfaces and disks that have come; those that have gone are missing values."""
        reported = {*snapshot.own, *(snapshot.node.reading.values if snapshot.node else ())}
        existing = self._existing | {series for series in reported if series[0] in _NAMES}
        if existing == self._existing:
            return
        self._existing = existing
        for signal in self._nodes:
            sources = sources_of(signal.signal, existing)
            if sources != signal.sources:
                signal.extend(sources)

    def _new_events(self, snapshot: Snapshot, at: float) -> Iterator[FrameEvent]:
        rows = {id_: row for row, id_ in enumerate(self._rows.ids)}
        for event in self._events.of(snapshot, at):
            if snapshot.time - event.time <= RECENT_S:
                yield FrameEvent(0, rows.get(event.device_id, -1), event, severity(event))


def _sampled(view: DeviceView, now: float) -> float:
    """Unix seconds of the newest sample; minus infinity: never."""
    return -np.inf if view.sample_age_s is None else now - view.sample_age_s


def _device_table(
    lookups: Mapping[str, Lookup], views: Sequence[DeviceView], rows: Sequence[int], size: int
) -> Floats:
    """float64[signals, rows]; no signal of devices is made of several series."""
    table = np.full((len(DEVICE_SIGNALS), size), np.nan)
    for view, row in zip(views, rows, strict=True):
        lookup = lookups[view.device.id]
        table[:, row] = [_number(lookup, signal.series) for signal in DEVICE_SIGNALS]
    return table


def _number(lookup: Lookup, series: Series) -> float:
    value = number(lookup(series))
    return np.nan if value is None else float(value)


def _codes(texts: Sequence[str], names: Sequence[str], rows: Sequence[int], size: int) -> Indices:
    codes = np.full(size, -1, dtype=np.intp)
    codes[rows] = [names.index(text) if text else -1 for text in texts]
    return codes


def _states(views: Sequence[DeviceView], rows: Sequence[int], size: int) -> Codes:
    """A row without a device is nobody's concern; before its first reading nothing is known of it."""
    states = np.full(size, DeviceState.AWAY, dtype=np.int16)
    states[rows] = [
        DeviceState.UNKNOWN if is_awaited(view) else DEVICE_STATES.get(view.state, 0)
        for view in views
    ]
    return states
