"""One action over two schedulers that share machines: jobs are the first's, holds are of both.

QUARANTINE and RELEASE are achieved when both schedulers show it, each mark proposed, written down and
read back as a step of its own. What is about a job of the second, or a node that only it has, goes to
it alone; all else to the first. Steps, own texts and originals of the second have its name before them;
the first's are as they would be without a pair, so what started before there was one is understood.
"""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.action.contract import Action, ActionUnavailableError, PreviewsDrains
from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.observed import HoldState, NodeObservation, Observed
from accelwatch.action.step import (
    Achieved,
    Committed,
    Proposal,
    Recovery,
    Report,
    StartedStep,
    Step,
    StepKind,
)
from accelwatch.remediation.pairing import both_sides as sides
from accelwatch.remediation.pairing.abilities import BOTH, PairedAbilities
from accelwatch.remediation.pairing.divided_quarantines import divide
from accelwatch.remediation.pairing.prefixes import (
    is_of,
    prefixed,
    step_with_prefix,
    step_without_prefix,
)
from accelwatch.remediation.pairing.shared_nodes import (
    SharedNodes,
    merged,
)
from accelwatch.remediation.pairing.shared_polls import SharedPolls

replace = msgspec.structs.replace


class PairedAction(PairedAbilities):
    """For one event loop."""

    def __init__(self, first: tuple[str, Action], second: tuple[str, Action]) -> None:
        """Each with its name."""
        super().__init__(first, second)
        self._polls = SharedPolls(first, second)

    @property
    def intents(self) -> frozenset[IntentKind]:
        """The kinds that the first supports."""
        return self.first.intents

    @property
    def steps(self) -> Mapping[str, StepKind]:
        """Those of both."""
        return {**self.first.steps, **prefixed(self.second_name, self.second.steps)}

    async def observe_all(self) -> Sequence[NodeObservation]:
        """All nodes of both, each machine once. Raises ActionUnavailableError where the first does."""
        return await self._polls.observe_all()

    def complaints(self) -> Sequence[str]:
        """Those of both, and that the second has not answered the latest poll."""
        silence = self._polls.silence
        silent = [f"{self.second_name} does not answer: {silence}"] if silence else []
        return [*super().complaints(), *silent]

    def set_quarantines(self, quarantines: Mapping[str, OwnerAnnotation]) -> None:
        """Passed to each whose scheduler keeps no mark of ours: what its own steps have set."""
        second = self.second_name, self.second
        divide(quarantines, self.first, second, lambda: self._polls.shared or SharedNodes())

    async def preview(self, node: str, device: str) -> Sequence[str]:
        """What either scheduler says to a drain, by its own name of the node."""
        shared = self._polls.shared or SharedNodes()
        is_seconds = node in shared.others
        named = (
            (self.first, "" if is_seconds else node),
            (self.second, node if is_seconds else shared.names.get(node, "")),
        )
        texts: list[str] = []
        for action, name in named:
            if name and isinstance(action, PreviewsDrains):
                texts += await action.preview(name, device)
        return texts

    async def observe(self, intent: Intent) -> Observed:
        """How things stand for an intent, read now. Raises ActionUnavailableError."""
        if self._polls.shared is None:
            await self.observe_all()
        shared = self._polls.shared or SharedNodes()
        if self._is_of_second(intent) or intent.node in shared.others:
            return await self._observe_second(intent, shared)
        if intent.kind in BOTH and intent.node in shared.names:
            return await self._observe_both(intent, shared)
        observed = await self.first.observe(sides.intent_for_first(intent, self.second_name))
        return observed if self._polls.latest is not None else self._before_answer(intent, observed)

    def _before_answer(self, intent: Intent, observed: Observed) -> Observed:
        """What the first shows while it is not known yet which nodes the second has.

        Raises ActionUnavailableError for a node that only the second can have.
        """
        text = f"{self.second_name} has not answered yet"
        node = observed.node
        if node is not None and node.hold_state is HoldState.MISSING:
            raise ActionUnavailableError(text)
        if intent.kind not in BOTH:
            return observed
        own = {**sides.own_of_first(observed), sides.UNAVAILABLE: text}
        return replace(observed, own=own)

    def _is_of_second(self, intent: Intent) -> bool:
        """Whether it is about a job of the second, whose jobs have its name."""
        return intent.job is not None and intent.job.cluster == self.second_name

    async def _observe_second(self, intent: Intent, shared: SharedNodes) -> Observed:
        names = _names_of(intent, shared)
        theirs = sides.intent_for_second(intent, names, self.second_name)
        observed = await self.second.observe(theirs)
        ours = shared.first_names
        if observed.job is not None:
            names |= {ours[name]: name for name in observed.job.nodes if name in ours}
            nodes = tuple(ours.get(name, name) for name in observed.job.nodes)
            observed = replace(observed, job=replace(observed.job, nodes=nodes))
        own = sides.own_of_second(observed, names, self.second_name)
        node = observed.node
        shown = None if node is None else replace(node, name=intent.node)
        return replace(observed, own=own, node=shown)

    async def _observe_both(self, intent: Intent, shared: SharedNodes) -> Observed:
        names = _names_of(intent, shared)
        theirs = sides.intent_for_second(intent, names, self.second_name)
        ours = sides.intent_for_first(intent, self.second_name)
        first, second = await asyncio.gather(
            self.first.observe(ours), self.second.observe(theirs), return_exceptions=True
        )
        if isinstance(first, BaseException):
            raise first
        own = sides.own_of_first(first)
        if isinstance(second, ActionUnavailableError):
            text = f"{self.second_name} does not answer: {second}"
            return replace(first, own={**own, sides.UNAVAILABLE: text})
        if isinstance(second, BaseException):
            raise second
        own |= sides.own_of_second(second, names, self.second_name)
        node = first.node
        if node is not None and second.node is not None:
            node = merged(node, second.node, self.second_name)
        return replace(first, own=own, node=node)

    def propose(self, intent: Intent, observed: Observed) -> Proposal:
        """The next step towards it, or why there is none. Pure."""
        if sides.FIRST_NODE not in observed.own:
            if sides.NAMES in observed.own:
                return self._of_second(intent, observed)
            return self._of_first(intent, observed)
        first = self._of_first(intent, observed)
        if text := observed.own.get(sides.UNAVAILABLE, ""):
            second: Proposal = sides.unavailable(text)
        elif sides.is_missing(sides.of_second(observed, self.second_name)):
            second = Achieved(f"{self.second_name} has no such node")
        else:
            second = self._of_second(intent, observed)
        together = sides.quarantined if intent.kind is IntentKind.QUARANTINE else sides.released
        return together(first, second)

    def _of_first(self, intent: Intent, observed: Observed) -> Proposal:
        ours = sides.intent_for_first(intent, self.second_name)
        return self.first.propose(ours, sides.of_first(observed, self.second_name))

    def _of_second(self, intent: Intent, observed: Observed) -> Proposal:
        names = sides.names_in(observed)
        theirs = sides.intent_for_second(intent, names, self.second_name)
        proposal = self.second.propose(theirs, sides.of_second(observed, self.second_name))
        match proposal:
            case Step():
                return step_with_prefix(self.second_name, proposal)
            case Achieved(text, moved_to):
                ours = {name: first for first, name in names.items()}
                return Achieved(
                    f"{self.second_name}: {text}", tuple(ours.get(name, name) for name in moved_to)
                )
        return replace(proposal, text=f"{self.second_name}: {proposal.text}")

    async def perform(self, step: Step, operation: Committed) -> Report:
        """Do one step, by the one whose it is. Raises nothing."""
        if is_of(self.second_name, step):
            return await self.second.perform(step_without_prefix(self.second_name, step), operation)
        return await self.first.perform(step, operation)

    def recover(self, started_step: StartedStep, observed: Observed) -> Recovery:
        """What has become of a step whose end nobody saw. Pure.

        Raises ActionUnavailableError for a step of the second while that does not answer.
        """
        if not is_of(self.second_name, started_step.step):
            return self.first.recover(started_step, sides.of_first(observed, self.second_name))
        if text := observed.own.get(sides.UNAVAILABLE, ""):
            raise ActionUnavailableError(text)
        step = step_without_prefix(self.second_name, started_step.step)
        return self.second.recover(
            replace(started_step, step=step), sides.of_second(observed, self.second_name)
        )

    def release_command(self, node: str) -> str:
        """The commands that release a node on both, as a person types them. Makes no call."""
        shared = self._polls.shared or SharedNodes()
        if node in shared.others:
            return self.commands_of("", node)
        return self.commands_of(node, shared.names.get(node, ""))


def _names_of(intent: Intent, shared: SharedNodes) -> dict[str, str]:
    """The second's names of the machines of an intent."""
    those = (intent.node, *intent.bad_nodes, *intent.ran_on, intent.spare)
    return {name: shared.names[name] for name in those if name in shared.names}
