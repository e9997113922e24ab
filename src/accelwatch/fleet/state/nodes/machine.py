"""What a node's agents report of the machine that they run on."""

from accelwatch.fleet.state.nodes.node import Node
from accelwatch.remediation.policy.guards.identity import Machine


def machine_of(node: Node) -> Machine:
    """The machine of a node by our agent that reported last; of a node without one its name."""
    speakers = [
        source
        for source in node.sources.values()
        if source.host_name and source.arrived is not None
    ]
    if not speakers:
        return Machine(node=node.name)
    newest = max(speakers, key=lambda source: source.arrived or 0.0)
    return Machine(
        node=node.name,
        host=newest.host_name,
        boot_id=newest.boot_id,
        system_uuid=newest.system_uuid,
        boot_time=newest.boot_time,
    )
