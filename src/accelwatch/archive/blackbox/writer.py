"""One folder's black box at work: snapshots go into the ring, triggers freeze it. For one thread.

A full disk, a folder that may not be written or that another process writes costs the box and one
sentence in the log, never anything else; it is tried again.
"""

import logging
import os
from pathlib import Path

from accelwatch.archive.blackbox.bounds import Bounds
from accelwatch.archive.blackbox.files import lock, short_boot
from accelwatch.archive.blackbox.freezer import Freezer
from accelwatch.archive.blackbox.ring import Ring
from accelwatch.archive.blackbox.triggers import MACHINE_DOWN, Trigger, Watch
from accelwatch.base.errors import AccelwatchError
from accelwatch.schema.snapshot import Snapshot
from accelwatch.system.files.file_rights import make_state_folder

logger = logging.getLogger(__name__)

_TRY_AGAIN_S = 60.0
_MOST_UNNOTED = 64


class Writer:
    """Keeps a folder that it locks; waits while another process has it."""

    def __init__(
        self, folder: Path, bounds: Bounds | None = None, *, detect_restart: bool = True
    ) -> None:
        """`detect_restart`: whether a writer that ended uncleanly before this boot means that the
        machine went down."""
        self._folder = folder
        self._bounds = bounds or Bounds()
        self._detect_restart = detect_restart
        self._watch = Watch()
        self._lock: int | None = None
        self._ring: Ring | None = None
        self._freezer: Freezer | None = None
        self._last = float("-inf")
        self._not_before = float("-inf")
        self._reported_trouble = False
        # Triggers that came while nothing could be written.
        self._unnoted: list[Trigger] = []
        # Why nothing is kept now; empty when all is well.
        self.trouble = ""

    def record(self, snapshot: Snapshot) -> None:
        """Keep a snapshot, unless the one before is too near; trouble is logged and tried again."""
        now = snapshot.time
        self._unnoted = [*self._unnoted, *self._watch.detect_triggers(snapshot)][-_MOST_UNNOTED:]
        near = 0 <= now - self._last < 0.9 * self._bounds.step_s
        if (near and not self._unnoted) or self._waits(now):
            return
        self._last = now
        try:
            if self._open(snapshot):
                self._store(snapshot)
                self._log_trouble("")
        except (OSError, AccelwatchError) as error:
            self._not_before = now + _TRY_AGAIN_S
            self._log_trouble(_error_text(error))

    def _waits(self, now: float) -> bool:
        """Whether it is too early for a retry; a clock that was set back does not lengthen it."""
        return now < self._not_before <= now + _TRY_AGAIN_S

    def _open(self, snapshot: Snapshot) -> bool:
        """Whether the folder is ours; the first time, what an earlier writer left is put in order."""
        if self._ring is not None:
            return True
        make_state_folder(self._folder)
        if self._lock is None:
            self._lock = lock(self._folder)
        if self._lock is None:
            self._not_before = snapshot.time + _TRY_AGAIN_S
            self.trouble = "another program of this machine keeps it"
            return False
        ring, self._freezer = Ring(self._folder, self._bounds), Freezer(self._folder, self._bounds)
        last = ring.repair()
        if last is not None and self._detect_restart and self._freezer.pending is None:
            self._note_restart(ring, snapshot, last)
        self._ring = ring
        for path, error in ring.unrepaired.items():
            logger.warning(
                "a segment of a killed writer is not repaired and stays until the next start "
                "file=%s error=%s",
                path,
                error,
            )
        return True

    def _note_restart(self, ring: Ring, snapshot: Snapshot, last: float) -> None:
        """A writer that was killed in an earlier boot: the machine went down with it."""
        assert self._freezer is not None
        boots = {segment.boot for segment in ring.left if segment.boot}
        if not snapshot.boot_id or not boots or short_boot(snapshot.boot_id) in boots:
            return
        text = "the machine went down, or was reset, without a clean stop"
        self._freezer.note([Trigger(time=last, reason=MACHINE_DOWN, text=text)])

    def _store(self, snapshot: Snapshot) -> None:
        assert self._ring is not None
        assert self._freezer is not None
        self._freeze_due(snapshot.time)
        triggers, self._unnoted = self._unnoted, []
        is_new = bool(triggers) and self._freezer.note(triggers)
        self._ring.write(snapshot)
        if is_new:
            self._ring.close_segment()  # on the disk for certain, whatever becomes of the machine
        self._ring.prune(snapshot.time, self._freezer.since)

    def _freeze_due(self, now: float) -> None:
        ring, freezer = self._ring, self._freezer
        assert ring is not None
        assert freezer is not None
        if freezer.pending is None or not freezer.due(now):
            return
        first = freezer.pending.first
        ring.close_segment()
        since = first.time - self._bounds.before_s
        if now - first.time > 2 * self._bounds.before_s and not ring.files(since):
            freezer.give_up()
            return
        path = freezer.freeze(ring.files(since), now)
        if path is not None:
            logger.warning("black box frozen reason=%s file=%s", first.reason, path)

    def _log_trouble(self, trouble: str) -> None:
        """Log a change only."""
        before, self.trouble = self._reported_trouble, trouble
        self._reported_trouble = bool(trouble)
        if bool(trouble) is before:
            return
        if trouble:
            logger.warning(
                "the black box keeps nothing now, tried again every minute folder=%s error=%s",
                self._folder,
                trouble,
            )
        else:
            logger.info("the black box keeps again folder=%s", self._folder)

    def close(self) -> None:
        """End in order, so that what is kept does not look like a crash."""
        try:
            if self._ring is not None:
                self._ring.close()
        except (OSError, AccelwatchError) as error:
            self._log_trouble(_error_text(error))
        finally:
            self._ring = None
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None


def _error_text(error: OSError | AccelwatchError) -> str:
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return str(error)
