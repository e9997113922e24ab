"""A morning of faults on 63 simulated nodes, from the bytes that agents send to incidents.

Each fault gives one incident: of whom it befell, of its family, as loud as it deserves, dated to its
onset, with what was seen; and it is over after the fault. Nothing else above a note is opened.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Severity
from accelwatch_lab.simulator.nodes import FleetSize
from support.rules.simulated_hub import ProvingGround, played

DAY = Path(__file__).parents[3] / "fixtures/fleet/simulator/day-of-faults.yaml"
MINUTE = 60.0
CRITICAL, WARNING = Severity.CRITICAL, Severity.WARNING


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a fault must become; times in minutes of the morning."""

    whom: str
    family: str
    severity: Severity
    rule: str
    since: tuple[float, float]
    closed: tuple[float, float]
    evidence: str


EXPECTED = (
    Expected(
        whom="n001 nvidia3",
        family="nvidia.gpu",
        severity=CRITICAL,
        rule="nvidia.lost",
        since=(15, 15.5),
        closed=(35, 36),
        evidence="state is lost",
    ),
    Expected(
        whom="n003 nvidia2",
        family="nvidia.gpu",
        severity=CRITICAL,
        rule="nvidia.xid.reset",
        since=(16, 16.5),
        closed=(28, 29),
        evidence="xid_119: Timeout after 6s of waiting for RPC response",
    ),
    Expected(
        whom="n005 nvidia1",
        family="nvidia.gpu",
        severity=CRITICAL,
        rule="nvidia.unresponsive",
        since=(17, 17.5),
        closed=(29, 30),
        evidence="state is unresponsive",
    ),
    Expected(
        whom="n007",
        family="service.node",
        severity=CRITICAL,
        rule="service.node_silent_in_job",
        since=(18, 21.5),
        closed=(26.5, 28),
        evidence="nvidia0: node_state is down",
    ),
    Expected(
        whom="n009 nvidia6",
        family="nvidia.heat",
        severity=CRITICAL,
        rule="nvidia.heat.hardware",
        since=(15, 16.5),
        closed=(44, 48),
        evidence='duty(throttle_active.thermal_hardware, "10m") is ',
    ),
    Expected(
        whom="n011 nvidia0",
        family="nvidia.nvlink",
        severity=CRITICAL,
        rule="nvidia.nvlink.crc",
        since=(20, 21),
        closed=(33, 37),
        evidence='rate(interconnect_errors_total.nvlink.crc, "5m") is 109.1/s, > 100/s',
    ),
    Expected(
        whom="n013 nvidia4",
        family="nvidia.memory",
        severity=WARNING,
        rule="nvidia.memory.repair_pending",
        since=(20, 20.5),
        closed=(80, 84),
        evidence="memory_repair_pending is set",
    ),
    Expected(
        whom="n015 nvidia5",
        family="jobs.straggler",
        severity=CRITICAL,
        rule="jobs.straggler.clock_of_job",
        since=(16, 19.5),
        closed=(37, 42),
        evidence='avg(clock_hertz.sm, "5m") is 7',
    ),
    Expected(
        whom="fleet",
        family="storage.nfs",
        severity=CRITICAL,
        rule="storage.nfs.not_responding",
        since=(21, 21.5),
        closed=(43, 45),
        evidence="nfs_not_responding: nfs: server storage01 not responding, still trying",
    ),
    Expected(
        whom="job 4712",
        family="jobs.hang",
        severity=CRITICAL,
        rule="jobs.silent_hang",
        since=(20, 22),
        closed=(35, 39),
        evidence="100% of the devices of the job, >= 80%",
    ),
    Expected(
        whom="n041 nvidia2",
        family="nvidia.nvlink",
        severity=CRITICAL,
        rule="nvidia.nvlink.down",
        since=(40, 40.5),
        closed=(51, 54),
        evidence="interconnect_links.nvlink.up is 16, < 18",
    ),
)


def whom(incident: Incident) -> str:
    """The entity in words."""
    entity = incident.entity
    return f"{entity.node} {incident.facts.device_name}".strip() if entity.node else str(entity)


@pytest.fixture(scope="module")
def morning(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Incident]:
    """All incidents of it, as they ended."""
    ground = ProvingGround(
        FleetSize(vendor="nvidia"),
        played(DAY),
        tmp_path_factory.mktemp("journal"),
        interval_s=30.0,
    )

    async def play() -> None:
        await ground.runner.start()
        await ground.play(86 * MINUTE)
        assert ground.runner.problems == ()
        await ground.runner.stop()

    asyncio.run(play())
    return [
        msgspec.structs.replace(
            one,
            since=ground.minute(one.since),
            opened=ground.minute(one.opened),
            closed=None if one.closed is None else ground.minute(one.closed),
        )
        for one in ground.known
    ]


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda one: f"{one.whom} {one.family}")
def test_a_fault_is_one_incident(morning: Sequence[Incident], expected: Expected) -> None:
    (found,) = [
        one for one in morning if (whom(one), one.family) == (expected.whom, expected.family)
    ]
    assert (found.severity, found.rule, found.reopened) == (expected.severity, expected.rule, 0)
    assert expected.since[0] <= found.since <= expected.since[1]
    assert found.since <= found.opened
    assert found.closed is not None
    assert expected.closed[0] <= found.closed <= expected.closed[1]
    assert any(one.text.startswith(expected.evidence) for one in found.evidence)


def test_nothing_else_is_opened(morning: Sequence[Incident]) -> None:
    serious = [
        (whom(one), one.family)
        for one in morning
        if one.severity is not Severity.INFO and not one.group
    ]
    assert sorted(serious) == sorted((one.whom, one.family) for one in EXPECTED)
    notes = {(whom(one), one.family) for one in morning if one.severity is Severity.INFO}
    assert notes == {("job 4711", "jobs.broken")}


def test_what_befell_twelve_nodes_is_one(morning: Sequence[Incident]) -> None:
    (group,) = [one for one in morning if one.members]
    assert group.title == "A file server does not answer: 12 nodes at once"
    assert group.nodes == tuple(f"n{at:03d}" for at in range(49, 61))
    members = [one for one in morning if one.group]
    assert {one.group for one in members} == {group.id}
    assert {one.id for one in members} == set(group.members)
    assert all(one.closed is not None for one in members)


def test_it_is_known_whose_job_it_befell(morning: Sequence[Incident]) -> None:
    lost = next(one for one in morning if one.rule == "nvidia.lost")
    assert (lost.facts.jobs, lost.facts.users) == (("4711",), ("ada",))
    assert lost.facts.labels["rack"] == "r01"
