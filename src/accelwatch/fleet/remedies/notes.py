"""Where the engine's notes go: the log, the timeline of their incident, or a person."""

import logging
from collections.abc import Callable, Coroutine, Sequence

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import ENGINE
from accelwatch.alerting.incidents.timeline_notes import Line
from accelwatch.remediation.policy.context.outcome import Loudness, Note

logger = logging.getLogger(__name__)

_LEVELS = {
    Loudness.LOG: logging.INFO,
    Loudness.NOTIFY: logging.INFO,
    Loudness.ALERT: logging.WARNING,
}


class NoteDelivery:
    """For the hub's event loop."""

    def __init__(
        self, rules: RuleRunner, spawn: Callable[[Coroutine[object, object, object]], None]
    ) -> None:
        """`spawn` runs a task whose end nobody waits for here."""
        self._rules = rules
        self._spawn = spawn

    def deliver(self, notes: Sequence[Note]) -> None:
        """Log each; one of an incident goes into its timeline, a loud one of none calls a person."""
        for note in notes:
            logger.log(
                _LEVELS[note.loudness],
                "%s node=%s incident=%s",
                note.text,
                note.node or "-",
                note.incident or "-",
            )
        lines = []
        for entry in notes:
            calls = entry.loudness is Loudness.ALERT
            if entry.incident and self._has_timeline(entry.incident):
                lines.append(Line(entry.incident, entry.actor or ENGINE, entry.text, calls))
            elif calls:
                self._rules.call(entry.text, entry.node)
        if lines:
            self._spawn(self._rules.incident_store.note(lines))

    def _has_timeline(self, incident: str) -> bool:
        """Whether a line can be written into its history, which notifies people."""
        existing = self._rules.incident(incident)
        return existing is not None and not existing.entity.group
