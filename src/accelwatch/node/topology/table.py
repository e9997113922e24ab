"""The matrix as cells of a table, for the command and for the dashboard. Pure."""

from accelwatch.base.untrusted_text import printable
from accelwatch.node.topology.matrix import Member, Topology
from accelwatch.node.topology.relations import RELATIONS


def table(topology: Topology) -> tuple[list[str], list[list[str]]]:
    """(heading, a row a member): its name, its relation to each, NUMA node, processors, adapters."""
    relations = topology.relations()
    names = [printable(member.name) for member in topology.members]
    rows = [
        [
            name,
            *(relations[member.name, other.name] for other in topology.members),
            *_cells_of(member),
        ]
        for name, member in zip(names, topology.members, strict=True)
    ]
    return ["", *names, "NUMA", "CPUS", "NEAREST ADAPTERS"], rows


def legend(topology: Topology) -> list[str]:
    """What the words mean that are used, the nearest first."""
    used = {pair.relation for pair in topology.pairs}
    lines = [f"{relation:<5} {text}" for relation, text in RELATIONS.items() if relation in used]
    if fabrics := sorted(used - set(RELATIONS)):
        lines.insert(0, f"{', '.join(fabrics)}: the vendor's own links, and how many of them")
    if topology.links_unread:
        lines.append(
            "links of the devices themselves are not in it: read them with --collect links"
        )
    return lines


def _cells_of(member: Member) -> list[str]:
    numa = "-" if member.numa_node is None else str(member.numa_node)
    return [numa, member.cpus or "-", printable(", ".join(member.nearest)) or "-"]
