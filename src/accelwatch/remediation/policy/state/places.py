"""Where nodes belong, and which of them are out: what the budgets are counted over."""

from accelwatch.action.observed import NodeSeen, Standing
from accelwatch.remediation.policy.guards.census import Census, Place, census
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.identity import Machine, Proof, prove
from accelwatch.remediation.policy.state.crowd import Crowd
from accelwatch.remediation.policy.state.world import NodeHeard, World
from accelwatch.remediation.settings import RemedySettings


def place_of(
    node: str, heard: NodeHeard | None, seen: NodeSeen | None, settings: RemedySettings
) -> Place:
    """Pools as the scheduler shows them, else by label; domains by the hub's labels."""
    labels = {} if heard is None else heard.labels
    pools = () if seen is None else seen.pools
    pool = labels.get(settings.pool_label, "")
    domains = tuple(f"{key}={labels[key]}" for key in settings.domains if labels.get(key))
    return Place(node=node, pools=pools or ((pool,) if pool else ()), domains=domains)


def counted(world: World, settings: RemedySettings) -> Census:
    """All nodes that the scheduler shows, under the hub's names."""
    names = {theirs: ours for ours, theirs in settings.nodes.items()}
    places, out = [], []
    for name, seen in world.seen.items():
        node = names.get(name, name)
        places.append(place_of(node, world.heard.get(node), seen, settings))
        if seen.standing is not Standing.OPEN:
            out.append(node)
    return census(places, out)


def machine_of(heard: NodeHeard) -> Machine:
    """What the agent on a node tells of the machine."""
    return Machine(
        node=heard.node,
        host=heard.host_name,
        boot_id=heard.boot_id,
        system_uuid=heard.system_uuid,
        boot_time=heard.boot_time,
    )


def crowd_of(world: World) -> Crowd:
    """All machines that are heard or shown."""
    return Crowd(world, map(machine_of, world.heard.values()))


def proven(node: str, world: World, crowd: Crowd, settings: RemedySettings) -> Proof | Denial:
    """The scheduler's node that a node of the hub is, or what is missing to be sure."""
    heard = world.heard.get(node)
    machine = Machine(node=node) if heard is None else machine_of(heard)
    mapped = settings.nodes
    names = (mapped[node],) if node in mapped else ()
    seen = crowd.seen(machine, *names, world=world)
    return prove(machine, crowd.machines(machine), seen, mapped)
