"""A moment passes: clocks run out, and what was touched is looked at again, the most urgent first."""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remedy import breaker, relapses
from accelwatch.remedy.clocks import REVIVAL_S
from accelwatch.remedy.conditions import Happening
from accelwatch.remedy.dead_spares import look_after_spares
from accelwatch.remedy.deadlines import overdue
from accelwatch.remedy.denial import Denial, DenialKind
from accelwatch.remedy.departures import tidy
from accelwatch.remedy.gates import in_the_way, told_in_the_way
from accelwatch.remedy.hanging import tell_hanging
from accelwatch.remedy.jobs import cancels, must_fence, next_job, wrong
from accelwatch.remedy.ladder import INTENTS, next_rung
from accelwatch.remedy.late_spares import draw_late
from accelwatch.remedy.model import Remedy
from accelwatch.remedy.order import Waiting, in_order
from accelwatch.remedy.outcome import Loudness
from accelwatch.remedy.own_ends import look_for_ends
from accelwatch.remedy.probing import probe_silent
from accelwatch.remedy.reservations import return_reservations
from accelwatch.remedy.resuming import revive
from accelwatch.remedy.spare_tests import keep_tested
from accelwatch.remedy.stage import Stage, Trigger
from accelwatch.remedy.surroundings import Surroundings
from accelwatch.remedy.touched import Touched
from accelwatch.remedy.transitions import happen, keep
from accelwatch.remedy.world import Looked

LOOK_EVERY_S = 1.0
"""Between two looks at everything, for what nothing but time brings."""
MOST_AT_ONCE = 8
"""Stages that a remedy goes through in one moment at most."""
_TICK = Happening(Trigger.TICK)
_DUE = Happening(Trigger.DUE)
_OVERDUE = Happening(Trigger.OVERDUE)
_WAITING = frozenset({Stage.SUSPECT, Stage.AWAITING_APPROVAL, Stage.UNREACHABLE})
_FOR_PEOPLE = frozenset({DenialKind.ATTEMPTS, DenialKind.RETRY, DenialKind.NO_SPARE})
_SPENT = frozenset({DenialKind.BUDGET, DenialKind.DOMAIN_BUDGET, DenialKind.AVAILABLE})


def tick(sur: Surroundings) -> None:
    """Look at whatever was touched, at what is due, and once in a while at everything."""
    now, last = sur.now, sur.world.looked.at
    every = last is None or not 0 <= now - last < LOOK_EVERY_S
    if every or sur.touched.nodes or sur.touched.everything:
        _groups(sur)
    sur.set("breaker", breaker.advanced(sur.state.breaker, now, sur.settings.breaker))
    _let_expire(sur)
    _forget_relapses(sur)
    tidy(sur)
    look_for_ends(sur)
    revive(sur)
    look_after_spares(sur)
    keep_tested(sur)
    probe_silent(sur)
    if every:
        tell_hanging(sur)
        draw_late(sur)
    before = sur.touched
    before.everything |= every
    sur.touched = Touched(Looked())
    remedies = list(sur.state.remedies.values())
    shown = _nodes_of(sur, before.shown, remedies)
    for remedy in remedies:
        if remedy.stage not in _WAITING and _is_due(sur, remedy, before, shown):
            _settle(sur, remedy.node)
    waiting = [one for one in remedies if one.stage in _WAITING]
    if before.waiting or sur.touched.waiting:
        before.nodes.update(one.node for one in waiting)
    if any(_is_due(sur, one, before, shown) for one in waiting):
        for remedy in _in_order(sur, waiting):
            if sur.touched.waiting or _is_due(sur, remedy, before, shown):
                _settle(sur, remedy.node)
    return_reservations(sur)  # of jobs that nothing moves, not even from this moment on
    after = sur.touched
    sur.looked(
        Looked(
            at=now if before.everything else last,
            again=frozenset(after.nodes) | _nodes_of(sur, after.shown, remedies),
            waiting=after.waiting,
            everything=after.everything,
        )
    )


def _let_expire(sur: Surroundings) -> None:
    for table in ("vetoes", "denied"):
        rows = getattr(sur.state, table)
        for key, row in list(rows.items()):
            if row.until is not None and row.until <= sur.now:
                sur.put(table, key, None)


def _forget_relapses(sur: Surroundings) -> None:
    """Of nodes that have been well for long enough, or that we do not hold."""
    for node, known in list(sur.state.relapses.items()):
        gone = known.released is None and node not in sur.state.remedies
        if gone or relapses.is_over(known, sur.now, sur.settings.relapse_s):
            sur.put("relapses", node, None)


def _nodes_of(sur: Surroundings, shown: set[str], remedies: list[Remedy]) -> set[str]:
    """The hub's names of nodes that have a remedy and are shown otherwise than before."""
    if not shown:
        return set()
    return {one.node for one in remedies if one.node in shown or sur.target(one) in shown}


def _is_due(sur: Surroundings, remedy: Remedy, touched: Touched, shown: set[str]) -> bool:
    """Whether looking at a remedy may come to something."""
    return (
        touched.everything
        or sur.touched.everything
        or remedy.node in touched.nodes
        or remedy.node in sur.touched.nodes
        or remedy.node in shown
        or (remedy.due is not None and sur.now >= remedy.due)
        # It depends on other nodes: who could stand in for it, where its job may not go.
        or (remedy.stage is Stage.DRAINING and remedy.pursuing is None)
    )


def _in_order(sur: Surroundings, remedies: list[Remedy]) -> list[Remedy]:
    if len(remedies) < 2:
        return remedies
    by_node = {one.node: one for one in remedies}
    waiting = [
        Waiting(
            incident=one.node,
            rank=max((case.severity.weight for case in one.cases), default=0),
            since=one.begun,
            attempts=one.failures,
        )
        for one in remedies
    ]
    return [by_node[one.incident] for one in in_order(waiting, sur.now)]


def _settle(sur: Surroundings, node: str) -> None:
    remedy = sur.state.remedies.get(node)
    if remedy is None:
        return
    if remedy.due is not None and sur.now >= remedy.due:
        _due(sur, remedy)
    for _ in range(MOST_AT_ONCE):
        before = sur.state.remedies.get(node)
        if before is None or not happen(sur, node, _TICK):
            break
        if sur.state.remedies.get(node) is before:
            break
    _tell_denial(sur, node)
    after = sur.state.remedies.get(node)
    if after is not None and overdue(sur, after):
        happen(sur, node, _OVERDUE)


def _due(sur: Surroundings, remedy: Remedy) -> None:
    """A clock has run out; it does so once."""
    happen(sur, remedy.node, _DUE)
    after = sur.state.remedies.get(remedy.node)
    if after is not None and after.stage is remedy.stage and after.due == remedy.due:
        keep(sur, after, msgspec.structs.replace(after, due=None))


def _groups(sur: Surroundings) -> None:
    groups = {case.group for one in sur.state.remedies.values() for case in one.cases if case.group}
    storms = tuple(sorted(groups))
    if storms != sur.state.breaker.storms:
        sur.set("breaker", breaker.stormed(sur.state.breaker, storms, sur.now))


def _tell_denial(sur: Surroundings, node: str) -> None:
    """Keep what stands in the way, and tell it when it is another thing than before."""
    remedy = sur.state.remedies.get(node)
    if remedy is None:
        return
    kind = _wanted(sur, remedy)
    denial = None if kind is None else in_the_way(sur, remedy, kind)
    if denial is not None and denial.why in _SPENT and remedy.incident:
        changed = breaker.breached(
            sur.state.breaker, remedy.incident, remedy.begun, sur.now, sur.settings.breaker
        )
        sur.set("breaker", changed)
    denial = None if kind is None else told_in_the_way(sur, remedy, kind)
    if _same(denial, remedy.denial):
        return
    keep(sur, remedy, msgspec.structs.replace(remedy, denial=denial))
    # Of what is only told nothing is wanted that could be held back.
    if denial is not None and (remedy.manual or remedy.unfit or wrong(sur, remedy)):
        sur.note(remedy, f"{kind} is held back: {denial.text}", _loudness(denial, sur.now))


def _loudness(denial: Denial, now: float) -> Loudness:
    """Who has to know: nobody of what passes, a person of what only a person can change."""
    if denial.why in _FOR_PEOPLE:
        soon = denial.until is not None and denial.until - now < REVIVAL_S
        return Loudness.TELL if soon else Loudness.ALERT
    return Loudness.LOG if denial.why.passes_by_itself else Loudness.TELL


def _same(one: Denial | None, other: Denial | None) -> bool:
    return (one and one.why) == (other and other.why)


def _wanted(sur: Surroundings, remedy: Remedy) -> Kind | None:
    """What a remedy waits for."""
    if remedy.stage in _WAITING:
        return Kind.QUARANTINE
    if remedy.pursuing is not None:
        return None
    if remedy.stage is Stage.RELEASING:
        return Kind.RELEASE
    if remedy.stage is Stage.DRAINING and next_job(sur, remedy) is not None:
        return Kind.CANCEL_JOB if cancels(remedy) else Kind.MOVE_JOB
    if remedy.stage is Stage.QUARANTINED and must_fence(sur, remedy):
        return Kind.FENCE
    if remedy.stage is Stage.QUARANTINED and not remedy.manual:
        return INTENTS.get(next_rung(remedy))
    return None
