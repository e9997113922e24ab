"""A process that does not start because of its configuration: people are notified of it once.

Nothing of the process runs yet, neither journal nor queue, so the notice goes straight to each sink.
A service manager starts it again and again: a file in the state folder has which error people know.
"""

import contextlib
import hashlib
import logging
from pathlib import Path

from accelwatch.alerting.delivery.formatting.notice import notice_of
from accelwatch.alerting.delivery.formatting.own_problem import OwnProblem, incident_of, resolved
from accelwatch.alerting.delivery.trial import delivered
from accelwatch.alerting.sink import Notice, NoticeKind, Status
from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.alerts import Alerts
from accelwatch.system.files.atomic_file import PRIVATE, read_replaced, replace_file

logger = logging.getLogger(__name__)

FILE = "start-refused"


class RefusedStart:
    """Of one process; without sinks or a state folder nobody is notified."""

    def __init__(self, alerts: Alerts, folder: Path | None, clock: Clock, what: str) -> None:
        """`what` does not start: "the hub"."""
        self._alerts = alerts
        self._file = None if folder is None else folder / FILE
        self._clock = clock
        self._what = what

    async def notify(self, error: AccelwatchError) -> None:
        """Have every sink say why nothing is started, unless it has said so of the same error."""
        text = str(error)
        digest = hashlib.sha256(text.encode()).hexdigest().encode()
        if self._file is None or self._recorded() == digest:
            return
        if await self._send(text, over=False):
            with contextlib.suppress(OSError):  # then people are notified at the next start, too
                replace_file(self._file, digest, mode=PRIVATE)

    async def is_over(self) -> None:
        """It has started: who was notified that it does not is notified of that, once."""
        if self._file is None or not self._recorded():
            return
        self._file.unlink(missing_ok=True)
        await self._send(f"{self._what} has started", over=True)

    def _recorded(self) -> bytes:
        try:
            return b"" if self._file is None else read_replaced(self._file)
        except OSError:
            return b""

    async def _send(self, text: str, *, over: bool) -> bool:
        """Whether at least one sink has it."""
        if not self._alerts.sinks:
            return False
        try:
            outcomes = await delivered(self._alerts.sinks, self._notice(text, over), self._clock)
        except AccelwatchError as error:
            logger.warning("people could not be notified error=%s", error)
            return False
        return any(outcome.status is Status.DELIVERED for outcome in outcomes.values())

    def _notice(self, text: str, over: bool) -> Notice:
        now = self._clock.wall()
        problem = OwnProblem(
            key="start",
            title=f"{self._what} does not start: no rule is evaluated and nothing is done",
            text=text,
            what_to_do="fix what the line above names (accelwatch config check and accelwatch rules "
            "check say more), then start it again",
        )
        incident = incident_of(problem, now)
        if over:
            return notice_of(resolved(incident, now), NoticeKind.CLOSED, sequence=2)
        return notice_of(incident, NoticeKind.OPENED, sequence=1)
