"""What a detector knows, in a file: baselines are days of work and outlive a restart.

```
memory = DetectorMemory(folder / FILE)
memory.load()
for each frame, on the thread of the detector:
    memory.restore(detector, frames, frame)
    changed = detector.detect(frame)
    if memory.is_due(frame.now):
        memory.save(detector, frames)
at the end: memory.save(detector, frames)
```

All of it is for the thread that the detector is on: nobody else uses the detector and the frames
meanwhile. The loop is not held, since everything large is done in small steps or outside of Python.
"""

import logging
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from accelwatch.archive.detector.row_identities import RowIdentities, arrivals, at_rows_of_now
from accelwatch.detection.arrays import Bools
from accelwatch.detection.detector import Detector
from accelwatch.detection.frame import Frame, Names
from accelwatch.detection.saving.saved_detector import (
    SavedDetector,
    arrays_of,
    documents_of,
    named,
    without_counters,
)
from accelwatch.detection.saving.snapshot import (
    MOST_BYTES,
    Refusal,
    Snapshot,
    digest_of,
    from_bytes,
    segments,
)
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.system.files.atomic_file import remove_interrupted
from accelwatch.system.files.damaged import set_aside
from accelwatch.system.files.kept_file import KeptFile

logger = logging.getLogger(__name__)

FILE = "detector.snapshot"
# What a crash may cost, of habits that are followed over 12 hours.
SAVED_EVERY_S = 600.0
# Nodes that come later than this after a restart learn anew; nodes are read every few intervals.
AWAITED_S = 600.0
# In a week without anybody looking there were repairs and other drivers: it no longer applies.
OLDEST_S = 7 * 86400.0
# A clock that is set is set by seconds; more says that times of the past cannot be compared with now.
_AHEAD_S = 60.0
# Snapshots that are set aside. Each upgrade that changes signals leaves one, of up to MOST_BYTES, whose
# content is learned anew within days: one is for inspection, the others say whether that goes on.
MOST_ASIDE = 3
_LOSS = "the detector learns again what is usual"
_IDENTITIES = "identities"


class HasRows(Protocol):
    """Who makes the frames, and knows who stands in their rows."""

    def identities(self) -> RowIdentities:
        """Who stands in the rows of the newest frame."""
        ...

    def shifted(self) -> Bools:
        """bool[signals, rows of nodes]: sums that only these frames can go on with."""
        ...

    def restore(self, saved: RowIdentities) -> None:
        """What nodes and devices in these rows said before a restart, as far as they are silent now."""
        ...


class _Saved(NamedTuple):
    """What a file holds."""

    state: SavedDetector
    identities: RowIdentities


class _Pending(NamedTuple):
    """A saved detector, and its rows that have not come yet."""

    saved: _Saved
    devices: Bools
    nodes: Bools
    # Unix seconds.
    until: float
    # In which they were looked for last.
    names: Names | None


class DetectorMemory:
    """One detector's file; without a path, nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._file: KeptFile[_Saved] | None = None
        if path is not None:
            self._file = KeptFile(
                path, _decoded, _LOSS, most_bytes=MOST_BYTES, most_aside=MOST_ASIDE
            )
        self._has_loaded = False
        self._saved: _Saved | None = None
        self._pending: _Pending | None = None
        self._due_at: float | None = None
        self._complaint = ""

    @property
    def problem(self) -> str:
        """Why nothing is kept; empty while all is well."""
        return self._complaint or ("" if self._file is None else self._file.problem)

    def load(self) -> None:
        """Read the file, once; the first frame does where nobody has before.

        One that is damaged, of another version or of other signals is set aside, which is logged.
        """
        if self._file is not None and not self._has_loaded:
            self._has_loaded = True
            remove_interrupted(self._file.path)
            self._saved = self._file.load()

    def restore(self, detector: Detector, frames: HasRows, frame: Frame) -> None:
        """Give the rows of a frame the past that they had; before each tick, cheap when none is left.

        Rows whose device was replaced or whose node was rebooted have none, as without a restart.
        """
        if self._due_at is None:
            self.load()
            self._due_at = frame.now + SAVED_EVERY_S
            self._start(frame)
        elif detector.fusion is None:
            # Another detector, which learns anew since the one before has failed.
            self._pending = None
        pending = self._pending
        if pending is None or (frame.names is pending.names and frame.now < pending.until):
            return
        before, now = pending.saved.identities, frames.identities()
        moves, devices, nodes = arrivals(before, pending.devices, pending.nodes, now)
        if frame.now >= pending.until:
            devices, nodes = np.zeros_like(devices), np.zeros_like(nodes)
        awaited = {before.nodes[row] for row in np.flatnonzero(nodes).tolist()}
        awaited |= {before.nodes[row] for row in before.node_of[devices].tolist()}
        pending.saved.state.restore(detector, frame, moves, awaited)
        frames.restore(at_rows_of_now(before, moves, now))
        left = devices.any() or nodes.any()
        self._pending = (
            pending._replace(devices=devices, nodes=nodes, names=frame.names) if left else None
        )

    def is_due(self, now: float) -> bool:
        """Whether it is time to save, after the tick of `now` (Unix seconds)."""
        return self._due_at is not None and now >= self._due_at

    def save(self, detector: Detector, frames: HasRows) -> str:
        """Write what is known after a tick; why the file stays as it was, or empty.

        Nothing is written while rows of the file have not come yet: it knows more than the detector.
        """
        if self._file is None or self._pending is not None or detector.fusion is None:
            return ""
        self._due_at = detector.rows.now + SAVED_EVERY_S
        documents = {
            name: msgspec.msgpack.encode(document)
            for name, document in documents_of(detector).items()
        }
        documents[_IDENTITIES] = frames.identities().to_bytes()
        arrays = without_counters(named(arrays_of(detector)), frames.shifted())
        snapshot = Snapshot(detector.rows.now, documents, arrays)
        try:
            chunks = segments(snapshot, _digest())
        except ValueError as error:
            self._complain(self._file.path, str(error))
        else:
            self._complaint = self._file.save_chunks(chunks)
        return self._complaint

    def _start(self, frame: Frame) -> None:
        """Resume from the loaded past once there is a clock to date it by."""
        saved, self._saved = self._saved, None
        if saved is None:
            return
        age_s = frame.now - saved.state.now
        fault = ""
        if age_s < -_AHEAD_S:
            fault = f"it was written {-age_s:.0f} s after now; the clock has been set back"
        elif age_s > OLDEST_S:
            fault = f"it is {age_s / 86400.0:.0f} days old"
        if fault:
            self._refuse(fault)
            return
        logger.info("the detector goes on with what it knew age_s=%.0f", age_s)
        devices = np.ones(len(saved.identities.devices), dtype=np.bool_)
        nodes = np.ones(len(saved.identities.nodes), dtype=np.bool_)
        self._pending = _Pending(saved, devices, nodes, frame.now + AWAITED_S, None)

    def _refuse(self, fault: str) -> None:
        assert self._file is not None
        path = self._file.path
        try:
            aside: Path | str = set_aside(path, most=MOST_ASIDE)
        except OSError as error:
            aside = f"not set aside: {error.strerror or error}"
        logger.warning("%s path=%s fault=%s kept=%s", _LOSS, path, fault, aside)

    def _complain(self, path: Path, error: str) -> None:
        complaint = f"{path}: {error}"
        if complaint != self._complaint:
            logger.warning("the detector is kept in memory only path=%s error=%s", path, error)
        self._complaint = complaint


def _digest() -> str:
    return digest_of(DEVICE_SIGNALS, NODE_SIGNALS)


def _decoded(data: bytes) -> _Saved:
    """Raises ValueError, MsgspecError."""
    snapshot = from_bytes(data, _digest())
    if isinstance(snapshot, Refusal):
        raise ValueError(snapshot.text)
    state = SavedDetector(snapshot)
    identities = RowIdentities.from_bytes(snapshot.documents.get(_IDENTITIES, b""))
    if (len(identities.devices), len(identities.nodes)) != (state.devices, state.nodes):
        raise ValueError("its rows are not those that it names")
    return _Saved(state, identities)
