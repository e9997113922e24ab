"""Machines by the names that they go by, so that the proof of one does not look at all others. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from accelwatch.action.observed import NodeSeen
from accelwatch.remediation.policy.guards.identity import Machine
from accelwatch.remediation.policy.state.world import World

T = TypeVar("T")


class ByHost(Generic[T]):
    """Things by a host name, in full or by its first label; two of one host are always among them."""

    def __init__(self, named: Iterable[tuple[str, T]]) -> None:
        self._full: defaultdict[str, list[T]] = defaultdict(list)
        self._first: defaultdict[str, list[T]] = defaultdict(list)
        for host, thing in named:
            name = _name(host)
            self._full[name].append(thing)
            if "." in name:
                self._first[name.partition(".")[0]].append(thing)

    def alike(self, host: str) -> Iterator[T]:
        """Those whose host may be this one."""
        name = _name(host)
        yield from self._full.get(name, ())
        if "." in name:
            yield from self._full.get(name.partition(".")[0], ())
        else:
            yield from self._first.get(name, ())


class Crowd:
    """All machines of a world, as they are while a step works on it."""

    def __init__(self, world: World, machines: Iterable[Machine]) -> None:
        """`machines` are those that the hub hears."""
        known = tuple(machines)
        self._hosts = ByHost((one.host, one) for one in known if one.host)
        self._boots: defaultdict[str, list[Machine]] = defaultdict(list)
        for one in known:
            if one.boot_id:
                self._boots[_boot(one.boot_id)].append(one)
        self._seen = ByHost((one.address or one.name, one) for one in world.seen.values())

    def machines(self, machine: Machine) -> list[Machine]:
        """Those that could be the same as one, itself among them."""
        alike = {one.node: one for one in self._hosts.alike(machine.host)} if machine.host else {}
        if machine.boot_id:
            alike |= {one.node: one for one in self._boots.get(_boot(machine.boot_id), ())}
        return list(alike.values())

    def seen(self, machine: Machine, *names: str, world: World) -> tuple[NodeSeen, ...]:
        """The scheduler's nodes that could be it: by its host, or by one of the names."""
        alike = {one.name for one in self._seen.alike(machine.host)} if machine.host else set()
        wanted = dict.fromkeys([*sorted(alike), machine.node, *names])
        return tuple(world.seen[name] for name in wanted if name in world.seen)


def _name(host: str) -> str:
    return host.casefold().rstrip(".")


def _boot(boot_id: str) -> str:
    return boot_id.casefold().strip()
