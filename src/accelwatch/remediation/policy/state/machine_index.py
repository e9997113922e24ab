"""Machines by their names, so that the proof of one does not scan all others. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from accelwatch.action.observed import NodeObservation
from accelwatch.remediation.policy.guards.identity import Machine
from accelwatch.remediation.policy.state.world import World

T = TypeVar("T")


class ByHost(Generic[T]):
    """Things by a host name, in full or by its first label; two of one host are always among them."""

    def __init__(self, named: Iterable[tuple[str, T]]) -> None:
        self._full: defaultdict[str, list[T]] = defaultdict(list)
        self._first: defaultdict[str, list[T]] = defaultdict(list)
        for host, entry in named:
            name = _name(host)
            self._full[name].append(entry)
            if "." in name:
                self._first[name.partition(".")[0]].append(entry)

    def alike(self, host: str) -> Iterator[T]:
        """Those whose host may be this one."""
        name = _name(host)
        yield from self._full.get(name, ())
        if "." in name:
            yield from self._full.get(name.partition(".")[0], ())
        else:
            yield from self._first.get(name, ())


class MachineIndex:
    """All machines of a world, as they are while a step works on it."""

    def __init__(self, world: World, machines: Iterable[Machine]) -> None:
        """`machines` are those whose agents report to the hub."""
        all_machines = tuple(machines)
        self._hosts = ByHost((machine.host, machine) for machine in all_machines if machine.host)
        self._boots: defaultdict[str, list[Machine]] = defaultdict(list)
        for machine in all_machines:
            if machine.boot_id:
                self._boots[_boot(machine.boot_id)].append(machine)
        self._nodes = ByHost(
            (node.address or node.name, node) for node in world.scheduler_nodes.values()
        )

    def on_host(self, host: str) -> list[Machine]:
        """Those whose host name this may be."""
        return list(self._hosts.alike(host))

    def machines(self, machine: Machine) -> list[Machine]:
        """Those that could be the same as one, itself among them."""
        alike = (
            {other.node: other for other in self._hosts.alike(machine.host)} if machine.host else {}
        )
        if machine.boot_id:
            alike |= {other.node: other for other in self._boots.get(_boot(machine.boot_id), ())}
        return list(alike.values())

    def matching_nodes(
        self, machine: Machine, *names: str, world: World
    ) -> tuple[NodeObservation, ...]:
        """The scheduler's nodes that could be it: by its host, or by one of the names."""
        alike = {node.name for node in self._nodes.alike(machine.host)} if machine.host else set()
        candidates = dict.fromkeys([*sorted(alike), machine.node, *names])
        return tuple(
            world.scheduler_nodes[name] for name in candidates if name in world.scheduler_nodes
        )


def _name(host: str) -> str:
    return host.casefold().rstrip(".")


def _boot(boot_id: str) -> str:
    return boot_id.casefold().strip()
