"""Why an engine decides or does nothing new at all: reasons that last, and those that pass."""

import logging
from collections.abc import Callable

from accelwatch.alerting.incidents.journal.errors import JournalError

logger = logging.getLogger(__name__)


class Stalls:
    """Of one engine. A reason is logged when it begins, not each time it is met."""

    def __init__(self, has_stopped: Callable[[], bool], hangs: Callable[[], bool]) -> None:
        """`has_stopped`: the engine has run and ended; `hangs`: the journal's disk does not answer."""
        self._has_stopped = has_stopped
        self._hangs = hangs
        # Why it does not begin at all; for good.
        self.refused = ""
        self._unwritten = ""
        # Why the last decision failed; until one succeeds.
        self.broken = ""

    def refuse(self, reason: str) -> None:
        """Nothing is ever decided."""
        self.refused = reason

    def not_written(self, error: JournalError) -> None:
        """A decision could not be written down, so it does not count."""
        problem = f"nothing new is done while the journal cannot be written: {error}"
        if problem != self._unwritten:
            logger.error("%s", problem)
        self._unwritten = problem

    def failed(self, error: Exception) -> None:
        """A decision ended by a mistake of ours."""
        if not self.broken:
            logger.error("a decision about remedies failed", exc_info=error)
        self.broken = f"a decision about remedies failed: {error!r}"

    def decided(self) -> None:
        """A decision was made and written down."""
        self.broken = self._unwritten = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """All that hold now; empty when something may be decided."""
        reasons = (
            self.refused,
            "nothing is decided about incidents any more; see the log"
            if self._has_stopped()
            else "",
            "nothing new is done: the journal's disk does not answer" if self._hangs() else "",
            self._unwritten,
            self.broken,
        )
        return tuple(filter(None, reasons))
