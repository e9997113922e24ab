"""What a hub does about the incidents of `seen_incidents`, and a plan, as it tells them."""

from typing import Any

from accelwatch.action.intent import IntentKind
from accelwatch.fleet.documents.remedies import (
    BudgetDocument,
    Commanded,
    LeftAlone,
    NoteDocument,
    QuarantineDocument,
    RemediesPage,
    RemedyDocument,
)
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.plan.model import Plan, PlanStep, Price
from accelwatch.remediation.policy.state.node_tests import VerificationResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.schema.timestamps import timestamp
from support.machines.composed import NOW


def remedy(node: str, stage: str, incident: str, **changes: Any) -> RemedyDocument:
    """One node's; `changes` are to what is usual."""
    usual: dict[str, Any] = {
        "target": node,
        "since": timestamp(NOW - 180),
        "due": None,
        "incidents": (incident,),
        "rule": "gpu.lost",
        "manual": False,
        "approved_by": "",
        "plan": "",
        "quarantine": None,
        "intent": "",
        "doing": "",
        "blocked_by": "",
        "spare": "",
    }
    return RemedyDocument(node=node, stage=stage, incident=incident, **{**usual, **changes})


def awaiting_approval() -> RemedyDocument:
    """A person is asked whether node n002, of incident i1, may be taken out."""
    return remedy(
        "n002",
        "awaiting_approval",
        "i1",
        due=timestamp(NOW + 1500),
        plan="5f3a91c2d4e5f607",
        blocked_by="a person has to say yes",
    )


def draining() -> RemedyDocument:
    """Node n009 is out, and its job is on its way to a spare."""
    hold = QuarantineDocument(
        reason="accelwatch i4 t1: memory rows", set_by="root", set_at=timestamp(NOW - 170)
    )
    return remedy(
        "n009",
        "draining",
        "i4",
        quarantine=hold,
        intent="move_job",
        doing="job 48104",
        spare="n099",
    )


def unknown() -> RemedyDocument:
    """Nobody knows whether n010 was rebooted."""
    return remedy(
        "n010", "unknown", "i5", intent="reboot", doing="no answer from slurmctld for 40 s"
    )


def page(*remedies: RemedyDocument, **changes: Any) -> RemediesPage:
    """What the hub tells of all."""
    usual: dict[str, Any] = {
        "acts": True,
        "ceiling": "resume",
        "actions": ("slurm",),
        "budgets": (BudgetDocument(group="pool=train", out=2, most=2),),
    }
    return RemediesPage(remedies=remedies, **{**usual, **changes})


def stopped(*remedies: RemedyDocument) -> RemediesPage:
    """After a person has stopped everything."""
    return page(*remedies, stopped_by="kim", stopped_why="too much at once")


def veto(node: str, until: float | None = None) -> LeftAlone:
    """A person wants a node left alone."""
    ends = None if until is None else timestamp(until)
    return LeftAlone(node=node, by="kim", reason="a demo runs", until=ends)


def plan(**changes: Any) -> Plan:
    """From the drain to the release, with a spare."""
    wait = Denial(why=DenialKind.APPROVAL, text="a person has to say yes")
    full = Denial(why=DenialKind.BUDGET, text="2 of 2 nodes of pool train are out already")
    texts = (
        (IntentKind.QUARANTINE, "take n002 out of the pool", (wait, full)),
        (IntentKind.DRAW_SPARE, "use n099 as a spare", ()),
        (IntentKind.MOVE_JOB, "move job 48101 to other nodes", ()),
        (IntentKind.REBOOT, "reboot n002", ()),
        (IntentKind.RELEASE, "release n002 once it has been healthy for 600 s", ()),
    )
    usual: dict[str, Any] = {
        "node": "n002",
        "stage": Stage.AWAITING_APPROVAL,
        "incident": "i1",
        "rule": "gpu.lost",
        "digest": "5f3a91c2d4e5f607",
        "steps": tuple(PlanStep(kind=k, text=t, in_the_way=d) for k, t, d in texts),
        "price": Price(saved=24.0, lost=12.5),
    }
    return Plan(**{**usual, **changes})


# What a test of n002 came to.
TESTED = VerificationResult(
    test="pair",
    time=1_795_860_000.0,
    passed=False,
    text="failed test pair with n007: 312 GB/s, less than 350 GB/s (set for H100)",
    peer="n007",
    value=312e9,
    unit="bytes_per_second",
    floor=350e9,
    floor_of="set for H100",
    command="/opt/all_reduce_perf",
)


def answered(text: str, remedy: RemedyDocument | None = None) -> Commanded:
    """What the hub says of a person's word."""
    node = "" if remedy is None else remedy.node
    return Commanded(notes=(NoteDocument(text=text, node=node, incident=""),), remedy=remedy)
