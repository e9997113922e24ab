"""Which step draws a spare into the resource group of a bad agent, or returns it. Pure."""

from collections.abc import Mapping

from accelwatch.action.intent import Intent
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_backendai.api.agents import Agent
from accelwatch_backendai.observed_context import GROUP, ObservedContext
from accelwatch_backendai.proposals.quarantine import foreign_text, missing
from accelwatch_backendai.steps import DRAW, RETURN

# In an intent's `original`, once we have moved its spare: the group in which that was, and the one to
# which it was moved. A spare that is in neither was moved on by a person.
REPLACED = "group"
DRAWN_TO = "drawn to"
# Between polls of a spare whose sessions run on, maybe for days.
_BUSY_POLL_S = 30.0
# Of two machines of one type these differ by some MiB, and the agent reserves some of them for itself.
_OF_THE_HOST = frozenset({"cpu", "mem"})


def propose_draw(intent: Intent, context: ObservedContext) -> Proposal:
    """Move the spare into the group of the job that needs it."""
    name, spare, bad = intent.spare, context.spare, context.agent
    if spare is None:
        return missing(name)
    if bad is None:
        return missing(intent.node)
    target = context.own.get(GROUP) or bad.resource_group
    group = context.options.groups.get(target)
    if group is None:
        text = f"`groups` has no entry {target}, so that group has no spares"
        return Refusal(RefusalKind.IMPOSSIBLE, text)
    if spare.resource_group == target and REPLACED in intent.original:
        return Achieved(f"{name} is in the resource group {target}")
    if spare.resource_group != group.spares:
        text = f"{name} is in the resource group {spare.resource_group}, not in {group.spares}"
        return Refusal(RefusalKind.FOREIGN, f"{text}: another person or tool put it there")
    if why_not := _why_unfit(spare, bad):
        return why_not
    return Step(
        kind=DRAW,
        arguments={"agent": spare.id, "group": target},
        precondition={"group": spare.resource_group},
        original={REPLACED: spare.resource_group, DRAWN_TO: target},
        text=f"move the spare {name} to {target}",
    )


def propose_return(intent: Intent, context: ObservedContext) -> Proposal:
    """Move it back to the group that it was drawn from, as soon as no session runs on it."""
    name = intent.spare or intent.node
    spare = context.spare if intent.spare else context.agent
    if spare is None:
        return Achieved(f"the manager has no agent {name} any more")
    group = _group_drawn_from(intent, context, spare)
    if group is None:
        text = f"another person or tool moved {name} to {spare.resource_group}"
        return Refusal(RefusalKind.FOREIGN, text)
    if spare.resource_group == group:
        return Achieved(f"{name} is in the resource group {group} again")
    if not spare.idle:
        return Wait(_BUSY_POLL_S, f"{name} is returned when its sessions have ended")
    if not spare.alive:
        return Wait(_BUSY_POLL_S, f"{name} is {spare.status}; it is returned when it is ALIVE")
    return Step(
        kind=RETURN,
        arguments={"agent": spare.id, "group": group},
        precondition={"group": spare.resource_group},
        original={REPLACED: spare.resource_group},
        text=f"move the spare {name} back to {group}",
    )


def _group_drawn_from(intent: Intent, context: ObservedContext, spare: Agent) -> str | None:
    """The group to which a spare belongs; None where it is in none that we have moved it to.

    The configuration says it only of a spare whose draw was not recorded: it may have changed since.
    """
    here, drawn_from = spare.resource_group, intent.original.get(REPLACED, "")
    if drawn_from:
        return drawn_from if here in (drawn_from, intent.original.get(DRAWN_TO)) else None
    if here in context.options.spare_groups:
        return here
    group = context.options.groups.get(here)
    return None if group is None else group.spares


def _why_unfit(spare: Agent, bad: Agent) -> Refusal | None:
    if not spare.alive:
        # The manager would ask the agent, and before 26.8 keep the request for more than a minute.
        return Refusal(RefusalKind.IMPOSSIBLE, f"{spare.id} is {spare.status}, not ALIVE")
    if not spare.schedulable:
        return Refusal(RefusalKind.FOREIGN, foreign_text(spare))
    if not spare.idle:
        return Refusal(RefusalKind.FOREIGN, f"{spare.id} is not idle: sessions run on it")
    if lacks := lacking(spare, bad):
        return Refusal(RefusalKind.IMPOSSIBLE, f"{spare.id} is smaller than {bad.id}: {lacks}")
    return None


def lacking(spare: Agent, bad: Agent) -> str:
    """What a spare has too little of to replace a bad agent; empty where it will do.

    All devices of the bad agent, and as much of the host as is in use there now.
    """
    in_use = bad.occupied or {}
    need: Mapping[str, float] = {
        slot: in_use.get(slot, 0.0) if slot in _OF_THE_HOST else amount
        for slot, amount in bad.capacity.items()
    }
    return ", ".join(
        f"{slot} {spare.capacity.get(slot, 0.0):g} of {amount:g}"
        for slot, amount in sorted(need.items())
        if spare.capacity.get(slot, 0.0) < amount
    )
