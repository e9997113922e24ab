"""What the hub knows of the machine behind a node, and whether that is enough to act on it."""

import asyncio
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.fleet.state.nodes.machine import machine_of
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.identity import Machine, Proof, ProofKind, prove
from support.fleet.hub_peers import agent, hub
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines


def test_an_agent_reports_which_machine_it_runs_on() -> None:
    reported = msgspec.structs.replace(
        machines.snapshot(), host="gpu7.example.org", boot_time=1_795_300_000.0, system_uuid="u7"
    )
    slurm = NodeObservation(
        name="gpu7", hold_state=HoldState.OPEN, address="gpu7", boot_time=1_795_300_001.0
    )

    async def main() -> None:
        async with agent(reported) as one, hub(one.address) as running:
            await running.devices(one.address, 8)
            known = machine_of(running.hub.fleet.nodes[one.address])
            assert known == Machine(
                node=one.address,
                host="gpu7.example.org",
                boot_id=reported.boot_id,
                system_uuid="u7",
                boot_time=1_795_300_000.0,
            )
            proof = prove(known, [known], [slurm], {})
            assert proof == Proof(node=one.address, name="gpu7", kind=ProofKind.BOOT_TIME)

    asyncio.run(main())


def test_of_a_node_that_never_answered_nothing_is_known() -> None:
    bench = Bench("n1")
    known = machine_of(bench.fleet.nodes["n1"])
    assert known == Machine(node="n1")
    seen = NodeObservation(name="n1", hold_state=HoldState.OPEN, address="n1", boot_id="b0075")
    assert isinstance(prove(known, [known], [seen], {}), Denial)


def test_what_the_latest_agent_reports_counts() -> None:
    bench = Bench("n1")
    bench.report("n1", machines.view(0))
    node = bench.fleet.nodes["n1"]
    (source,) = node.sources.values()
    assert machine_of(node).boot_id == source.boot_id == machines.snapshot().boot_id
    source.host_name = ""
    assert machine_of(node) == Machine(node="n1")


def source_of(host: str, arrived: float | None) -> SimpleNamespace:
    return SimpleNamespace(
        host_name=host, arrived=arrived, boot_id=f"b-{host}", system_uuid="u", boot_time=5.0
    )


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_agents_the_last_to_answer_counts(order: int) -> None:
    sources = [
        source_of("old", 1.0),
        source_of("new", 2.0),
        source_of("", 9.0),
        source_of("silent", None),
    ][::order]
    node = SimpleNamespace(name="n1", sources=dict(enumerate(sources)))
    assert machine_of(cast(Node, node)) == Machine(
        node="n1", host="new", boot_id="b-new", system_uuid="u", boot_time=5.0
    )


def test_an_answer_at_time_zero_is_an_answer() -> None:
    node = SimpleNamespace(
        name="n1", sources={0: source_of("first", 0.0), 1: source_of("later", 0.5)}
    )
    assert machine_of(cast(Node, node)).host == "later"
