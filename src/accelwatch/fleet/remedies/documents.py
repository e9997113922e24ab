"""What a hub does about incidents, as its API tells it; times are RFC 3339."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from accelwatch.remediation.policy.context.outcome import Note
from accelwatch.remediation.policy.guards.limits.budget import bound
from accelwatch.remediation.policy.plan.plan import Plan
from accelwatch.remediation.policy.state.model import Remedy, RemedyState
from accelwatch.remediation.settings import RemedySettings
from accelwatch.schema.timestamps import timestamp


class QuarantineDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Our mark on a node, as its scheduler showed it last."""

    reason: str
    set_by: str
    set_at: str | None


class RemedyDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What is being done about one node."""

    node: str
    # The scheduler's name of the machine; empty until it is proven to be the same.
    target: str
    stage: str
    since: str
    # When the stage's clock runs out.
    due: str | None
    incident: str
    # All that speak against it.
    incidents: tuple[str, ...]
    rule: str
    # How sure the rule is: `high` or `low`; empty where no rule began it.
    confidence: str = ""
    # How sure it must be to act without a person's approval.
    act_on: str = ""
    # Whether a person took it out: then only a person gives it back.
    manual: bool
    approved_by: str
    # Digest of the plan that a person is asked about, or approved.
    plan: str
    quarantine: QuarantineDocument | None = msgspec.field(name="hold")
    # What is on its way.
    intent: str = msgspec.field(name="wants")
    # What that waits for.
    doing: str
    blocked_by: str = msgspec.field(name="in_the_way")
    # What could not be done, or whose outcome is unknown.
    trouble: str = ""
    spare: str


class VetoDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A person's wish that nothing be done to a node."""

    node: str
    by: str
    reason: str
    until: str | None


class BudgetDocument(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a budget is used."""

    # What the nodes have in common: `pool=train`, `rack=r7`; `pool=` of those in no pool.
    group: str
    # Nodes of it that we hold, or are about to.
    out: int
    # How many of them may be at once.
    most: int


class RemediesPage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is being done, the node that waits for longest first."""

    # Whether anything is configured to act by.
    acts: bool
    # How far any rule may go.
    ceiling: str = "observe"
    # By what is acted, by the names of the configuration.
    actions: tuple[str, ...] = ()
    # Of every pool, and of every other group of which we hold a node.
    budgets: tuple[BudgetDocument, ...] = ()
    # Who stopped everything; empty when nobody did.
    stopped_by: str = ""
    stopped_why: str = ""
    breaker: str = "closed"
    breaker_why: str = ""
    # Why too little is known to begin anything new.
    frozen: str = ""
    problems: tuple[str, ...] = ()
    remedies: tuple[RemedyDocument, ...] = ()
    # Nodes to which nothing is done.
    vetoes: tuple[VetoDocument, ...] = msgspec.field(name="held", default=())


class NoteDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What has come of a person's word."""

    text: str
    node: str
    incident: str


class Commanded(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a person's word, which is written down by then."""

    notes: tuple[NoteDocument, ...]
    # The node's, as it stands now; None where nothing is done about it, or it was about all.
    remedy: RemedyDocument | None


class PlanPage(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done for a node now."""

    plan: Plan


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
        doing=doing.get(remedy.target or remedy.node, ""),
        blocked_by="" if remedy.denial is None else remedy.denial.text,
        trouble=remedy.trouble,
        spare=remedy.jobs.spare,
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
        problems=problems,
        remedies=tuple(remedy_document(remedy, doing) for remedy in waiting),
        vetoes=tuple(
            VetoDocument(
                node=veto.node,
                by=veto.by,
                reason=veto.reason,
                until=None if veto.until is None else timestamp(veto.until),
            )
            for veto in state.vetoes.values()
        ),
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
