"""The ring: recordings of three minutes each, of which the oldest go. For one thread.

A segment of a killed writer is read to its last whole document and rewritten, so that all files of
the ring end as a recording should and can be joined as they are.
"""

from pathlib import Path

from accelwatch.archive.blackbox.bounds import Bounds
from accelwatch.archive.blackbox.files import Segment, partial_path, segment_path, segments
from accelwatch.archive.recording import Recorder
from accelwatch.base.errors import AccelwatchError, WireError
from accelwatch.schema.snapshot import Snapshot

# How often the folder is scanned in the time of a segment, besides when one has ended.
_SCANS = 10


class Ring:
    """Owns the segments of a folder that nobody else writes to. All methods may raise OSError."""

    def __init__(self, folder: Path, bounds: Bounds) -> None:
        self._folder = folder
        self._bounds = bounds
        self._recorder: Recorder | None = None
        self._started = 0.0
        existing = segments(folder)
        self._number = max((segment.number for segment in existing), default=0)
        # What a writer that was killed has left, as it was.
        self.left = tuple(segment for segment in existing if segment.left)
        # Of that, what could not be rewritten, and why: it stays for the next start.
        self.unrepaired: dict[Path, str] = {}
        # When the folder was scanned; None: not since the last segment ended.
        self._pruned: float | None = None

    def repair(self) -> float | None:
        """Rewrite what a killed writer left; the time of its last document, None without any."""
        last = None
        for segment in self.left:
            try:
                last = self._repair_segment(segment)
            except WireError:  # it holds nothing that could be kept
                segment.path.unlink(missing_ok=True)
            except AccelwatchError as error:
                self.unrepaired[segment.path] = str(error)
        return last

    def _repair_segment(self, segment: Segment) -> float:
        """The time of its last document. Raises AccelwatchError; then the segment is as it was."""
        from accelwatch.archive.recording.repair import repair  # after a crash only

        fresh = segment.path.with_name(segment.path.name.removesuffix(".part"))
        aside = segment.path.with_name("mending.ndjson.zst")
        for stale in (aside, partial_path(aside)):
            stale.unlink(missing_ok=True)
        last = repair(segment.path, aside).last
        aside.replace(fresh)
        segment.path.unlink(missing_ok=True)
        return last

    def write(self, snapshot: Snapshot) -> None:
        """Append a snapshot. Raises AccelwatchError; the next snapshot then starts a new segment."""
        length = abs(snapshot.time - self._started)
        if self._recorder is not None and (
            length >= self._bounds.segment_s or self._recorder.bytes >= self._bounds.segment_bytes
        ):
            self.close_segment()
        if self._recorder is None:
            self._number += 1
            self._started = snapshot.time
            path = segment_path(self._folder, self._number, snapshot.time, snapshot.boot_id)
            self._recorder = Recorder(path, max_bytes=1 << 40, keep=1)
        try:
            self._recorder.write(snapshot)
        except AccelwatchError:
            self._recorder = None
            raise

    def close_segment(self) -> None:
        """What was written is on the disk for certain from here on. Raises AccelwatchError too."""
        recorder, self._recorder = self._recorder, None
        self._pruned = None
        if recorder is not None:
            recorder.close()

    def files(self, since: float) -> list[Segment]:
        """Finished segments that reach beyond a moment, oldest first."""
        finished = [segment for segment in segments(self._folder) if not segment.left]
        end_times = [segment.started for segment in finished[1:]]
        return [
            segment
            for position, segment in enumerate(finished)
            if position >= len(end_times) or end_times[position] > since
        ]

    def prune(self, now: float, keep_since: float | None = None) -> None:
        """Let go of what is older than wanted, but for what is from `keep_since` on, and of too much.

        A segment from the future, of a clock that was set back since, is as old as one from the past.
        """
        if self._pruned is not None and abs(now - self._pruned) < self._bounds.segment_s / _SCANS:
            return
        self._pruned = now
        finished = [segment for segment in segments(self._folder) if not segment.left]
        end_times = [segment.started for segment in finished[1:]]
        for segment, end in zip(finished, end_times, strict=False):
            kept = keep_since is not None and end >= keep_since
            if abs(now - end) > self._bounds.before_s and not kept:
                segment.path.unlink()
        finished = [segment for segment in segments(self._folder) if not segment.left]
        while finished and sum(remaining.bytes for remaining in finished) > self._bounds.ring_bytes:
            finished.pop(0).path.unlink()

    def close(self) -> None:
        """End the segment that is being written. Raises AccelwatchError when that fails."""
        self.close_segment()
