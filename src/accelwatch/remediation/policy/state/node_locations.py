"""Where nodes belong, and which of them are out: what the budgets are counted over."""

from collections.abc import Callable

from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.failure_domains import (
    FailureDomain,
    GroupCounts,
    count_groups,
)
from accelwatch.remediation.policy.guards.identity import Machine, Proof, prove
from accelwatch.remediation.policy.state.machine_index import MachineIndex
from accelwatch.remediation.policy.state.world import NodeStatus, World
from accelwatch.remediation.settings import RemedySettings


def failure_domain_of(
    node: str,
    status: NodeStatus | None,
    observation: NodeObservation | None,
    settings: RemedySettings,
) -> FailureDomain:
    """Pools as the scheduler shows them, else by label; domains by the hub's labels."""
    labels = {} if status is None else status.labels
    pools = () if observation is None else observation.pools
    pool = labels.get(settings.pool_label, "")
    domains = tuple(f"{key}={labels[key]}" for key in settings.domains if labels.get(key))
    return FailureDomain(node=node, pools=pools or ((pool,) if pool else ()), domains=domains)


def counted(world: World, settings: RemedySettings, hub_name: Callable[[str], str]) -> GroupCounts:
    """All nodes that the scheduler shows, under the hub's names."""
    locations, out = [], []
    for name, observation in world.scheduler_nodes.items():
        node = hub_name(name)
        locations.append(
            failure_domain_of(node, world.node_statuses.get(node), observation, settings)
        )
        if observation.hold_state is not HoldState.OPEN:
            out.append(node)
    return count_groups(locations, out)


def machine_of(status: NodeStatus) -> Machine:
    """What the agent on a node reports of the machine."""
    return Machine(
        node=status.node,
        host=status.host_name,
        boot_id=status.boot_id,
        system_uuid=status.system_uuid,
        boot_time=status.boot_time,
    )


def machine_index_of(world: World) -> MachineIndex:
    """All machines whose agents report, or that a scheduler shows."""
    return MachineIndex(world, map(machine_of, world.node_statuses.values()))


def proven(
    node: str, world: World, machine_index: MachineIndex, settings: RemedySettings
) -> Proof | Denial:
    """The scheduler's node that a node of the hub is, or what is missing to be sure."""
    status = world.node_statuses.get(node)
    machine = Machine(node=node) if status is None else machine_of(status)
    mapped = settings.nodes
    names = (mapped[node],) if node in mapped else ()
    scheduler_nodes = machine_index.matching_nodes(machine, *names, world=world)
    return prove(machine, machine_index.machines(machine), scheduler_nodes, mapped)
