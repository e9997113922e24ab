"""Notices that were never delivered: people are notified of that by another sink."""

import logging
from collections.abc import Iterable, Mapping

from accelwatch.alerting.delivery.queue import Queue
from accelwatch.alerting.delivery.stages.retry import Lost
from accelwatch.alerting.delivery.transport.circuit import Circuit
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, Status

logger = logging.getLogger(__name__)

# Before the name of a sink: the id of the notice that says what it has not got.
_UNDELIVERED = "undelivered:"


class Losses:
    """What each sink has lost."""

    def __init__(self, queue: Queue, circuits: Mapping[str, Circuit]) -> None:
        """`circuits` has each sink by name."""
        self._queue = queue
        self._circuits = circuits
        # By sink: how many, and why the last.
        self._lost: dict[str, tuple[int, str]] = {}
        # Sinks that have nobody to notify that another one fails, as they write to users only.
        self._without_recipient: set[str] = set()

    @property
    def problems(self) -> Iterable[str]:
        """A sentence for each sink that has lost something."""
        for name, (count, reason) in self._lost.items():
            yield f"alerts.{name}: {count} never delivered, the last: {reason}"

    def report(self, lost: Lost, now: float) -> str:
        """Notify of a loss by another sink; its name, or empty where there is none."""
        count, _ = self._lost.get(lost.sink, (0, ""))
        self._lost[lost.sink] = (count + 1, lost.reason)
        logger.error("alerts: %s has not got a notice: %s", lost.sink, lost.reason)
        # A loss of the notice of a loss would go round for ever.
        if lost.notice.key.startswith(_UNDELIVERED):
            return ""
        return self._hand_over(_notice_of(lost, count + 1, now), lost.sink, now)

    def settle(self, sink: str, sent: Notice, outcome: Outcome, now: float) -> str:
        """Hand a notice of a loss over where this sink has no recipient for it; to whom, or empty."""
        is_loss = sent.key.startswith(_UNDELIVERED)
        if not is_loss or outcome.status is not Status.NO_RECIPIENT:
            return ""
        self._without_recipient.add(sink)
        return self._hand_over(sent, sent.key.removeprefix(_UNDELIVERED), now)

    def _hand_over(self, notice: Notice, failed: str, now: float) -> str:
        """Post it to another sink that has somebody to notify; to one that works, if any does."""
        unfit = {failed, *self._without_recipient}
        others = [name for name in self._circuits if name not in unfit]
        if not others:
            return ""
        other = min(others, key=lambda name: not self._circuits[name].closed)
        self._queue.post(other, notice.key, notice, now)
        return other


def _notice_of(lost: Lost, count: int, now: float) -> Notice:
    text = f"{lost.notice.severity.value} {lost.notice.title}: {lost.notice.where}"
    return Notice(
        key=f"{_UNDELIVERED}{lost.sink}",
        sequence=1,
        kind=NoticeKind.OPENED,
        severity=max(Severity.WARNING, lost.notice.severity, key=lambda level: level.weight),
        title="alerts do not arrive",
        where=f"sink {lost.sink}",
        since=now,
        time=now,
        evidence=(f"{count} never delivered, the last: {lost.reason}", text),
        what_to_do=f"fix the sink, and test it: accelwatch alerts test {lost.sink}",
        rule="accelwatch.alerts.undelivered",
    )
