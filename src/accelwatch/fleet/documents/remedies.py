"""What a hub does about incidents, whom it holds out and who stands in, as its API answers: the structs.

Times are RFC 3339.
"""

import msgspec

from accelwatch.remediation.policy.plan.model import Plan


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
    # Whether a person quarantined it: then only a person releases it.
    manual: bool
    approved_by: str
    # Digest of the plan that waits for approval, or was approved.
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
    # What the latest test of it came to; empty without one.
    latest_test: str = ""


class LeftAlone(msgspec.Struct, frozen=True, kw_only=True):
    """A node to which nothing is done."""

    node: str
    # Empty from older hubs.
    since: str = ""
    # None: until it is removed.
    until: str | None
    # Who set the veto; empty where a person undid what we did.
    by: str
    reason: str


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
    # Why no rule acts without a person's approval; empty where rules may.
    approval_needed: str = ""
    problems: tuple[str, ...] = ()
    remedies: tuple[RemedyDocument, ...] = ()
    # Nodes to which nothing is done.
    vetoes: tuple[LeftAlone, ...] = msgspec.field(name="held", default=())


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
    # Whether a person quarantined it: then only a person releases it.
    manual: bool
    reason: str
    set_by: str
    set_at: str | None
    # When it was seen last.
    observed_at: str | None


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
    # Whether it is there, looks healthy, and nobody else holds it; of a ready one: it can be drawn.
    usable: bool
    incident: str
    # The node that it replaces, by the scheduler's name.
    replaces: str = msgspec.field(name="stands_for")
    # When it passed its test last.
    tested: str | None
    # Why it failed; of a ready one that is not usable, why not.
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
    # Of several hubs: those that do not answer.
    problems: tuple[str, ...] = ()
