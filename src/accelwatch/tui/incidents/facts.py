"""What the page of an incident is made of."""

from collections.abc import Sequence

import msgspec

from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.fleet.wire import IncidentNow
from accelwatch.tui.incidents.remedy_facts import RemedyFacts


class IncidentFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An incident and what is known around it."""

    current: IncidentNow
    # Unix seconds.
    now: float
    # Whether the hub no longer reports it.
    is_stale: bool = False
    # Those of its members that the hub reports.
    members: Sequence[IncidentNow] = ()
    explanation: Explanation | None = None
    # Why there is no explanation.
    unexplained: str = ""
    # The signals beside those of the peers, in words.
    compared: Sequence[str] = ()
    # Why there is no graph of a signal.
    ungraphed: Sequence[str] = ()
    # What is done about it.
    remedy: RemedyFacts = RemedyFacts()
