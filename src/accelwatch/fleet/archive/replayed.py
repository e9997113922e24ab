"""An archive out of the recording of a node, so that rules can be tried on it."""

from collections.abc import Callable
from pathlib import Path

from accelwatch.archive.history.rows import EventRow, Gathering
from accelwatch.archive.recording import Recording
from accelwatch.base.errors import WireError
from accelwatch.fleet.archive.jobs import JobBook
from accelwatch.fleet.archive.observed import observed, owners_of
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.snapshot import Snapshot

# Documents between two checks of what can be written.
_AT_ONCE = 600
# An event that is older than the first document by more is no news of this recording.
_SINCE_S = 3600.0


def replayed(
    path: Path,
    folder: Path,
    on_damage: Callable[[str], None],
    on_progress: Callable[[float, float], None] = lambda _done, _total: None,
) -> None:
    """Write what a recording holds into a new folder; `on_damage` gets what is damaged.

    `on_progress` gets how many documents of how many are written.

    Raises UsageError, WireError and AccelwatchError for a recording that cannot be read.
    """
    from accelwatch.archive.history.writer import Writer

    with Recording.open(path) as recording:
        for note in recording.notes:
            on_damage(note)
        times = recording.times()
        writer = Writer(folder, interval_s=recording.step_s, source=str(path.name))
        copy = _Copy(times[0] - _SINCE_S)
        last = 0
        for at in range(len(recording)):
            try:
                copy.record(recording.at(at), times[at])
            except WireError as error:
                on_damage(str(error))
            last = round(times[at] * 1000)
            on_progress(at + 1, len(recording))
            if at % _AT_ONCE == _AT_ONCE - 1:
                writer.add(copy.gathering.pop_batch(copy.jobs.pop_rows()))
                writer.cut(last)
        writer.add(copy.gathering.pop_batch(copy.jobs.pop_rows()))
        writer.close(last + 1)


class _Copy:
    """What was gathered so far."""

    def __init__(self, since: float) -> None:
        self.gathering = Gathering()
        self.jobs = JobBook()
        self._since = since
        self._recorded: set[tuple[float, str, str, str]] = set()

    def record(self, snapshot: Snapshot, time: float) -> None:
        stamp, node = round(time * 1000), snapshot.host or "localhost"
        observation = observed(snapshot)
        for device, values in observation.devices:
            self.gathering.device(stamp, node, device.id, device.model, values)
        self.gathering.node(stamp, node, observation.node)
        self.jobs.observe(stamp, node, owners_of(snapshot))
        for event in snapshot.events:
            self._event(node, event)

    def _event(self, node: str, event: ErrorEvent) -> None:
        """Record an event once; each document repeats the latest events."""
        key = (event.time, event.code, event.device_id, event.text)
        if key in self._recorded or event.time < self._since:
            return
        self._recorded.add(key)
        self.gathering.events.append(
            EventRow(
                time=round(event.time * 1000),
                node=node,
                device=event.device_id or None,
                kind=event.source,
                code=event.code,
                text=event.text,
            )
        )
