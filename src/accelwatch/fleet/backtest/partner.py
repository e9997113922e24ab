"""A process that evaluates a share of the rules over the same archive, and sends its verdicts.

Its output is for the process that has started it only: pickled, so that no number changes.
"""

import contextlib
import pickle
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, NamedTuple

from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.backtest.verdicts import EvaluatedInterval

# Intervals after which it says how far it has come, at the latest: it ends when nobody reads that.
REPORT_EVERY = 64


class Report(NamedTuple):
    """What has changed up to an interval, by number of the interval."""

    # Infinite at the end.
    until: float
    changes: Mapping[int, Sequence[VerdictChange]]


class Partner:
    """One such process."""

    def __init__(self, command: Sequence[str]) -> None:
        """Begin it. Raises AccelwatchError."""
        try:
            # In a session of its own ^C does not reach it: its starter ends it.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise AccelwatchError(f"no second process can be started: {error.strerror}") from error
        self._until = -1.0
        self._changes: dict[int, Sequence[VerdictChange]] = {}

    def changes(self, number: int) -> Sequence[VerdictChange]:
        """Those of an interval; waits for them. Raises AccelwatchError when it has ended before."""
        while self._until < number:
            assert self._process.stdout is not None
            try:
                report: Report = pickle.load(self._process.stdout)  # noqa: S301 - our own process
            except (EOFError, pickle.UnpicklingError, OSError) as error:
                raise AccelwatchError(self._exit_text()) from error
            self._until = report.until
            self._changes.update(report.changes)
        return self._changes.pop(number, ())

    def _exit_text(self) -> str:
        code = self._process.wait()
        how = f"signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"exit code {code}"
        return (
            f"a process that evaluated a share of the rules has ended ({how}); "
            "with --processes 1 one process evaluates them all"
        )

    def stop(self) -> None:
        """End it, if it has not ended."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def send_changes(intervals: Iterable[EvaluatedInterval], out: IO[bytes]) -> None:
    """Be a partner: send the verdicts. Raises BrokenPipeError when nobody reads them any more."""
    changes: dict[int, Sequence[VerdictChange]] = {}
    sent = -1
    for interval in intervals:
        if interval.changes:
            changes[interval.number] = interval.changes
        if interval.number - sent >= REPORT_EVERY:
            pickle.dump(Report(interval.number, changes), out)
            out.flush()
            changes, sent = {}, interval.number
    pickle.dump(Report(float("inf"), changes), out)
    out.flush()
