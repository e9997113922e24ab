"""Whether everything is stopped: by the stop file, or by a person, from the moment of the STOP."""

from collections.abc import Iterable

from accelwatch.remediation.execution.inbox import CommandRequest
from accelwatch.remediation.execution.stop_file import StopFile
from accelwatch.remediation.policy.state.changes import Command, Verb
from accelwatch.remediation.policy.state.model import RemedyState

# Who stopped everything, where no person said so.
STOP_FILE = "the stop file"


class EmergencyStop:
    """The stop file, and a person's STOP until the state has it; for one event loop."""

    def __init__(self, file: StopFile) -> None:
        self._file = file
        # The person whose STOP is not written down yet.
        self._stopped_by = ""

    def start(self) -> None:
        """Watch the file until `stop`."""
        self._file.start()

    def stop(self) -> None:
        """Watch it no more."""
        self._file.stop()

    def requested(self, command: Command) -> None:
        """A STOP counts from now on, whether or not the disk accepts it, whatever is decided now."""
        if command.verb is Verb.STOP:
            self._stopped_by = command.by

    def written(self, command: Command, pending: Iterable[CommandRequest]) -> None:
        """The state has the command now: of those that are still `pending` the latest STOP counts."""
        if command.verb in (Verb.STOP, Verb.START):
            stops = [request.command.by for request in pending if request.command.verb is Verb.STOP]
            self._stopped_by = stops[-1] if stops else ""

    def command_of_file(self, state: RemedyState, now: float) -> Command | None:
        """The command that brings the state in line with the file's presence or absence."""
        why, stop = self._file.why, state.stop
        if why and stop is None:
            return Command(verb=Verb.STOP, by=STOP_FILE, at=now, reason=why)
        if not why and stop is not None and stop.by == STOP_FILE:
            return Command(verb=Verb.START, by=STOP_FILE, at=now)
        return None

    def reason(self, state: RemedyState) -> str:
        """Why everything is stopped; empty when it is not."""
        if self._file.why:
            return f"everything is stopped: {self._file.why}"
        by = self._stopped_by or (state.stop.by if state.stop is not None else "")
        return f"everything is stopped by {by}" if by else ""
