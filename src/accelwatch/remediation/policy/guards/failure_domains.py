"""Which nodes belong together, and which of them are out of service, for whatever reason. Pure."""

from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

# The pool of nodes that are in none.
NO_POOL = ""


class FailureDomain(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Where a node belongs."""

    node: str
    pools: tuple[str, ...] = ()
    # What it shares with others and loses together with them: `rack=r7`, `leaf=sw3`.
    domains: tuple[str, ...] = ()

    @property
    def all_pools(self) -> tuple[str, ...]:
        """Its pools; there is always one."""
        return self.pools or (NO_POOL,)

    # Read many times in a decision; the fields are frozen.
    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Names under which it is counted: pools first, then domains."""
        return (*(f"pool={pool}" for pool in self.all_pools), *self.domains)


class GroupCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How large every group is, and who is out."""

    # Nodes by the name of their group.
    sizes: Mapping[str, int]
    # Nodes that accept no work, by group: ours, others', down, or silent.
    out: Mapping[str, frozenset[str]]


def count_groups(locations: Iterable[FailureDomain], out: Iterable[str]) -> GroupCounts:
    """Count them. `out` are the nodes that accept no work, for whatever reason."""
    out_of_service = frozenset(out)
    members: dict[str, set[str]] = {}
    for location in locations:
        for group in location.groups:
            members.setdefault(group, set()).add(location.node)
    return GroupCounts(
        sizes={group: len(nodes) for group, nodes in members.items()},
        out={group: out_of_service.intersection(nodes) for group, nodes in members.items()},
    )
