"""Which hub speaks for which node where several hubs follow it, and what nodes are called. Pure.

A name that two hubs know is one machine unless their devices prove otherwise; a machine is one row, of
the hub that receives most from it. Machines that only share a name get their hub's name besides.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.fleet.names import NODE_SEVERITY

# Between a node's or an incident's own name and its hub's.
AT = "@"
# Nodes that a sentence names.
_MOST_NAMED = 4
_UNKNOWN_STATE = 20

# States of its nodes, by name.
States = Mapping[str, str]
# uuids of the devices of nodes, by name.
Uuids = Mapping[str, frozenset[str]]


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    """Whose each node is; hubs are numbers in the order of the command line."""

    hubs: tuple[str, ...]
    # Of each hub: own name of a node to its name in the picture, where that is another one.
    renamed: tuple[Mapping[str, str], ...]
    # Of each hub: own names of nodes for which another hub speaks.
    hidden: tuple[frozenset[str], ...]
    # Name in the picture to all hubs that follow that machine, who speaks for it first.
    shared: Mapping[str, tuple[int, ...]]
    # Name in the picture to hub and own name, of renamed nodes.
    routes: Mapping[str, tuple[int, str]]

    def name_of(self, hub: int, node: str) -> str:
        """What a hub's node is called in the picture."""
        return self.renamed[hub].get(node, node)

    def hub_label(self, hub: int, node: str) -> str:
        """The hubs that follow a node of a hub, joined by `+`."""
        hubs = self.shared.get(self.name_of(hub, node), (hub,))
        return "+".join(self.hubs[index] for index in sorted(hubs))

    @property
    def sentence(self) -> str:
        """Which nodes several hubs follow; empty where there is none."""
        if not self.shared:
            return ""
        names = sorted(self.shared)
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        hubs = sorted({index for indices in self.shared.values() for index in indices})
        what = "1 node is" if len(names) == 1 else f"{len(names)} nodes are"
        return (
            f"{what} followed by several hubs ({', '.join(self.hubs[index] for index in hubs)}), and "
            f"shown once: {', '.join(names[:_MOST_NAMED])}{more}"
        )


def names_in_several(nodes: Sequence[States]) -> frozenset[str]:
    """The names that more than one hub knows."""
    first: set[str] = set()
    several: set[str] = set()
    for states in nodes:
        several |= first & states.keys()
        first |= states.keys()
    return frozenset(several)


def ownership(hubs: Sequence[str], nodes: Sequence[States], uuids: Sequence[Uuids]) -> Ownership:
    """Whose each node is, by the states of the nodes of each hub and the uuids of their devices."""
    renamed: list[dict[str, str]] = [{} for _ in hubs]
    hidden: list[set[str]] = [set() for _ in hubs]
    shared: dict[str, tuple[int, ...]] = {}
    routes: dict[str, tuple[int, str]] = {}
    for name in names_in_several(nodes):
        machines = _machines(name, nodes, uuids)
        for machine in machines:
            best = min(machine, key=lambda hub: (_weight(nodes[hub][name]), hub))
            shown = name if len(machines) == 1 else f"{name}{AT}{hubs[best]}"
            if shown != name:
                routes[shown] = best, name
                for hub in machine:
                    renamed[hub][name] = shown
            if len(machine) > 1:
                shared[shown] = best, *(hub for hub in machine if hub != best)
                for hub in machine:
                    if hub != best:
                        hidden[hub].add(name)
    return Ownership(
        hubs=tuple(hubs),
        renamed=tuple(renamed),
        hidden=tuple(frozenset(names) for names in hidden),
        shared=shared,
        routes=routes,
    )


def _weight(state: str) -> int:
    return NODE_SEVERITY.get(state, _UNKNOWN_STATE)


def _machines(name: str, nodes: Sequence[States], uuids: Sequence[Uuids]) -> list[list[int]]:
    """The hubs that know the name, those together that may mean the same machine."""
    machines: list[list[int]] = []
    existing: dict[int, set[str]] = defaultdict(set)
    for hub, states in enumerate(nodes):
        if name not in states:
            continue
        own = uuids[hub].get(name, frozenset())
        for number, machine in enumerate(machines):
            if not own or not existing[number] or own & existing[number]:
                machine.append(hub)
                existing[number] |= own
                break
        else:
            machines.append([hub])
            existing[len(machines) - 1] |= own
    return machines
