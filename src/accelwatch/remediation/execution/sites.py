"""The sites of an engine: each scheduler, with what its pursuits share and what it learns of holds."""

from collections.abc import Callable, Mapping

from accelwatch.action.contract import Action, ReceivesQuarantines
from accelwatch.action.intent import Intent
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.operations.effect import Gate, Site
from accelwatch.remediation.execution.operations.journal_quarantines import JournalQuarantines
from accelwatch.remediation.execution.operations.lanes import Lanes
from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.policy.jobs.avoiding import as_of_now
from accelwatch.remediation.policy.state.model import RemedyState


def sites_of(
    actions: Mapping[str, Action],
    ledger: Ledger,
    clock: Clock,
    *,
    lanes: Lanes,
    gate: Gate,
    state: Callable[[], RemedyState],
    jitter: Callable[[], float],
) -> dict[str, Site]:
    """By the action's name, in the order of the configuration; `state` is what has been decided."""

    def with_bad_nodes(intent: Intent) -> Intent:
        return as_of_now(state(), intent, clock.wall())

    return {
        name: Site(name, action, ledger, lanes, gate, clock, jitter, with_bad_nodes)
        for name, action in actions.items()
    }


def set_quarantines(
    actions: Mapping[str, Action], ledger: Ledger, state: Callable[[], RemedyState]
) -> None:
    """What the journal knows of our holds, for actions whose schedulers keep no mark of ours."""
    for name, action in actions.items():
        if isinstance(action, ReceivesQuarantines):
            action.set_quarantines(JournalQuarantines(name, ledger, state))
