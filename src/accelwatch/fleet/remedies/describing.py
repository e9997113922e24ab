"""How the state of the remedies becomes the documents of the API."""

from collections import Counter
from collections.abc import Mapping

from accelwatch.fleet.documents.remedies import (
    BudgetDocument,
    LeftAlone,
    NoteDocument,
    QuarantinedNode,
    QuarantineDocument,
    QuarantinePage,
    RemediesPage,
    RemedyDocument,
    SpareDocument,
    SparesPage,
)
from accelwatch.remediation.policy.context.outcome import Note
from accelwatch.remediation.policy.context.running_tests import nodes_in_tests
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.guards.limits.budget import bound
from accelwatch.remediation.policy.plan.spares.candidates import candidate
from accelwatch.remediation.policy.state.model import Remedy, RemedyState
from accelwatch.remediation.policy.state.node_locations import failure_domain_of
from accelwatch.remediation.policy.state.orders import Veto
from accelwatch.remediation.policy.state.spares.model import SpareStatus
from accelwatch.remediation.settings import RemedySettings
from accelwatch.schema.timestamps import timestamp, timestamp_or_none


def remedy_document(remedy: Remedy, doing: Mapping[str, str]) -> RemedyDocument:
    """One node's."""
    quarantine, policy = remedy.hold, remedy.policy
    return RemedyDocument(
        node=remedy.node,
        target=remedy.target,
        stage=remedy.stage.value,
        since=timestamp(remedy.clocks.since),
        due=None if remedy.clocks.due is None else timestamp(remedy.clocks.due),
        incident=remedy.incident,
        incidents=tuple(case.incident for case in remedy.cases),
        rule="" if policy is None else policy.rule,
        confidence="" if policy is None else policy.confidence.value,
        act_on="" if policy is None else policy.act_on.value,
        manual=remedy.approval.manual,
        approved_by=remedy.approval.approved,
        plan=remedy.approval.asked,
        quarantine=None
        if quarantine is None
        else QuarantineDocument(
            reason=quarantine.reason,
            set_by=quarantine.set_by,
            set_at=None if quarantine.set_at is None else timestamp(quarantine.set_at),
        ),
        intent="" if remedy.pursued_kind is None else remedy.pursued_kind.value,
        doing=doing.get(remedy.scheduler_name, ""),
        blocked_by="" if remedy.denial is None else remedy.denial.text,
        trouble=remedy.trouble,
        spare=remedy.jobs.spare,
        latest_test=remedy.repair.results[-1].text if remedy.repair.results else "",
    )


def remedies_page(
    state: RemedyState,
    settings: RemedySettings,
    doing: Mapping[str, str],
    problems: tuple[str, ...],
) -> RemediesPage:
    """All of them."""
    stop = state.stop
    waiting = sorted(state.remedies.values(), key=lambda remedy: (remedy.clocks.since, remedy.node))
    return RemediesPage(
        acts=True,
        ceiling=settings.ceiling,
        actions=tuple(action.name or action.type for action in settings.actions),
        budgets=_budgets(state, settings),
        stopped_by="" if stop is None else stop.by,
        stopped_why="" if stop is None else stop.reason,
        breaker=state.breaker.standing.value,
        breaker_why=state.breaker.why,
        frozen=state.world.guard.why,
        approval_needed=state.world.journal.loss_risk,
        problems=problems,
        remedies=tuple(remedy_document(remedy, doing) for remedy in waiting),
        vetoes=tuple(map(_veto_document, state.vetoes.values())),
    )


def _veto_document(veto: Veto) -> LeftAlone:
    return LeftAlone(
        node=veto.node,
        since=timestamp(veto.at),
        until=timestamp_or_none(veto.until),
        by=veto.by,
        reason=veto.reason,
    )


def _budgets(state: RemedyState, settings: RemedySettings) -> tuple[BudgetDocument, ...]:
    """Nothing while nobody has been counted yet."""
    group_counts, own = state.world.group_counts, state.budget.own.values()
    used = Counter(group for entry in own for group in entry.place.groups)
    sizes = {} if group_counts is None else group_counts.sizes
    groups = sorted({*used, *(group for group in sizes if group.startswith("pool="))})
    return tuple(
        BudgetDocument(
            group=group, out=used[group], most=bound(sizes.get(group, 1), settings.budget)
        )
        for group in groups
    )


def note_document(note: Note) -> NoteDocument:
    """One line."""
    return NoteDocument(text=note.text, node=note.node, incident=note.incident)


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
    vetoed = map(_veto_document, state.vetoes.values())
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
    in_tests = nodes_in_tests(ctx)
    rows = []
    for name, spare in sorted(state.spares.spares.items()):
        details, node = candidate(ctx, name, in_tests), ctx.hub_name(name)
        rows.append(
            SpareDocument(
                name=name,
                node=node,
                state=spare.standing.value,
                usable=details.usable,
                incident=spare.incident,
                replaces=spare.stands_for,
                tested=timestamp_or_none(spare.tested),
                text=spare.text or (details.why if spare.standing is SpareStatus.READY else ""),
                pools=pools_of(ctx, name, node),
                model=details.labels.get("model", ""),
                rack=details.labels.get("rack", ""),
                score=details.score,
            )
        )
    limit_s = settings.spares.test_max_age_s
    return SparesPage(acts=True, test_max_age_s=limit_s, spares=tuple(rows))
