"""The advice for a node: none is quarantined for a fault that many may turn out to share."""

import numpy as np

from accelwatch.detection.evidence import Weight
from accelwatch.detection.findings.explaining import Tables
from accelwatch.detection.findings.finding import Level
from accelwatch.detection.findings.node_heat import HEAT, heat_of_node
from accelwatch.detection.findings.suspects import Suspect, contributes
from accelwatch.detection.fusion.families import Family, family_of, follows_from
from accelwatch.detection.fusion.strength import AGREE
from accelwatch.detection.tick import Tick

# The worst first: what helps against the worst helps against the rest.
_ADVICE = ("replace", "reboot", "reset", "exclude", "restart", "wait", "none")


def worse(*advice: str) -> str:
    """Of several pieces of advice the one that is for the worst."""
    return min(advice, key=_ADVICE.index)


def advice_of(tick: Tick, tables: Tables, suspect: Suspect) -> str:
    """What decisive evidence advises, else what follows from the family; nothing at a watch."""
    if suspect.level is Level.WATCH:
        return "none"
    decisive = [piece.advice for piece in suspect.pieces if piece.weight is Weight.DECISIVE]
    advised = decisive or [piece.advice for piece in suspect.pieces]
    recognised = [advice for advice in advised if advice in _ADVICE]
    if recognised:
        advice = worse(*recognised)
    elif decisive or not suspect.pieces:
        advice = "none"
    else:
        advice = family_of(suspect.pieces[0].family).advice
    waits = advice == "exclude" and _may_be_first_of_many(tick, tables, suspect)
    return "none" if waits else advice


def _may_be_first_of_many(tick: Tick, tables: Tables, suspect: Suspect) -> bool:
    """Whether it suffers only in what many share and in what follows, and others may still come."""
    now = tick.frame.now
    since: dict[str, float] = {}
    for piece in filter(contributes, suspect.pieces):
        since[piece.family] = min(piece.since, since.get(piece.family, now))
    shared = [family for family in map(family_of, since) if family.shared]
    follows = frozenset[str]().union(*(follows_from(family.shared) for family in shared))
    return set(since) <= follows | {family.name for family in shared} and any(
        now - since[family.name] < family.within_s
        and _affects_node(tick, tables, suspect.node, family)
        for family in shared
    )


def _affects_node(tick: Tick, tables: Tables, node: int, family: Family) -> bool:
    """Whether all of a node suffers: what is shared, such as air, spares none of its devices."""
    if family.name != HEAT:
        return True
    level = heat_of_node(tick, tables, node)
    # Half of the level of a warm node is enough to wait for.
    return bool(np.isnan(level) or level >= AGREE / 2)
