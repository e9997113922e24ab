"""From what has happened to a remedy to its next stage, as the table says."""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remedy import breaker, budget, clocks
from accelwatch.remedy.conditions import CONDITIONS, Happening, Scene
from accelwatch.remedy.effects import EFFECTS
from accelwatch.remedy.gates import leader
from accelwatch.remedy.intents import BY_HAND, intent_of
from accelwatch.remedy.machine import ROWS, Row
from accelwatch.remedy.model import Remedy
from accelwatch.remedy.stage import Stage
from accelwatch.remedy.state_loss import WAITS_FOR_MARK
from accelwatch.remedy.surroundings import Surroundings

replace = msgspec.structs.replace
_WELL = frozenset({Stage.HEALTHY, Stage.PROBATION, Stage.SERVICE, Stage.HELD_BY_OTHER})
_ROWS = {
    place: tuple((row, tuple(CONDITIONS[name] for name in row.conditions)) for row in rows)
    for place, rows in ROWS.items()
}
"""The table, with the conditions themselves in the place of their names."""
_TROUBLED = frozenset({Stage.FAILED, Stage.UNKNOWN})
_BADLY = frozenset({Stage.FAILED, Stage.OVERRIDDEN, Stage.UNKNOWN})


def happen(sur: Surroundings, node: str, happening: Happening, new: Remedy | None = None) -> bool:
    """Let something happen to a node's remedy; whether the table has a row for it that counts now.

    `new` is one that begins with it.
    """
    remedy = new or sur.remedy(node)
    row = _row(sur, remedy, happening)
    if row is None:
        return False
    after = remedy
    if row.as_before:
        stage = remedy.came_from or Stage.QUARANTINED
        after = replace(remedy, stage=stage, came_from=None, trouble="")
        row = _row(sur, after, happening)
        if row is None:
            keep(sur, remedy, after)
            return True
    for name in row.does:
        after = EFFECTS[name](Scene(sur, after, happening))
    if row.target is not None:
        after = _entered(sur, after, row.target)
    if row.wants is not None:
        after = _begin(sur, after, row.wants)
    keep(sur, remedy, after)
    return True


def _row(sur: Surroundings, remedy: Remedy, happening: Happening) -> Row | None:
    scene = Scene(sur, remedy, happening)
    for row, conditions in _ROWS.get((remedy.stage, happening.trigger), ()):
        for holds in conditions:
            if not holds(scene):
                break
        else:
            return row
    return None


def keep(sur: Surroundings, before: Remedy, after: Remedy) -> None:
    """Have a remedy as it is now, with its share of the budgets and what the breaker hears of it."""
    if after == before:
        return
    over = after.stage is Stage.HEALTHY
    if not (over and before.stage is Stage.HEALTHY):
        sur.put("remedies", after.node, None if over else after)
    if over:
        _over(sur, before)
    if after.stage is not before.stage:
        _trial(sur, before, after.stage)
    balance(sur, after.node)


def balance(sur: Surroundings, node: str) -> None:
    """What may be a quarantine of ours counts against the budget, and nothing else does."""
    remedy = sur.state.remedies.get(node)
    lingering = sur.state.lingering.get(node)
    counts = (remedy is not None and remedy.counts) or (
        lingering is not None and lingering.kind is Kind.QUARANTINE
    )
    own = sur.state.budget.own.get(node)
    if counts and own is None:
        incident = BY_HAND if remedy is None else remedy.incident or BY_HAND
        place = sur.place(sur.remedy(node))
        sur.set("budget", budget.adopt(sur.state.budget, place, incident, sur.now))
    elif own is not None and not counts:
        state = sur.state.budget
        for incident in own.incidents:
            state = budget.give_back(state, node, incident)
        sur.set("budget", state)


def replaced(sur: Surroundings, node: str) -> None:
    """Count a node of ours where it belongs: after a start its mark may be seen before its labels."""
    own = sur.state.budget.own.get(node)
    place = sur.place(sur.remedy(node))
    if own is not None and place.domains and place != own.place:
        incident = own.incidents[-1]
        sur.set("budget", budget.adopt(sur.state.budget, place, incident, sur.now))


def _begin(sur: Surroundings, remedy: Remedy, kind: Kind) -> Remedy:
    """Begin an intent; whether it may be was asked by the row's conditions."""
    if kind is Kind.QUARANTINE:
        remedy = _reserved(sur, remedy)
    intent = intent_of(sur, remedy, kind)
    if kind is Kind.QUARANTINE:
        text = f"{remedy.node} is to be taken out, {sur.now - remedy.begun:.1f} s after it was suspected"
        sur.note(remedy, text)
    sur.pursue(intent)
    return replace(remedy, pursuing=intent, cancelling=False, denial=None)


def _reserved(sur: Surroundings, remedy: Remedy) -> Remedy:
    seen = sur.seen(remedy)
    target = remedy.node if seen is None else seen.name
    case = None if remedy.manual else leader(sur, remedy)
    if case is not None:
        remedy = replace(remedy, policy=case.policy, incident=case.incident)
    remedy = replace(remedy, target=target, first_policy=None, led_by="")
    incident = remedy.incident or BY_HAND
    if remedy.node not in sur.state.budget.own:
        state, _ = budget.reserve(
            sur.state.budget,
            sur.place(remedy),
            incident,
            sur.census,
            now=sur.now,
            budget=sur.settings.budget,
        )
        if remedy.node in state.own:
            state = budget.spend(state, remedy.node)
        sur.set("budget", state)
    sur.set("breaker", breaker.begun(sur.state.breaker, incident))
    return remedy


def _entered(sur: Surroundings, remedy: Remedy, stage: Stage) -> Remedy:
    trouble = remedy.trouble if stage in _TROUBLED else ""
    due = _due(sur, remedy, stage)
    lost = remedy.mark_lost and stage in WAITS_FOR_MARK
    entered = replace(
        remedy, stage=stage, since=sur.now, due=due, overdue="", denial=None, trouble=trouble
    )
    return replace(entered, mark_lost=lost) if lost is not remedy.mark_lost else entered


def _due(sur: Surroundings, remedy: Remedy, stage: Stage) -> float | None:
    """When the clock of a stage that is entered now runs out."""
    policy = remedy.policy
    match stage:
        case Stage.AWAITING_APPROVAL:
            return sur.now + sur.settings.approval_s
        case Stage.UNREACHABLE:
            heard = sur.heard(remedy.node)
            since = sur.now if heard is None else heard.time
            return max(since + clocks.UNREACHABLE_S, sur.now)
        case Stage.PROBATION:
            return sur.now + (0.0 if policy is None else policy.probation_s)
        case Stage.FAILED:
            return sur.now + clocks.RETRY_S * 2.0 ** (max(remedy.failures, 1) - 1)
        case Stage.OVERRIDDEN:
            row = sur.state.overrides.get(remedy.node)
            return sur.now if row is None else row.until
        case _:
            return None


def _over(sur: Surroundings, remedy: Remedy) -> None:
    if not remedy.cases and remedy.incident in sur.state.breaker.breaches:
        sur.set("breaker", breaker.forgotten(sur.state.breaker, remedy.incident))


def _trial(sur: Surroundings, remedy: Remedy, stage: Stage) -> None:
    if remedy.incident != sur.state.breaker.trial or not remedy.incident:
        return
    if stage in _WELL or stage in _BADLY:
        changed = breaker.trial_over(
            sur.state.breaker, remedy.incident, well=stage in _WELL, now=sur.now
        )
        sur.set("breaker", changed)
