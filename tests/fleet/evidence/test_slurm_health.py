"""Reasons of Slurm's health checks become evidence; others' and our own do not."""

import asyncio

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import UsageError
from accelwatch.fleet.evidence.intake import EvidenceIntake
from accelwatch.fleet.evidence.reconciler import SLURM, Reconciler
from accelwatch.fleet.evidence.slurm_health import REASONS, reports_of
from accelwatch.fleet.evidence.slurm_polling import SlurmPolling
from accelwatch.fleet.evidence_settings import Evidence, ReasonSetting, SlurmEvidence
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.target import targets_of
from accelwatch.fleet.targets.slurm.nodes import SlurmNode, nodes_of_text

NHC = "NHC: check_hw_ib:  No IB port mlx5_0:1 is ACTIVE"


def node(reason: str, *states: str) -> SlurmNode:
    return SlurmNode(
        name="n1", address="10.0.0.1", states=states or ("idle", "drain"), reason=reason
    )


def found(node: SlurmNode, reasons: tuple[ReasonSetting, ...] = REASONS) -> list[tuple[str, str]]:
    (report,) = reports_of([node], reasons)
    return [(one.source, one.text) for one in report.problems]


@pytest.mark.parametrize(
    "states", [("idle", "drain"), ("mixed", "drain"), ("down",), ("idle", "fail")]
)
def test_a_health_checks_reason_is_evidence_while_the_node_is_out(states: tuple[str, ...]) -> None:
    assert found(node(NHC, *states)) == [("nhc", " ".join(NHC.split()))]


def test_a_reason_that_was_left_on_a_node_in_service_is_none() -> None:
    assert found(node(NHC, "idle")) == []


@pytest.mark.parametrize("reason", ["", "bad fan (bob)", "Not responding", "nothing about NHC:"])
def test_other_peoples_reasons_are_none(reason: str) -> None:
    assert found(node(reason)) == []


@pytest.mark.parametrize(
    "reason",
    [
        "accelwatch: 1 of 8 devices is lost",
        "Accelwatch inc-1 xid.79: gpu3 has fallen off the bus",
        "slurm-operator: node was cordoned",
    ],
)
def test_our_own_reasons_prove_nothing_whatever_is_configured(reason: str) -> None:
    every = (ReasonSetting(prefix=reason[:4], source="site"),)
    assert found(node(reason), every) == []


def test_a_sites_own_program_is_recognised_by_how_it_starts() -> None:
    site = (ReasonSetting(prefix="healthd/", source="healthd", code="healthd", severity="warning"),)
    (report,) = reports_of([node("healthd/gpu: no ECC")], (*site, *REASONS))
    (problem,) = report.problems
    assert (problem.source, problem.code, problem.severity) == ("healthd", "healthd", "warning")


def test_a_reason_may_hold_anything() -> None:
    (read,) = nodes_of_text(
        "NodeName=n1 NodeAddr=a NodeHostName=h State=IDLE+DRAIN "
        "Reason=NHC: State=IDLE NodeName=n2 [root@1795856400]\n"
    )
    assert (read.name, read.states) == ("n1", ("idle", "drain"))
    assert found(read) == [("nhc", "NHC: State=IDLE NodeName=n2")]


def test_it_starts_and_ends_and_a_silent_controller_changes_nothing() -> None:
    fleet = Fleet(ManualClock(), Thresholds(), None)
    fleet.set_targets(targets_of(["n1:9877"]))
    answers: list[list[SlurmNode] | UsageError] = [
        [node(NHC)],
        UsageError("scontrol: timed out"),
        [node("", "idle")],
    ]

    def nodes() -> list[SlurmNode]:
        answer = answers.pop(0)
        if isinstance(answer, UsageError):
            raise answer
        return answer

    async def scenario() -> None:
        reconciler = Reconciler(EvidenceIntake(fleet), Evidence, SLURM, "slurm")
        polling = SlurmPolling(SlurmEvidence(), reconciler, nodes)
        await polling.poll()
        (alert,) = fleet.evidence.all()
        assert (alert.node, alert.event.code) == ("n1", "evidence_health_check_failed")
        await polling.poll()
        assert (polling.problem, len(fleet.evidence)) == ("scontrol: timed out", 1)
        await polling.poll()
        assert (polling.problem, len(fleet.evidence)) == ("", 0)

    asyncio.run(scenario())
