"""A scheduler that keeps no mark of ours: a held node shows neither who holds it nor why."""

from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.action.intent import Intent, OwnerAnnotation
from accelwatch.action.observed import HoldState, NodeObservation, Observed
from accelwatch.action.step import Proposal, Step
from remediation.fake_scheduler import FakeAction

replace = msgspec.structs.replace


class MarklessAction(FakeAction):
    """Goes by the holds that it is told; the scheduler's own marks are only for the tests to look at."""

    quarantines: Mapping[str, OwnerAnnotation] = {}
    # By the scheduler's name of the node, where it is another one than the machine's.
    addresses: Mapping[str, str] = {}

    def set_quarantines(self, quarantines: Mapping[str, OwnerAnnotation]) -> None:
        self.quarantines = quarantines

    async def observe_all(self) -> Sequence[NodeObservation]:
        before = dict(self.quarantines)
        return [self._shown(node, before) for node in await super().observe_all()]

    async def observe(self, intent: Intent) -> Observed:
        before = dict(self.quarantines)
        observed = await super().observe(intent)
        assert observed.node is not None
        return replace(observed, node=self._shown(observed.node, before))

    def propose(self, intent: Intent, observed: Observed) -> Proposal:
        proposal = super().propose(intent, observed)
        if isinstance(proposal, Step) and proposal.kind == "drain":
            return replace(proposal, original={"takes_work": "yes"})
        return proposal

    def _shown(
        self, node: NodeObservation, before: Mapping[str, OwnerAnnotation]
    ) -> NodeObservation:
        node = replace(node, address=self.addresses.get(node.name, node.address))
        if node.hold_state not in (HoldState.OURS, HoldState.FOREIGN):
            return node
        mark = before.get(node.name) or self.quarantines.get(node.name)
        return replace(
            node,
            hold_state=HoldState.FOREIGN if mark is None else HoldState.OURS,
            annotation=mark,
            reason="",
            set_by="",
            set_at=None,
        )
