"""Which jobs a scheduler shows on a node of the hub, and whose they are."""

import msgspec
import pytest

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.fleet.remedies.job_owners import nodes_of_jobs, scheduled
from accelwatch.remediation.policy.guards.identity import Proof, ProofKind
from accelwatch.remediation.policy.state.clocks import FRESH_S
from accelwatch.remediation.policy.state.model import Clocks, Remedy, RemedyState
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.world import Scheduler, World

NOW = 1000.0
JOB, OTHER = JobKey("c", "17", 1.0), JobKey("c", "18", 2.0)


def shown(name: str, *jobs: JobKey) -> NodeObservation:
    owners = {"17": "ada"}
    return NodeObservation(name=name, hold_state=HoldState.OPEN, jobs=jobs, owners=owners)


def state(time: float = NOW) -> RemedyState:
    seen = {one.name: one for one in (shown("n1", JOB, OTHER), shown("n2", JOB), shown("n3"))}
    world = World(
        scheduler_nodes=seen,
        shown_by=dict.fromkeys(seen, "slurm"),
        schedulers={"slurm": Scheduler(time=time)},
        proofs={"b": Proof(node="b", name="n2", kind=ProofKind.MAP)},
    )
    return RemedyState(world=world)


def test_jobs_have_their_users_where_the_scheduler_reports_them() -> None:
    assert scheduled(state(), "n1", {}, NOW) == {"17": "ada", "18": ""}
    assert scheduled(state(), "n3", {}, NOW) == {}
    assert scheduled(state(), "n9", {}, NOW) == {}


def test_a_node_is_known_as_mapped_as_proven_and_as_its_remedy_has_it() -> None:
    assert list(scheduled(state(), "b", {}, NOW)) == ["17"]
    assert list(scheduled(state(), "a", {"a": "n1"}, NOW)) == ["17", "18"]
    remedy = Remedy(
        node="c", target="n2", stage=Stage.QUARANTINED, clocks=Clocks(since=NOW, begun=NOW)
    )
    one = msgspec.structs.replace(state(), remedies={"c": remedy})
    assert list(scheduled(one, "c", {}, NOW)) == ["17"]


@pytest.mark.parametrize(("age_s", "known"), [(FRESH_S, True), (FRESH_S + 1.0, False)])
def test_what_was_shown_long_ago_is_not_mentioned(age_s: float, known: bool) -> None:
    assert bool(scheduled(state(NOW - age_s), "n1", {}, NOW)) is known
    assert bool(list(nodes_of_jobs(state(NOW - age_s), "n1", {}, NOW))) is known


def test_the_nodes_of_its_jobs_have_the_hubs_names() -> None:
    assert list(nodes_of_jobs(state(), "a", {"a": "n1"}, NOW)) == ["a", "b"]
    assert list(nodes_of_jobs(state(), "n3", {}, NOW)) == []
