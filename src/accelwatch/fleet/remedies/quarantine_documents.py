"""Whom a hub holds out and who could stand in, as its API tells it; times are RFC 3339."""

import msgspec

from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.plan.stand_ins import candidate
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.node_locations import failure_domain_of
from accelwatch.remediation.settings import RemedySettings
from accelwatch.schema.timestamps import timestamp, timestamp_or_none


class QuarantinedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A mark of ours on a node, as its scheduler showed it last."""

    node: str
    # The scheduler's name of the machine.
    target: str
    # By which the mark is known.
    incident: str
    # `node`, or a part of it.
    level: str
    stage: str
    # Whether a person took it out: then only a person gives it back.
    manual: bool
    reason: str
    set_by: str
    set_at: str | None
    # When it was seen last.
    observed_at: str | None


class LeftAlone(msgspec.Struct, frozen=True, kw_only=True):
    """A node to which nothing is done."""

    node: str
    since: str
    # None: until it is removed.
    until: str | None
    # Who asked for it; empty where a person undid what we did.
    by: str
    reason: str


class QuarantinePage(msgspec.Struct, frozen=True, kw_only=True):
    """What we hold out, and what people hold from us; by node."""

    # Whether anything is configured to act by.
    acts: bool
    quarantined: tuple[QuarantinedNode, ...] = msgspec.field(name="holds", default=())
    left_alone: tuple[LeftAlone, ...] = ()


class SpareDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One spare."""

    # The scheduler's.
    name: str
    # The hub's name of it.
    node: str
    # ready, reserved, in_use, returning or failed.
    state: str = msgspec.field(name="standing")
    # Whether it is there, looks well, and nobody else holds it; of a ready one: it can be drawn.
    usable: bool
    incident: str
    # The node that it replaces, by the scheduler's name.
    replaces: str = msgspec.field(name="stands_for")
    # When it passed its test last.
    tested: str | None
    # Why it failed.
    text: str
    # As the scheduler shows them, else by label.
    pools: tuple[str, ...]
    model: str
    rack: str
    # How often it has failed lately.
    score: float


class SparesPage(msgspec.Struct, frozen=True, kw_only=True):
    """All spares, by name."""

    # Whether anything is configured to act by.
    acts: bool
    # How long ago a spare may have passed its test to be drawn; 0: it need not have.
    test_max_age_s: float = 0.0
    spares: tuple[SpareDocument, ...] = ()


def quarantine_page(state: RemedyState, now: float) -> QuarantinePage:
    """All marks and wishes that count at a moment in Unix seconds."""
    quarantined = [
        QuarantinedNode(
            node=remedy.node,
            target=remedy.target,
            incident=quarantine.mark.incident,
            level=quarantine.level.value,
            stage=remedy.stage.value,
            manual=remedy.approval.manual,
            reason=quarantine.reason,
            set_by=quarantine.set_by,
            set_at=timestamp_or_none(quarantine.set_at),
            observed_at=timestamp_or_none(quarantine.observed_at),
        )
        for remedy in state.remedies.values()
        if (quarantine := remedy.hold) is not None
    ]
    vetoed = [
        LeftAlone(
            node=veto.node,
            since=timestamp(veto.at),
            until=timestamp_or_none(veto.until),
            by=veto.by,
            reason=veto.reason,
        )
        for veto in state.vetoes.values()
    ]
    undone = [
        LeftAlone(
            node=override.node,
            since=timestamp(override.at),
            until=timestamp(override.until),
            by="",
            reason=override.text,
        )
        for override in state.overrides.values()
        if override.until > now
    ]
    return QuarantinePage(
        acts=True,
        quarantined=tuple(sorted(quarantined, key=lambda row: row.node)),
        left_alone=tuple(sorted((*vetoed, *undone), key=lambda row: row.node)),
    )


def pools_of(ctx: StepContext, name: str, node: str) -> tuple[str, ...]:
    """The pools of a node, by the scheduler's name and the hub's."""
    return failure_domain_of(
        node, ctx.node_status(node), ctx.world.scheduler_nodes.get(name), ctx.settings
    ).pools


def spares_page(state: RemedyState, settings: RemedySettings, now: float) -> SparesPage:
    """All spares as they stand at a moment in Unix seconds."""
    ctx = StepContext(state, settings, now)
    names = {theirs: ours for ours, theirs in settings.nodes.items()}
    rows = []
    for name, spare in sorted(state.spares.spares.items()):
        details = candidate(ctx, name)
        rows.append(
            SpareDocument(
                name=name,
                node=names.get(name, name),
                state=spare.standing.value,
                usable=details.usable,
                incident=spare.incident,
                replaces=spare.stands_for,
                tested=timestamp_or_none(spare.tested),
                text=spare.text,
                pools=pools_of(ctx, name, names.get(name, name)),
                model=details.labels.get("model", ""),
                rack=details.labels.get("rack", ""),
                score=details.score,
            )
        )
    limit_s = settings.spares.test_max_age_s
    return SparesPage(acts=True, test_max_age_s=limit_s, spares=tuple(rows))
