"""All that a detector knows as a snapshot, and a detector that goes on with one.

Rows are renumbered after a restart, and some come late: a history is restored some of its rows at a
time, before the tick of the frame that has them.
"""

import math
from collections.abc import Mapping, Set

import msgspec
import numpy as np

from accelwatch.detection.arrays import Bools
from accelwatch.detection.baselines.state_arrays import Array, Arrays, Moves, StateArrays, move
from accelwatch.detection.detector import Detector
from accelwatch.detection.frame import Frame
from accelwatch.detection.fusion import fuse as fusion
from accelwatch.detection.saving import conclusions, row_state
from accelwatch.detection.saving.conclusions import Findings
from accelwatch.detection.saving.row_state import RowDocument
from accelwatch.detection.saving.snapshot import Snapshot
from accelwatch.detection.signals.layout import NODE_LAYOUT

# The documents of a detector.
ROWS, FINDINGS = "rows", "findings"
# Since when something lasts, and for how many ticks. Over a time in which nobody looked it is not known
# whether it has lasted.
_LASTING = frozenset({"since", "calm_since", "ticks", "waits"})
# What a counter of a node had counted, and when it was read.
_OF_COUNTERS = ("nodes/passes.rows.raw", "nodes/passes.rows.read_at")
# As long as a sample stands for what is now.
_INTERVALS = 3.0


class UnusableSnapshotError(ValueError):
    """A snapshot that no detector of this version wrote."""


def documents_of(detector: Detector) -> dict[str, msgspec.Struct]:
    """What is no array, by name, to be encoded as MessagePack."""
    jobs = detector.fusion.job_names if detector.fusion is not None else ()
    return {
        ROWS: row_state.document_of(detector.rows),
        FINDINGS: conclusions.document_of(detector.merging, jobs),
    }


def arrays_of(detector: Detector) -> StateArrays:
    """All arrays. They belong to the detector, so that they are copied before the next tick."""
    state = StateArrays.empty()
    state.add("passes", row_state.arrays_of(detector.rows))
    state.add("channels", detector.channels.state_arrays())
    state.add("fusion", conclusions.arrays_of(detector.fusion or fusion.fresh(math.nan)))
    return state


def named(state: StateArrays) -> Arrays:
    """The arrays by one name each, as a snapshot has them."""
    return {
        f"{kind}/{name}": array
        for kind, arrays in state._asdict().items()
        for name, array in arrays.items()
    }


def without_counters(arrays: Arrays, nodes: Bools) -> Arrays:
    """The arrays as a snapshot has them, without what some counters of nodes had counted.

    `nodes` is bool[signals, M]. Such a counter restarts after a restart, as one that was never read.
    """
    counters = nodes[NODE_LAYOUT.counters]
    if not counters.any():
        return arrays
    without = {}
    for name in _OF_COUNTERS:
        saved = arrays[name]
        width = min(saved.shape[1], counters.shape[1])
        without[name] = saved.copy()
        without[name][:, :width][counters[:, :width]] = np.nan
    return {**arrays, **without}


class SavedDetector:
    """What a snapshot holds, for a detector that has not had a frame yet."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Raises UnusableSnapshotError for what does not fit a detector of now."""
        try:
            self._rows = msgspec.msgpack.decode(snapshot.documents[ROWS], type=RowDocument)
            self._findings = msgspec.msgpack.decode(snapshot.documents[FINDINGS], type=Findings)
        except KeyError as error:
            raise UnusableSnapshotError(f"it has no {error}") from error
        except msgspec.MsgspecError as error:
            raise UnusableSnapshotError(f"its documents cannot be read: {error}") from error
        self._arrays = _arrays(snapshot.arrays)
        self._check()
        self._rehearse()
        # Unix seconds of the last tick.
        self.now = float(self._arrays.other["passes.now"].astype(np.float64)[0])

    @property
    def devices(self) -> int:
        """How many rows of devices there are."""
        return len(self._arrays.other["passes.devices.code"])

    @property
    def nodes(self) -> int:
        """How many rows of nodes there are."""
        return len(self._rows.jobs)

    def restore(self, detector: Detector, frame: Frame, moves: Moves, awaited: Set[str]) -> None:
        """Give rows that have come their past, before the tick of `frame`.

        `awaited` are names of nodes that have not come yet: their findings stay as they are until then.
        """
        if detector.fusion is None:
            if frame.now - self.now > _INTERVALS * frame.interval_s:
                _interrupt(self._arrays)
            detector.fusion = conclusions.fusion_of(
                self._findings, _own("fusion", self._arrays.other)
            )
            detector.merging = conclusions.merging_of(self._findings)
        row_state.fit(detector.rows, frame)
        detector.channels.fit(frame)
        detector.fusion = conclusions.fitted(detector.fusion, frame)
        now = arrays_of(detector)
        move(self._arrays.devices, now.devices, moves.devices)
        move(self._arrays.nodes, now.nodes, moves.nodes)
        row_state.restore(detector.rows, self._rows, _own("passes", self._arrays.other), moves)
        detector.channels.restore(_own("channels", self._arrays.other), moves)
        names = {frame.names.nodes[row] for row in moves.nodes[moves.nodes >= 0].tolist()}
        merging = conclusions.with_accused(detector.merging, self._findings, names)
        detector.merging = merging._replace(awaited=frozenset(awaited))

    def _check(self) -> None:
        """Whether names, types and leading axes are those of a detector of now."""
        for kind, saved, now in zip(
            StateArrays._fields, self._arrays, arrays_of(Detector()), strict=True
        ):
            if differing := saved.keys() ^ now.keys():
                raise UnusableSnapshotError(
                    f"arrays are missing or unknown: {', '.join(sorted(differing))}"
                )
            for name, array in now.items():
                like = saved[name].shape[:-1] == array.shape[:-1] and len(saved[name].shape) > 0
                if not like or saved[name].dtype.kind != array.dtype.kind:
                    raise UnusableSnapshotError(f"{kind}/{name} is another array")
        self._check_lengths()

    def _rehearse(self) -> None:
        """Restore it where nobody has come, so that nothing fails halfway later."""
        detector = Detector()
        nobody = Moves(np.full(self.devices, -1), np.full(self.nodes, -1))
        try:
            conclusions.fusion_of(self._findings, _own("fusion", self._arrays.other))
            row_state.restore(detector.rows, self._rows, _own("passes", self._arrays.other), nobody)
            detector.channels.restore(_own("channels", self._arrays.other), nobody)
        except (KeyError, ValueError, IndexError) as error:
            raise UnusableSnapshotError(f"its arrays do not fit one another: {error}") from error

    def _check_lengths(self) -> None:
        other = self._arrays.other
        rows = ((self._arrays.devices, self.devices), (self._arrays.nodes, self.nodes))
        groups = (
            ("passes.devices.", self._rows.device_groups),
            ("passes.nodes.", self._rows.node_groups),
        )
        lengths = [(array, count) for arrays, count in rows for array in arrays.values()]
        lengths.append((other["passes.nodes.code"], self.nodes))
        for prefix, keys in groups:
            codes = other[f"{prefix}code"].astype(np.intp)
            if not ((codes >= -1) & (codes < len(keys))).all():
                raise UnusableSnapshotError("rows are in groups that are not there")
            lengths += [
                (other[name], len(keys)) for name in other if name.startswith(f"{prefix}groups.")
            ]
        if any(array.shape[-1] != count for array, count in lengths):
            raise UnusableSnapshotError("its arrays are not as long as its rows and groups")


def _arrays(arrays: Mapping[str, Array]) -> StateArrays:
    state = StateArrays.empty()
    for name, array in arrays.items():
        kind, _, own = name.partition("/")
        if kind not in StateArrays._fields:
            raise UnusableSnapshotError(f"an array of another version: {name}")
        getattr(state, kind)[own] = array
    return state


def _own(component: str, arrays: Arrays) -> Arrays:
    prefix = f"{component}."
    return {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}


def _interrupt(state: StateArrays) -> None:
    """Reset what lasted."""
    for arrays in state:
        for name, array in arrays.items():
            if name.rpartition(".")[2] in _LASTING:
                array[...] = -1 if array.dtype.kind == "i" else math.nan
