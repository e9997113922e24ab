"""Who is proven to be whom is the same, whether all machines are looked at or only those alike."""

import random

from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.remediation.policy.guards.identity import prove
from accelwatch.remediation.policy.state.node_locations import machine_index_of, machine_of, proven
from accelwatch.remediation.policy.state.world import NodeStatus, World
from accelwatch.remediation.settings import RemedySettings

HOSTS = ("", "n1", "N1.", "n1.site.org", "n1.other.org", "n2", "n2.site.org", "10.0.0.1", "10")
BOOTS = ("", "b1", "B1 ", "b2", "b3")
NAMES = ("n1", "n2", "n3", "n1.site.org")


def world(chance: random.Random) -> World:
    """Few names for many machines, so that they meet."""
    statuses = {
        name: NodeStatus(
            node=name, time=0.0, host_name=chance.choice(HOSTS), boot_id=chance.choice(BOOTS)
        )
        for name in chance.sample(NAMES, 3)
    }
    seen = {
        name: NodeObservation(
            name=name,
            hold_state=chance.choice([HoldState.OPEN, HoldState.MISSING]),
            address=chance.choice(HOSTS),
            boot_id=chance.choice(BOOTS),
        )
        for name in chance.sample(NAMES, 3)
    }
    return World(node_statuses=statuses, scheduler_nodes=seen)


def test_a_proof_among_those_alike_is_one_among_all() -> None:
    chance = random.Random(11)
    kinds = set()
    for _ in range(3000):
        known = world(chance)
        mapped = {"n1": chance.choice(NAMES)} if chance.random() < 0.2 else {}
        settings = RemedySettings(nodes=mapped)
        machines = [machine_of(one) for one in known.node_statuses.values()]
        for machine in machines:
            whole = prove(machine, machines, [*known.scheduler_nodes.values()], mapped)
            assert proven(machine.node, known, machine_index_of(known), settings) == whole
            kinds.add(type(whole).__name__)
    assert kinds == {"Proof", "Denial"}
