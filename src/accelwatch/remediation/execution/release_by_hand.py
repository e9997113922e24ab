"""Giving a node back at a person's word while nothing can be written to the journal.

It removes only our own mark, and only while the scheduler itself shows that it is ours. The log, instead
of the journal, records what was done.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

from accelwatch.action.contract import Action, ActionUnavailableError, ReleasesByHand
from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.action.step import Achieved, Refusal, ReportStatus, Step, Wait
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.operations.ledger import release_without_journal
from accelwatch.remediation.execution.polling import polled
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.identity import Proof
from accelwatch.remediation.policy.state.changes import Command

logger = logging.getLogger(__name__)

_WITHIN_S = 60.0
_MOST_POLLS = 20
_POLL_S = 0.5

# Which of a scheduler's nodes the node is.
Prove = Callable[[Sequence[NodeObservation]], Proof | Denial]


class NotReleasedError(Exception):
    """The node is as it was, and why."""


async def release(
    actions: Mapping[str, Action], command: Command, prove: Prove, clock: Clock, address: str
) -> str:
    """Remove our mark from a node; what was done. Raises NotReleasedError, with what a person can do."""
    try:
        text = await _released(actions, command, prove, clock)
    except NotReleasedError as error:
        _audit(command, address, f"not done: {error}")
        by_hand = list(_commands(actions, command.node))
        hint = f"by hand it is `{'` or `'.join(by_hand)}`: " if by_hand else ""
        raise NotReleasedError(f"{hint}{error}") from error
    _audit(command, address, text)
    return text


def _commands(actions: Mapping[str, Action], node: str) -> Iterator[str]:
    for action in actions.values():
        if isinstance(action, ReleasesByHand):
            yield action.release_command(node)


def _audit(command: Command, address: str, result: str) -> None:
    logger.warning(
        "audit, for the journal cannot be written: %s node=%s by=%s address=%s reason=%r result=%r",
        command.verb.value,
        command.node,
        command.by,
        address or "-",
        command.reason,
        result,
    )


async def _released(
    actions: Mapping[str, Action], command: Command, prove: Prove, clock: Clock
) -> str:
    why = "nothing here can give a node back"
    for name, action in actions.items():
        if IntentKind.RELEASE not in action.intents:
            continue
        poll = await polled(name, action, clock)
        if poll.unavailable:
            why = f"{name} does not answer: {poll.unavailable}"
            continue
        proof = prove(poll.nodes)
        if isinstance(proof, Denial):
            why = proof.text
            continue
        (observation,) = (node for node in poll.nodes if node.name == proof.name)
        return await _give_back(action, observation, command, clock)
    raise NotReleasedError(why)


async def _give_back(
    action: Action, observation: NodeObservation, command: Command, clock: Clock
) -> str:
    """Raises NotReleasedError."""
    if observation.hold_state is HoldState.OPEN:
        return f"{observation.name} takes work already"
    if observation.hold_state is not HoldState.OURS or observation.annotation is None:
        reason = f" ({observation.reason})" if observation.reason else ""
        raise NotReleasedError(
            f"{observation.name} is {observation.hold_state.value}{reason}, not held by us"
        )
    intent = Intent(
        kind=IntentKind.RELEASE,
        mark=observation.annotation,
        node=observation.name,
        reason=command.reason,
        asked=command.at,
        deadline=clock.wall() + _WITHIN_S,
    )
    try:
        async with asyncio.timeout(_WITHIN_S):
            return await _pursue(action, intent)
    except ActionUnavailableError as error:
        raise NotReleasedError(f"the scheduler does not answer: {error}") from error
    except TimeoutError as error:
        raise NotReleasedError(f"no answer within {_WITHIN_S:g} s") from error


async def _pursue(action: Action, intent: Intent) -> str:
    """Raises NotReleasedError, ActionUnavailableError."""
    answer_text = ""
    for _ in range(_MOST_POLLS):
        match action.propose(intent, await action.observe(intent)):
            case Achieved(text):
                return text
            case Refusal(_, text) | Wait(_, text):
                raise NotReleasedError(text)
            case Step() as step:
                answer = await action.perform(step, release_without_journal(intent))
                answer_text = answer.text
                if answer.status is ReportStatus.REFUSED:
                    raise NotReleasedError(answer_text or f"{step.text}: refused")
                await asyncio.sleep(0 if answer.status is ReportStatus.DONE else _POLL_S)
    raise NotReleasedError(answer_text or "it was done, and it is not seen to be so")
