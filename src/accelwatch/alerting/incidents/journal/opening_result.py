"""What comes of opening a journal, on a good day and on a bad one."""

import logging
from typing import NamedTuple

from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.records import Loaded

logger = logging.getLogger(__name__)


class OpeningResult(NamedTuple):
    """A journal, or why there is none."""

    file: Journal | None
    loaded: Loaded
    # What is wrong until somebody mends it; empty when nothing is.
    problem: str
    # Descriptor that holds the folder for this process.
    lock: int | None


def not_opened(why: str, what_to_do: str = "") -> OpeningResult:
    """Incidents are kept in memory until a person has looked; that is logged."""
    problem = f"{why}; incidents are shown and notified, but not kept"
    if what_to_do:
        problem = f"{problem}. What to do: {what_to_do}"
    logger.error("%s", problem)
    return OpeningResult(None, Loaded(), problem, None)
