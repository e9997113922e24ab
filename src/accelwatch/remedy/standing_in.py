"""Who stands in for a node that is out, and when he is a spare again. Pure."""

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import Standing
from accelwatch.remedy import spares
from accelwatch.remedy.cases import is_barred
from accelwatch.remedy.clocks import FRESH_S
from accelwatch.remedy.denial import Denial
from accelwatch.remedy.model import Remedy
from accelwatch.remedy.outcome import Loudness
from accelwatch.remedy.score import keys_of, worst
from accelwatch.remedy.spares import Candidate, Drawn, SpareStanding, SpareState, Wanted
from accelwatch.remedy.stage import Stage
from accelwatch.remedy.surroundings import Surroundings

replace = msgspec.structs.replace


def drawn(sur: Surroundings, remedy: Remedy) -> tuple[SpareState, Drawn | Denial]:
    """The spare that would be drawn for a node, and the state in which it is reserved."""
    heard = sur.heard(remedy.node)
    labels = {} if heard is None else {"model": heard.model, "rack": heard.rack, **heard.labels}
    wanted = Wanted(incident=remedy.incident, node=sur.target(remedy), labels=labels)
    candidates = {name: candidate(sur, name) for name in sur.state.spares.spares}
    limits = sur.settings.spares
    return spares.draw(sur.state.spares, wanted, candidates, now=sur.now, settings=limits)


def hub_name(sur: Surroundings, name: str) -> str:
    """The hub's name of a spare, of which the settings know the scheduler's."""
    names = {theirs: ours for ours, theirs in sur.settings.nodes.items()}
    return names.get(name, name)


def candidate(sur: Surroundings, name: str) -> Candidate:
    """What is known of a spare besides its standing."""
    seen = sur.world.seen.get(name)
    node = hub_name(sur, name)
    heard = sur.heard(node)
    if seen is None or heard is None:
        return Candidate(usable=False)
    well = heard.healthy is True and sur.now - heard.time <= FRESH_S
    free = seen.standing is Standing.OPEN and not _has_trouble(sur, node)
    return Candidate(
        labels={"model": heard.model, "rack": heard.rack, **heard.labels},
        score=worst(sur.state.scores, keys_of(node), sur.now),
        usable=well and free and seen.answering is not False,
    )


def _has_trouble(sur: Surroundings, node: str) -> bool:
    """Whether something is being done about a node, or keeps work away from it."""
    remedy = sur.state.remedies.get(node)
    if remedy is None:
        return False
    return remedy.stage not in _ONLY_TOLD or is_barred(sur, remedy)


_ONLY_TOLD = frozenset({Stage.SUSPECT, Stage.SUPPRESSED})
"""Stages of a node about which nothing was begun."""


def reserve(sur: Surroundings, remedy: Remedy) -> Remedy:
    """Reserve the best spare for a node; the scheduler is changed only after that is written down."""
    state, answer = drawn(sur, remedy)
    if isinstance(answer, Denial):
        return remedy
    sur.set("spares", state)
    return replace(remedy, spare=answer.name)


def works(sur: Surroundings, remedy: Remedy) -> None:
    """The spare that was reserved is in the pool now."""
    if _is(sur, remedy.spare, SpareStanding.RESERVED):
        sur.set("spares", spares.taken(sur.state.spares, remedy.spare))


def without(sur: Surroundings, remedy: Remedy, text: str) -> Remedy:
    """Nobody stands in for it: its jobs go on without, and a person is told."""
    if _is(sur, remedy.spare, SpareStanding.RESERVED):
        sur.set("spares", spares.let_go(sur.state.spares, remedy.spare))
    sur.note(remedy, f"no spare stands in for {remedy.node}: {text}", Loudness.ALERT)
    return replace(remedy, spare="", spareless=True)


def given_back(sur: Surroundings, remedy: Remedy, intent: Intent) -> Remedy:
    """The node works again, or is no business of ours any more: its spare goes back."""
    if _is(sur, remedy.spare, SpareStanding.RESERVED):
        sur.set("spares", spares.let_go(sur.state.spares, remedy.spare))
    elif _is(sur, remedy.spare, SpareStanding.IN_USE):
        sur.set("spares", spares.returning(sur.state.spares, remedy.spare))
        sur.put("chores", f"spare {remedy.spare}", intent)
        sur.pursue(intent)
    return replace(remedy, spare="")


def is_back(sur: Surroundings, intent: Intent) -> None:
    """A spare is among the spares again."""
    if intent.kind is Kind.RETURN_SPARE and _is(sur, intent.spare, SpareStanding.RETURNING):
        sur.set("spares", spares.returned(sur.state.spares, intent.spare))


def _is(sur: Surroundings, name: str, standing: SpareStanding) -> bool:
    spare = sur.state.spares.spares.get(name)
    return spare is not None and spare.standing is standing
