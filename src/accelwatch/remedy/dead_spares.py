"""Spares that have a fault of their own while they are reserved or stand in for a node. Pure.

Such a spare is left to its own remedy, and another one is asked for. It is a spare again when that
remedy is over.
"""

import msgspec

from accelwatch.action.intent import Intent, Mark
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remedy import spares
from accelwatch.remedy.outcome import Loudness
from accelwatch.remedy.spare_tests import INCIDENT
from accelwatch.remedy.spares import SpareStanding
from accelwatch.remedy.standing_in import begin_return, candidate, fault_of, is_dead
from accelwatch.remedy.surroundings import Surroundings
from accelwatch.remedy.transitions import keep

replace = msgspec.structs.replace


def look_after_spares(sur: Surroundings) -> None:
    """Replace the spares that have died, and take back those that work again."""
    for name, spare in list(sur.state.spares.spares.items()):
        if is_dead(sur, name):
            _leave_to_its_remedy(sur, name)
        elif spare.broken and spare.standing is SpareStanding.FAILED and _is_idle(sur, name):
            sur.set("spares", spares.mended(sur.state.spares, name))
            if spare.away:
                begin_return(sur, name, _of_spare(sur, name))


def _leave_to_its_remedy(sur: Surroundings, name: str) -> None:
    fault = fault_of(sur, name)
    sur.set("spares", spares.broken(sur.state.spares, name, fault))
    for remedy in list(sur.state.remedies.values()):
        if remedy.spare != name:
            continue
        text = f"the spare {name}, which stands in for {remedy.node}, is bad itself: {fault}"
        sur.note(remedy, f"{text}; it has a remedy of its own", Loudness.TELL)
        after = replace(remedy, spare="", spare_asked=None)
        drawing = remedy.wants is Kind.DRAW_SPARE and not remedy.cancelling
        if drawing and remedy.pursuing is not None:
            sur.cancel(remedy.pursuing)
            after = replace(after, cancelling=True)
        keep(sur, remedy, after)


def _is_idle(sur: Surroundings, name: str) -> bool:
    """Whether it is well, runs nothing, and no draw of it is on its way any more."""
    seen = sur.world.seen.get(name)
    if seen is None or seen.jobs or not candidate(sur, name).usable:
        return False
    wanted = (one.pursuing for one in sur.state.remedies.values())
    under_way = (*wanted, *sur.state.lingering.values(), *sur.state.chores.values())
    return not any(
        intent is not None and intent.spare == name and intent.kind is Kind.DRAW_SPARE
        for intent in under_way
    )


def _of_spare(sur: Surroundings, name: str) -> Intent:
    return Intent(
        kind=Kind.RETURN_SPARE,
        mark=Mark(INCIDENT, sur.state.token),
        node=name,
        reason="spare that works again",
        deadline=sur.now,
    )
