"""What is seen of nodes: by the hub, by the schedulers, and how much of the fleet is seen at all."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.remediation.policy.conditions.transition import RemedyEvent
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import FORGOTTEN
from accelwatch.remediation.policy.context.world_tables import (
    GOOD,
    LATE,
    NODE_STATUSES,
    SCHEDULER_NODES,
    SCHEDULERS,
    SHOWN_BY,
)
from accelwatch.remediation.policy.effects.node_quarantine import is_taken_over
from accelwatch.remediation.policy.guards import data_guard
from accelwatch.remediation.policy.guards.data_guard import FleetCoverage
from accelwatch.remediation.policy.jobs.departures import departed
from accelwatch.remediation.policy.jobs.probing import speaks_again
from accelwatch.remediation.policy.plan.set_back import dated, is_ahead
from accelwatch.remediation.policy.plan.state_loss import (
    controller_boot,
    lost_annotations,
    notify_state_lost,
    remains_ours,
)
from accelwatch.remediation.policy.state.clocks import FRESH_S, GAP_S
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.node_locations import machine_of
from accelwatch.remediation.policy.state.pursued import Poll
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from accelwatch.remediation.policy.state.world import Good, JournalStatus, NodeStatus, Scheduler
from accelwatch.remediation.policy.step import reservations
from accelwatch.remediation.policy.table.transitions import apply_event, replaced, store_remedy

replace = msgspec.structs.replace
_TRIGGERS: Mapping[HoldState, Trigger] = MappingProxyType(
    {
        HoldState.OPEN: Trigger.OBSERVED_OPEN,
        HoldState.OURS: Trigger.OBSERVED_OURS,
        HoldState.FOREIGN: Trigger.OBSERVED_FOREIGN,
        HoldState.DOWN: Trigger.OBSERVED_DOWN,
        HoldState.MISSING: Trigger.OBSERVED_MISSING,
    }
)


def observed(
    ctx: StepContext, observation: NodeStatus | FleetCoverage | JournalStatus | Poll
) -> None:
    """Process an observation."""
    match observation:
        case NodeStatus():
            _apply_node_status(ctx, dated(ctx, observation))
        case FleetCoverage():
            guard = data_guard.record_tick(ctx.world.guard, observation, ctx.settings.data_guard)
            ctx.guard(guard)
        case JournalStatus():
            ctx.journal(observation)
        case Poll():
            _polled(ctx, observation)


def _apply_node_status(ctx: StepContext, status: NodeStatus) -> None:
    before = ctx.world.node_statuses.get(status.node)
    if before is not None and status.time < before.time:
        return
    ctx.set_world_row(NODE_STATUSES, status.node, status)
    if status.healthy is not None:
        ctx.set_world_row(GOOD, status.node, _good(ctx, status))
    if before is None or before.labels != status.labels:
        ctx.recount(names=False)
        replaced(ctx, status.node)
    if before is None or machine_of(before) != machine_of(status):
        ctx.recount(names=True)
    if before is not None and status.late is not before.late:
        if not status.late:
            speaks_again(ctx, status.node)
        ctx.set_world_row(LATE, status.node, ctx.now if status.late else None)
    remedy = ctx.state.remedies.get(status.node)
    if remedy is None:
        return
    if remedy.jobs.fenced and status.healthy is not None and remedy.stage is not Stage.FENCING:
        # It answers again: what was proven of it holds no more.
        store_remedy(ctx, remedy, replace(remedy, jobs=replace(remedy.jobs, fenced=False)))
    if _swapped(remedy, status):
        apply_event(ctx, ctx.remedy(status.node), RemedyEvent(Trigger.SWAPPED))


def _good(ctx: StepContext, status: NodeStatus) -> Good | None:
    if not status.healthy:
        return None
    before = ctx.world.good.get(status.node)
    since = status.time
    if (
        before is not None
        and before.generation == status.generation
        and status.time - before.until <= GAP_S
    ):
        since = before.since
    return Good(generation=status.generation, since=since, until=status.time)


def _swapped(remedy: Remedy, status: NodeStatus) -> bool:
    """Whether a device is there that was never seen in the node before."""
    if not remedy.repair.serials:
        return False
    existing = {*remedy.repair.serials.values(), *(case.serial for case in remedy.cases)}
    return any(serial and serial not in existing for serial in status.serials.values())


def _polled(ctx: StepContext, poll: Poll) -> None:
    if is_ahead(ctx, poll.time):
        return
    previous = ctx.world.schedulers.get(poll.action)
    if previous is not None and poll.time < previous.time:
        return
    if poll.unavailable:
        before = previous or Scheduler(time=poll.time)
        scheduler = replace(before, unavailable=poll.unavailable, probes=False)
        ctx.touched.everything = True
        ctx.set_world_row(SCHEDULERS, poll.action, scheduler)
        return
    _apply_poll(ctx, poll)
    _answers(ctx, previous, poll.time)
    scheduler = Scheduler(
        time=poll.time,
        probes=poll.probes,
        quarantines_devices=poll.quarantines_devices,
        controller_boot=poll.controller_boot,
        impossible=poll.impossible,
    )
    ctx.set_world_row(SCHEDULERS, poll.action, scheduler)
    lost = lost_annotations(ctx)
    _update_remedies(ctx, poll)
    notify_state_lost(ctx, poll.action, lost_annotations(ctx) - lost)


def _answers(ctx: StepContext, previous: Scheduler | None, time: float) -> None:
    """Touch the remedies that wait for a scheduler, which has answered a query of that time."""
    if previous is None or previous.unavailable or ctx.now - previous.time > FRESH_S:
        ctx.touched.everything = True
        return
    # Nodes that were observed singly since then: every later poll shows them.
    ctx.touched.nodes.update(
        node for node, settled in ctx.world.settled.items() if previous.time <= settled < time
    )


def _apply_poll(ctx: StepContext, poll: Poll) -> None:
    """Have the nodes as they are shown now; one that is not shown any more is missing."""
    shown = {node.name for node in poll.nodes}
    missing = [
        NodeObservation(name=name, hold_state=HoldState.MISSING)
        for name, action in ctx.world.shown_by.items()
        if name not in shown and action == poll.action
    ]
    left: dict[JobKey, list[str]] = {}
    again: frozenset[JobKey] = frozenset()
    for node in (*poll.nodes, *missing):
        before = ctx.world.scheduler_nodes.get(node.name)
        if before is node or before == node:
            continue
        again |= frozenset() if before is None else before.restartable
        for job in () if before is None else before.jobs:
            if job not in node.jobs:
                left.setdefault(job, []).append(node.name)
        ctx.set_world_row(SCHEDULER_NODES, node.name, node)
        ctx.set_world_row(SHOWN_BY, node.name, poll.action)
        same_identity = before is not None and _who(before) == _who(node)
        ctx.recount(names=not same_identity)
    departed(ctx, left, again, poll.time)
    reservations.record_poll(ctx, poll)
    reservations.recheck_chores(ctx, left)


def _who(observation: NodeObservation) -> tuple[str, str, str, float | None, bool]:
    missing = observation.hold_state is HoldState.MISSING
    return (
        observation.address,
        observation.boot_id,
        observation.system_uuid,
        observation.boot_time,
        missing,
    )


def _update_remedies(ctx: StepContext, poll: Poll) -> None:
    """Update the remedies with their nodes' state, and find marks of ours that no remedy has."""
    nodes = {ctx.target(remedy): remedy.node for remedy in ctx.state.remedies.values()}
    forgotten = ctx.state.forgotten
    for observation in poll.nodes:
        ours = observation.hold_state is HoldState.OURS
        node = nodes.get(observation.name)
        if ours or node:
            _stand(ctx, node or ctx.hub_name(observation.name), observation, poll.time)
        elif forgotten and (name := ctx.hub_name(observation.name)) in forgotten:
            ctx.set_row(FORGOTTEN, name, None)


def _stand(ctx: StepContext, node: str, observation: NodeObservation, time: float) -> None:
    remedy = ctx.state.remedies.get(node)
    # What was read before the last look of an action at the node is out of date.
    if time <= ctx.world.settled.get(node, float("-inf")):
        return
    if remedy is None and node in ctx.state.lingering:
        return
    if remedy is not None:
        remedy = _with_controller_boot(ctx, remedy, observation)
    busy = remedy is not None and remedy.pursuing is not None
    if busy and observation.hold_state is not HoldState.FOREIGN:
        return
    if (
        observation.hold_state is HoldState.OURS
        and remedy is not None
        and is_taken_over(remedy, observation)
    ):
        trigger = Trigger.OBSERVED_FOREIGN
    elif observation.undone and remedy is not None and remains_ours(ctx, remedy, observation):
        return
    elif observation.undone and _is_quarantined(remedy):
        # As if it were open: a person wants it back. What is left of our mark is removed at the next
        # look, which finds a mark on a node that was given back.
        trigger = Trigger.OBSERVED_OPEN
    else:
        trigger = _TRIGGERS[observation.hold_state]
    apply_event(ctx, ctx.remedy(node), RemedyEvent(trigger, observation=observation))


def _is_quarantined(remedy: Remedy | None) -> bool:
    """Whether we hold it for good, and are not on the way to give it back."""
    return remedy is not None and remedy.hold is not None and remedy.stage is not Stage.RELEASING


def _with_controller_boot(ctx: StepContext, remedy: Remedy, observation: NodeObservation) -> Remedy:
    """A restarted controller has kept our mark: what it shows from now on is no loss."""
    quarantine, boot = remedy.hold, controller_boot(ctx, observation.name)
    if (
        quarantine is None
        or observation.hold_state is not HoldState.OURS
        or boot in ("", quarantine.controller_boot)
    ):
        return remedy
    kept = replace(remedy, hold=replace(quarantine, controller_boot=boot))
    store_remedy(ctx, remedy, kept)
    return kept
