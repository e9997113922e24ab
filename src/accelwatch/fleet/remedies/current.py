"""What is being done about incidents, by this hub or by the one that leads, to be read only."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from accelwatch.alerting.incidents.journal.records import StateRecord
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.fleet.approval import used
from accelwatch.remediation.execution.journaling import restored
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.settings import RemedySettings


class CurrentRemedies(NamedTuple):
    """As it stands now."""

    state: RemedyState
    settings: RemedySettings
    # What each node's remedy waits for, where that is known.
    doing: Mapping[str, str]
    # Why something is not done that should be; empty when all is well.
    problems: tuple[str, ...]


def followed_remedies(
    records: Iterable[StateRecord], settings: RemedySettings, loss_risk: str
) -> CurrentRemedies:
    """What the leading hub has written; `loss_risk` says why it needs approval before it acts."""
    try:
        state = restored(record for record in records if record.kind != used.KIND)
    except DECODE_ERRORS as error:
        problem = f"the journal has what this version does not understand: {error}"
        return CurrentRemedies(RemedyState(), settings, {}, (problem,))
    journal = msgspec.structs.replace(state.world.journal, loss_risk=loss_risk)
    world = msgspec.structs.replace(state.world, journal=journal)
    return CurrentRemedies(msgspec.structs.replace(state, world=world), settings, {}, ())
