"""The engine's own pursuits over the action on a cluster that runs, with what its journal holds."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from accelwatch.action.contract import ActionContext
from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.base.clock import SystemClock
from accelwatch.remediation.execution.operations.journal_quarantines import JournalQuarantines
from accelwatch.remediation.policy.state.model import Clocks, NodeQuarantine, Remedy, RemedyState
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch_backendai import BackendAiAction
from accelwatch_lab.cluster.backendai.access import Account
from remediation.memory_journal import MemoryJournal
from support.backendai.served import ServedCluster
from support.kubernetes.action_on_cluster import NAME, Pursuits

GROUPS = {"default": {"spares": "spare"}}


@asynccontextmanager
async def action_on(
    cluster: ServedCluster, account: Account = Account.SUPERADMIN, **options: Any
) -> AsyncIterator[BackendAiAction]:
    """The action as somebody who is known to the manager."""
    options = {"server": cluster.server(account), "groups": GROUPS, **options}
    action = BackendAiAction(ActionContext(name=NAME, options=options))
    try:
        yield action
    finally:
        await action.close()


_DAY_S = 86400.0


def intent(kind: IntentKind, agent: str = "i-gpu1", **more: Any) -> Intent:
    """What is wanted of an agent, now."""
    now = SystemClock().wall()
    mark = OwnerAnnotation(more.pop("incident", "inc-1"), more.pop("token", 3))
    # Some are made when their module is imported, long before their test runs.
    return Intent(kind=kind, mark=mark, node=agent, asked=now, deadline=now + _DAY_S, **more)


class Engine:
    """Pursuits, and the remedies that a decision would have made of their ends."""

    def __init__(self, action: BackendAiAction, journal: MemoryJournal | None = None) -> None:
        self.pursuits = Pursuits(action, journal)
        self._remedies: dict[str, Remedy] = {}
        self.quarantines = JournalQuarantines(
            NAME, self.pursuits.ledger, lambda: RemedyState(remedies=self._remedies)
        )
        action.set_quarantines(self.quarantines)

    async def pursue(self, wanted: Intent) -> Pursued:
        """Until it ends."""
        self._decide(wanted, pursuing=wanted)
        end = await self.pursuits.pursue(wanted)
        if wanted.kind is IntentKind.QUARANTINE and end.result is PursuitResult.ACHIEVED:
            held = NodeQuarantine(node=wanted.node, mark=wanted.mark, original=end.original)
            self._decide(wanted, hold=held)
        return end

    def _decide(self, wanted: Intent, **more: Any) -> None:
        clocks = Clocks(since=wanted.asked, begun=wanted.asked)
        before = self._remedies.get(wanted.node)
        hold = more.pop("hold", None if before is None else before.hold)
        remedy = Remedy(
            node=wanted.node, stage=Stage.QUARANTINING, clocks=clocks, hold=hold, **more
        )
        self._remedies = {**self._remedies, wanted.node: remedy}
