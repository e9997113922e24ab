"""How a pair's observation holds what each scheduler shows, and what follows from both. Pure."""

from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState, NodeObservation, Observed
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch.remediation.pairing.prefixes import others_of, prefixed, without_prefix

replace = msgspec.structs.replace

# Keys of `own`: the node as each shows it, the second's names of machines by the first's, and why the
# second did not answer.
FIRST_NODE, SECOND_NODE = "*/first", "*/second"
NAMES, UNAVAILABLE = "*/names", "*/unavailable"
# Between two polls of a scheduler that does not answer.
_POLL_S = 5.0


def intent_for_second(intent: Intent, names: Mapping[str, str], second: str) -> Intent:
    """With the second's names of the machines, and what its own steps have replaced."""

    def theirs(those: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in those)

    return replace(
        intent,
        node=names.get(intent.node, intent.node),
        bad_nodes=theirs(intent.bad_nodes),
        ran_on=theirs(intent.ran_on),
        spare=names.get(intent.spare, intent.spare),
        original=without_prefix(second, intent.original),
    )


def intent_for_first(intent: Intent, second: str) -> Intent:
    """With what its own steps have replaced."""
    return replace(intent, original=others_of(second, intent.original))


def names_in(observed: Observed) -> dict[str, str]:
    """The second's names of the machines that an observation is about, by the first's."""
    text = observed.own.get(NAMES, "")
    return msgspec.json.decode(text, type=dict[str, str]) if text else {}


def own_of_second(observed: Observed, names: Mapping[str, str], second: str) -> dict[str, str]:
    """What the second has read, with its name before each key."""
    own = {**prefixed(second, observed.own), NAMES: msgspec.json.encode(names).decode()}
    if observed.node is not None:
        own[SECOND_NODE] = msgspec.json.encode(observed.node).decode()
    return own


def own_of_first(observed: Observed) -> dict[str, str]:
    """What the first has read."""
    if observed.node is None:
        return dict(observed.own)
    return {**observed.own, FIRST_NODE: msgspec.json.encode(observed.node).decode()}


def of_first(observed: Observed, second: str) -> Observed:
    """What the first has shown."""
    own = others_of("*", others_of(second, observed.own))
    return replace(observed, node=_node(observed, FIRST_NODE) or observed.node, own=own)


def of_second(observed: Observed, second: str) -> Observed:
    """What the second has shown."""
    own = without_prefix(second, observed.own)
    return replace(observed, node=_node(observed, SECOND_NODE) or observed.node, own=own)


def _node(observed: Observed, key: str) -> NodeObservation | None:
    text = observed.own.get(key, "")
    return msgspec.json.decode(text, type=NodeObservation) if text else None


def is_missing(observed: Observed) -> bool:
    """Whether a scheduler has no such node."""
    return observed.node is None or observed.node.hold_state is HoldState.MISSING


def quarantined(first: Proposal, second: Proposal) -> Proposal:
    """The next step of a hold on both: the first's, then the second's.

    Neither starts where somebody else has the node on one. Once the first is ours, a second that
    somebody else holds accepts no work either: both are out.
    """
    if isinstance(first, Refusal):
        return first
    if isinstance(first, Achieved):
        if isinstance(second, Refusal) and second.kind is RefusalKind.FOREIGN:
            return Achieved(f"{first.text}; {second.text}")
        return _together(first, second)
    return second if isinstance(second, Refusal) else first


def released(first: Proposal, second: Proposal) -> Proposal:
    """The next step of giving back: each by itself, whatever the other has come to."""
    for proposal in (first, second):
        if isinstance(proposal, Step):
            return proposal
    for proposal in (first, second):
        if isinstance(proposal, Wait):
            return proposal
    if isinstance(first, Refusal):
        return first
    return _together(first, second)


def _together(first: Proposal, second: Proposal) -> Proposal:
    if isinstance(first, Achieved) and isinstance(second, Achieved):
        return Achieved(f"{first.text}; {second.text}")
    return second


def unavailable(text: str) -> Wait:
    """While the second does not answer."""
    return Wait(_POLL_S, text)
