"""Polls of a pair over all nodes of both schedulers, and what is known while the second is silent."""

import asyncio
import logging
from collections.abc import Sequence

from accelwatch.action.contract import Action, ActionUnavailableError, ReceivesQuarantines
from accelwatch.action.observed import NodeObservation
from accelwatch.remediation.pairing.shared_nodes import (
    SharedNodes,
    merged,
    shared_nodes,
    without_answer,
)

logger = logging.getLogger(__name__)


class SharedPolls:
    """For one event loop."""

    def __init__(self, first: tuple[str, Action], second: tuple[str, Action]) -> None:
        """Each with its name."""
        self._first = first[1]
        self._second_name, self._second = second
        # Which nodes are one machine; None before the first poll.
        self.shared: SharedNodes | None = None
        # What the second has shown last: its nodes stay known while it does not answer. None before its
        # first answer, when any node may be its own, too.
        self.latest: Sequence[NodeObservation] | None = None
        # Why the second does not answer; empty while it does.
        self.silence = ""

    async def observe_all(self) -> Sequence[NodeObservation]:
        """All nodes of both, each machine once. Raises ActionUnavailableError where the first does.

        While the second does not answer, shared nodes are as the first shows them, with the jobs that
        the second has shown last, and those that only the second has are as it has shown them last.
        """
        first, second = await asyncio.gather(
            self._first.observe_all(), self._second.observe_all(), return_exceptions=True
        )
        # Both are waited for: what the first raises must leave no call of the second behind.
        if isinstance(first, BaseException):
            raise first
        if not isinstance(second, BaseException) and self._finds_other_names(first, second):
            # It got our holds by names that were not known to be its nodes' yet.
            (second,) = await asyncio.gather(self._second.observe_all(), return_exceptions=True)
        if isinstance(second, ActionUnavailableError):
            return self._without_answer(first, str(second))
        if isinstance(second, BaseException):
            raise second
        self.latest, self.silence = second, ""
        shared = self.shared = shared_nodes(first, second)
        by_name = {node.name: node for node in second}
        return [
            *(self._merged(node, by_name.get(shared.names.get(node.name, ""))) for node in first),
            *(by_name[name] for name in sorted(shared.others)),
        ]

    def _finds_other_names(
        self, first: Sequence[NodeObservation], second: Sequence[NodeObservation]
    ) -> bool:
        """Whether a machine has by now another name of the first's, for a second that goes by those."""
        if not isinstance(self._second, ReceivesQuarantines):
            return False
        before = (self.shared or SharedNodes()).first_names
        self.shared = shared_nodes(first, second)
        return any(before.get(node, node) != name for node, name in self.shared.first_names.items())

    def _merged(self, first: NodeObservation, second: NodeObservation | None) -> NodeObservation:
        return first if second is None else merged(first, second, self._second_name)

    def _without_answer(
        self, first: Sequence[NodeObservation], error: str
    ) -> Sequence[NodeObservation]:
        if not self.silence:
            logger.warning("%s does not answer: %s", self._second_name, error)
        self.silence = error or "no reason is given"
        latest = {node.name: node for node in self.latest or ()}
        shared = self.shared = shared_nodes(first, self.latest or ())
        may_have = {node.name for node in first} if self.latest is None else shared.names.keys()
        return [
            *(
                without_answer(node, latest.get(shared.names.get(node.name, "")), self._second_name)
                if node.name in may_have
                else node
                for node in first
            ),
            *(latest[name] for name in sorted(shared.others)),
        ]
