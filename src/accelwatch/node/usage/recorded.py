"""The ledger of a recording: what the recording process would have counted."""

from pathlib import Path

from accelwatch.archive.recording import Recording
from accelwatch.base.errors import WireError
from accelwatch.node.usage.ledger import Ledger
from accelwatch.node.usage.observation import observations_of
from accelwatch.schema.reading import READS_UNTIL_STALE

# A longer recording is read in longer steps: counters cover what was in between.
_MOST_DOCUMENTS = 7200


def ledger_of(path: Path, window_s: float | None) -> tuple[Ledger, tuple[str, ...]]:
    """The ledger at the end of a recording, and notes on damage; None: from its beginning.

    Raises UsageError, WireError and AccelwatchError as `Recording.open`.
    """
    with Recording.open(path) as recording:
        times = recording.times()
        first = 0 if window_s is None else recording.index_at(times[-1] - window_s)
        stride = max((len(times) - first) // _MOST_DOCUMENTS, 1)
        ledger = Ledger(gap_limit_s=READS_UNTIL_STALE * recording.step_s * stride)
        damaged = 0
        for index in range(first, len(times), stride):
            try:
                snapshot = recording.at(index)
            except WireError:
                damaged += 1
                continue
            ledger.add(times[index], observations_of(snapshot))
        notes = recording.notes
    if damaged:
        notes = (*notes, f"{damaged} documents are damaged: their time is not counted")
    return ledger, notes
