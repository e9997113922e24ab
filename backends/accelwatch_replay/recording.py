"""A recording on a time line that begins at 0; reading it is the business of `accelwatch.recording`."""

from pathlib import Path

from accelwatch.errors import AccelwatchError, BackendUnavailable, WireError
from accelwatch.recording import Recording
from accelwatch.schema.snapshot import Snapshot

_REMEDY = "set replay's option file to a recording, a folder of recordings, or a scenario"


class TimeLine:
    """Documents of a recording by their seconds from the first one. Not for several threads."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        times = recording.times()
        self._first = times[0]
        self.count = len(times)
        """Documents."""
        self.length_s = times[-1] - times[0] + recording.step_s
        self.notes = recording.notes
        """Damage in the file."""

    def at(self, position_s: float) -> int:
        """Number of the document that is current at a position."""
        return self._recording.index_at(self._first + position_s)

    def snapshot(self, number: int) -> Snapshot:
        """A document. Raises WireError."""
        return self._recording.at(number)


def read_recording(path: Path) -> TimeLine:
    """Open a recording. Raises BackendUnavailable when there is no document to play."""
    try:
        return TimeLine(Recording.open(path))
    except WireError as error:
        raise BackendUnavailable(str(error), reason="format") from error
    except AccelwatchError as error:
        raise BackendUnavailable(str(error), reason="file", remedy=_REMEDY) from error
