"""What is seen of nodes: by the hub, by the schedulers, and how much of the fleet is seen at all."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import NodeSeen, Standing
from accelwatch.remediation.policy.guards import data_guard
from accelwatch.remediation.policy.guards.data_guard import Sight
from accelwatch.remediation.policy.jobs.departures import departed
from accelwatch.remediation.policy.jobs.probing import speaks_again
from accelwatch.remediation.policy.plan.set_back import dated, is_ahead
from accelwatch.remediation.policy.plan.state_loss import (
    controller_boot,
    marks_lost,
    tell_state_lost,
)
from accelwatch.remediation.policy.state.clocks import FRESH_S, GAP_S
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.places import machine_of
from accelwatch.remediation.policy.state.pursued import Surveyed
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from accelwatch.remediation.policy.state.step_context import StepContext
from accelwatch.remediation.policy.state.world import Good, NodeHeard, Scheduler
from accelwatch.remediation.policy.step import reservations
from accelwatch.remediation.policy.table.conditions import Happening
from accelwatch.remediation.policy.table.holding import is_taken_over
from accelwatch.remediation.policy.table.transitions import happen, keep, replaced

replace = msgspec.structs.replace
_SEEN: Mapping[Standing, Trigger] = MappingProxyType(
    {
        Standing.OPEN: Trigger.SEEN_OPEN,
        Standing.OURS: Trigger.SEEN_OURS,
        Standing.FOREIGN: Trigger.SEEN_FOREIGN,
        Standing.DOWN: Trigger.SEEN_DOWN,
        Standing.MISSING: Trigger.SEEN_MISSING,
    }
)


def observed(ctx: StepContext, one: NodeHeard | Sight | Surveyed) -> None:
    """Take up what was seen."""
    match one:
        case NodeHeard():
            _heard(ctx, dated(ctx, one))
        case Sight():
            guard = data_guard.seen(ctx.world.guard, one, ctx.settings.data_guard)
            ctx.guard(guard)
        case Surveyed():
            _surveyed(ctx, one)


def _heard(ctx: StepContext, heard: NodeHeard) -> None:
    before = ctx.world.heard.get(heard.node)
    if before is not None and heard.time < before.time:
        return
    ctx.look("heard", heard.node, heard)
    if heard.healthy is not None:
        ctx.look("good", heard.node, _good(ctx, heard))
    if before is None or before.labels != heard.labels:
        ctx.recount(names=False)
        replaced(ctx, heard.node)
    if before is None or machine_of(before) != machine_of(heard):
        ctx.recount(names=True)
    if before is not None and heard.late is not before.late:
        if not heard.late:
            speaks_again(ctx, heard.node)
        ctx.look("late", heard.node, ctx.now if heard.late else None)
    remedy = ctx.state.remedies.get(heard.node)
    if remedy is None:
        return
    if remedy.fenced and heard.healthy is not None and remedy.stage is not Stage.FENCING:
        # It answers again: what was proven of it holds no more.
        keep(ctx, remedy, replace(remedy, fenced=False))
    if _swapped(remedy, heard):
        happen(ctx, heard.node, Happening(Trigger.SWAPPED))


def _good(ctx: StepContext, heard: NodeHeard) -> Good | None:
    if not heard.healthy:
        return None
    before = ctx.world.good.get(heard.node)
    since = heard.time
    if (
        before is not None
        and before.generation == heard.generation
        and heard.time - before.until <= GAP_S
    ):
        since = before.since
    return Good(generation=heard.generation, since=since, until=heard.time)


def _swapped(remedy: Remedy, heard: NodeHeard) -> bool:
    """Whether a device is there that was never seen in the node before."""
    if not remedy.serials:
        return False
    known = {*remedy.serials.values(), *(case.serial for case in remedy.cases)}
    return any(serial and serial not in known for serial in heard.serials.values())


def _surveyed(ctx: StepContext, survey: Surveyed) -> None:
    if is_ahead(ctx, survey.time):
        return
    known = ctx.world.schedulers.get(survey.action)
    if known is not None and survey.time < known.time:
        return
    if survey.unavailable:
        before = known or Scheduler(time=survey.time)
        scheduler = replace(before, unavailable=survey.unavailable, probes=False)
        ctx.touched.everything = True
        ctx.look("schedulers", survey.action, scheduler)
        return
    _take_up(ctx, survey)
    _answers(ctx, known, survey.time)
    scheduler = Scheduler(
        time=survey.time,
        probes=survey.probes,
        controller_boot=survey.controller_boot,
        impossible=survey.impossible,
    )
    ctx.look("schedulers", survey.action, scheduler)
    lost = marks_lost(ctx)
    _look(ctx, survey)
    tell_state_lost(ctx, survey.action, marks_lost(ctx) - lost)


def _answers(ctx: StepContext, known: Scheduler | None, time: float) -> None:
    """Touch those to whom it is news that a scheduler has answered, asked at a moment."""
    if known is None or known.unavailable or ctx.now - known.time > FRESH_S:
        ctx.touched.everything = True
        return
    # What was looked at by itself since then is shown by all that is read from now on.
    ctx.touched.nodes.update(
        node for node, settled in ctx.world.settled.items() if known.time <= settled < time
    )


def _take_up(ctx: StepContext, survey: Surveyed) -> None:
    """Have the nodes as they are shown now; one that is not shown any more is missing."""
    shown = {seen.name for seen in survey.nodes}
    gone = [
        NodeSeen(name=name, standing=Standing.MISSING)
        for name, action in ctx.world.seen_by.items()
        if name not in shown and action == survey.action
    ]
    left: dict[JobKey, list[str]] = {}
    again: frozenset[JobKey] = frozenset()
    for seen in (*survey.nodes, *gone):
        before = ctx.world.seen.get(seen.name)
        if before is seen or before == seen:
            continue
        again |= frozenset() if before is None else before.begin_again
        for job in () if before is None else before.jobs:
            if job not in seen.jobs:
                left.setdefault(job, []).append(seen.name)
        ctx.look("seen", seen.name, seen)
        ctx.look("seen_by", seen.name, survey.action)
        known = before is not None and _who(before) == _who(seen)
        ctx.recount(names=not known)
    departed(ctx, left, again, survey.time)
    reservations.seen(ctx, survey)
    reservations.look_again(ctx, left)


def _who(seen: NodeSeen) -> tuple[str, str, str, float | None, bool]:
    missing = seen.standing is Standing.MISSING
    return seen.address, seen.boot_id, seen.system_uuid, seen.boot_time, missing


def _look(ctx: StepContext, survey: Surveyed) -> None:
    """Tell the remedies how their nodes stand, and find marks of ours that nobody knows."""
    nodes = {one.target or ctx.target(one): one.node for one in ctx.state.remedies.values()}
    names = {theirs: ours for ours, theirs in ctx.settings.nodes.items()}
    forgotten = ctx.state.forgotten
    for seen in survey.nodes:
        ours = seen.standing is Standing.OURS
        node = nodes.get(seen.name) or names.get(seen.name, seen.name)
        if ours or seen.name in nodes:
            _stand(ctx, node, seen, survey.time)
        elif node in forgotten:
            ctx.put("forgotten", node, None)


def _stand(ctx: StepContext, node: str, seen: NodeSeen, time: float) -> None:
    remedy = ctx.state.remedies.get(node)
    # What was read before the last look of an action at the node is out of date.
    if time <= ctx.world.settled.get(node, float("-inf")):
        return
    if remedy is None and node in ctx.state.lingering:
        return
    if remedy is not None:
        remedy = _still_marked(ctx, remedy, seen)
    busy = remedy is not None and remedy.pursuing is not None
    if busy and seen.standing is not Standing.FOREIGN:
        return
    if seen.standing is Standing.OURS and remedy is not None and is_taken_over(remedy, seen):
        happen(ctx, node, Happening(Trigger.SEEN_FOREIGN, seen=seen))
    else:
        happen(ctx, node, Happening(_SEEN[seen.standing], seen=seen))


def _still_marked(ctx: StepContext, remedy: Remedy, seen: NodeSeen) -> Remedy:
    """A controller that was started anew has kept our mark: what it shows from now on is no loss."""
    hold, boot = remedy.hold, controller_boot(ctx, seen.name)
    if hold is None or seen.standing is not Standing.OURS or boot in ("", hold.controller_boot):
        return remedy
    kept = replace(remedy, hold=replace(hold, controller_boot=boot))
    keep(ctx, remedy, kept)
    return kept
