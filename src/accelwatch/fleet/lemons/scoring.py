"""Scores of devices, slots and nodes out of confirmed faults, and who has failed again and again. Pure.

Each fault counts for a serial number, a slot and a node. A fault that comes back with the board in
another slot blames the board, one that comes back with another board blames the slot.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from accelwatch.base.names.hardware_keys import NODE, SERIAL, SLOT
from accelwatch.detection.fading import PERIOD_S, faded
from accelwatch.fleet.lemons.documents import LEAST_FAULTS, Blamed, FaultNote, Lemon
from accelwatch.fleet.lemons.faults import Fault, distinct
from accelwatch.fleet.lemons.reasons import blamed_for
from accelwatch.schema.timestamps import timestamp

# Faults that a page names of one offender, the latest.
MOST_EVIDENCE = 50
# Of several identities with the same faults the first gives its name.
_ORDER = (SERIAL, SLOT, NODE)


class _Offender(NamedTuple):
    """Identities with the very same faults, the narrowest first."""

    keys: tuple[str, ...]
    incidents: frozenset[str]

    @property
    def of_node(self) -> bool:
        return self.keys[0].startswith(NODE)


def score_of(faults: Iterable[Fault], now: float) -> float:
    """The weights of faults by what is left of them; `now` in Unix seconds."""
    return sum(fault.weight * faded(now - fault.time) for fault in faults)


def recent(faults: Iterable[Fault], now: float) -> list[Fault]:
    """Each fault of the last 28 days once, the first to begin first."""
    return distinct(fault for fault in faults if now - fault.time <= PERIOD_S)


def lemons_of(faults: Iterable[Fault], now: float, least: int = LEAST_FAULTS) -> tuple[Lemon, ...]:
    """Those with at least so many faults in 28 days, the worst first; `now` in Unix seconds."""
    by_incident = {fault.incident: fault for fault in recent(faults, now)}
    lemons = [
        _lemon(offender, distinct(by_incident[id_] for id_ in offender.incidents), now)
        for offender in _offenders(by_incident.values(), least)
    ]
    lemons.sort(key=lambda lemon: (-lemon.score, -lemon.faults, lemon.subject))
    return tuple(lemons)


def _offenders(faults: Iterable[Fault], least: int) -> list[_Offender]:
    """Without those that say nothing more than another."""
    by_key: dict[str, set[str]] = defaultdict(set)
    for fault in faults:
        for key in fault.keys:
            by_key[key].add(fault.incident)
    same: dict[frozenset[str], list[str]] = defaultdict(list)
    for key, incidents in by_key.items():
        if len(incidents) >= least:
            same[frozenset(incidents)].append(key)
    offenders = [_Offender(tuple(sorted(keys, key=_rank)), ids) for ids, keys in same.items()]
    # By incident, so that each is compared with the few that share a fault with it only.
    sharing: dict[str, list[_Offender]] = defaultdict(list)
    for offender in offenders:
        for id_ in offender.incidents:
            sharing[id_].append(offender)
    return [
        offender
        for offender in offenders
        if not any(
            # A node has the faults of all of its devices, which does not explain them.
            not other.of_node and offender.incidents < other.incidents
            for other in sharing[next(iter(offender.incidents))]
        )
    ]


def _rank(key: str) -> tuple[int, str]:
    return next(at for at, kind in enumerate(_ORDER) if key.startswith(kind)), key


def _lemon(offender: _Offender, faults: Sequence[Fault], now: float) -> Lemon:
    last = faults[-1]
    blamed, reason = blamed_for(offender.keys, faults)
    is_node = blamed is Blamed.NODE
    return Lemon(
        blamed=blamed,
        node=last.node,
        device="" if is_node else last.device_name,
        model="" if is_node else last.model,
        # Of a slot: the board that failed in it last.
        serial="" if is_node else last.serial,
        slot="" if is_node else last.slot,
        score=score_of(faults, now),
        faults=len(faults),
        first=timestamp(faults[0].time),
        last=timestamp(last.time),
        reason=reason,
        evidence=tuple(map(_note, faults[: -MOST_EVIDENCE - 1 : -1])),
        keys=offender.keys,
    )


def _note(fault: Fault) -> FaultNote:
    return FaultNote(
        time=timestamp(fault.time),
        incident=fault.incident,
        rule=fault.rule,
        title=fault.title,
        severity=fault.severity,
        node=fault.node,
        device=fault.device_name,
        serial=fault.serial,
        slot=fault.slot,
        weight=fault.weight,
    )
