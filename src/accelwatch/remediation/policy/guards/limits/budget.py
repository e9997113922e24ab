"""How many nodes we may have out at once, and how fast: reserved, then spent or given back. Pure.

A reservation counts like a quarantine from the moment it is made, in every pool and every domain of the
node, so that what we hold and what we are about to hold never exceed the bound together. A node counts
once, however many incidents want it out; it is given back with the last of them.
"""

import math
from collections.abc import Mapping
from functools import cached_property

import msgspec

from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.failure_domains import FailureDomain, GroupCounts
from accelwatch.remediation.policy.guards.limits.pace import HOUR_S, free_at, within
from accelwatch.remediation.settings import Budget


class Own(msgspec.Struct, frozen=True, kw_only=True):
    """A node that we hold, or are about to."""

    place: FailureDomain
    # Those that want it out.
    incidents: tuple[str, ...]
    # Unix seconds at which it was reserved; its share of the rate.
    at: float
    # Whether the quarantine has started.
    spent: bool = False


class BudgetState(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The used part of the budget."""

    # By node.
    own: Mapping[str, Own] = {}
    # Unix seconds at which quarantines of a pool were reserved, as long as they slow others down.
    begun: Mapping[str, tuple[float, ...]] = {}

    # An instance is a frozen state of one decision; several guards read the groups.
    @cached_property
    def by_group(self) -> Mapping[str, frozenset[str]]:
        """Our own nodes, the reserved ones included, by what they have in common."""
        groups: dict[str, set[str]] = {}
        for node, own in self.own.items():
            for group in own.place.groups:
                groups.setdefault(group, set()).add(node)
        return {group: frozenset(nodes) for group, nodes in groups.items()}

    def quarantined(self, group: str) -> frozenset[str]:
        """Our own nodes of a group, the reserved ones included."""
        return self.by_group.get(group, frozenset())


def bound(size: int, budget: Budget) -> int:
    """How many nodes of a group of that size we may have out at most."""
    # At least one, else a small pool could never be helped. Without the epsilon 29 % of 100 nodes
    # would be 28 (0.29 * 100 is 28.999...).
    return max(1, min(math.floor(budget.share * size + 1e-9), budget.most))


def may_be_out(size: int, budget: Budget) -> int:
    """How many nodes of a pool of that size may be out altogether, for whatever reason."""
    shares = math.floor((1 - budget.min_available) * size + 1e-9)
    # 90 % of five nodes would allow none.
    return max(shares, 1) if size <= budget.small_pool else shares


def reserve(
    state: BudgetState,
    location: FailureDomain,
    incident: str,
    counts: GroupCounts,
    *,
    now: float,
    budget: Budget,
) -> tuple[BudgetState, Answer]:
    """Reserve the node's share for an incident, if any is left; else the same state, and why not.

    A node with a reservation is permitted, and does not count twice.
    """
    own = state.own.get(location.node)
    if own is not None:
        if incident in own.incidents:
            return state, PERMIT
        joined = msgspec.structs.replace(own, incidents=(*own.incidents, incident))
        return _with(state, location.node, joined), PERMIT
    answer = may_reserve(state, location, counts, now=now, budget=budget)
    if isinstance(answer, Denial):
        return state, answer
    started = dict(state.begun)
    counted_s = max(HOUR_S, budget.spacing_s)
    for pool in location.all_pools:
        started[pool] = (*within(started.get(pool, ()), now, counted_s), now)
    reserved = _counted_as(state.by_group, msgspec.structs.replace(state, begun=started))
    return _with(
        reserved, location.node, Own(place=location, incidents=(incident,), at=now)
    ), PERMIT


def may_reserve(
    state: BudgetState, location: FailureDomain, counts: GroupCounts, *, now: float, budget: Budget
) -> Answer:
    """Whether a node that we do not hold may be reserved; how many comes before how fast."""
    room = has_room(state, location, counts, budget)
    return room if isinstance(room, Denial) else _paced(state, location, now, budget)


def has_room(
    state: BudgetState, location: FailureDomain, counts: GroupCounts, budget: Budget
) -> Answer:
    """Whether a node may be ours beside the others that are, whether or not it is counted already."""
    for group in location.groups:
        limit = bound(counts.sizes.get(group, 1), budget)
        quarantined = len(state.quarantined(group) - {location.node})
        if quarantined >= limit:
            return _full(group, quarantined, limit)
    for pool in location.all_pools:
        answer = _available(state, location.node, f"pool={pool}", counts, budget)
        if isinstance(answer, Denial):
            return answer
    return PERMIT


def spend(state: BudgetState, node: str) -> BudgetState:
    """The quarantine of a reserved node has started. Raises KeyError for a node without reservation."""
    return _with(state, node, msgspec.structs.replace(state.own[node], spent=True))


def give_back(state: BudgetState, node: str, incident: str) -> BudgetState:
    """An incident wants the node out no more; with the last one its share is free again.

    A reservation that was never used returns its share of the rate too. A node or incident that is
    not there changes nothing.
    """
    own = state.own.get(node)
    if own is None or incident not in own.incidents:
        return state
    others = tuple(other for other in own.incidents if other != incident)
    if others:
        return _with(state, node, msgspec.structs.replace(own, incidents=others))
    started = dict(state.begun)
    # Only what was never started gives its share of the rate back; a drain that was undone has
    # disturbed users all the same.
    if not own.spent:
        for pool in own.place.all_pools:
            times = list(started.get(pool, ()))
            if own.at in times:
                times.remove(own.at)
            started[pool] = tuple(times)
    kept = {name: share for name, share in state.own.items() if name != node}
    return BudgetState(own=kept, begun={pool: times for pool, times in started.items() if times})


def adopt(state: BudgetState, location: FailureDomain, incident: str, now: float) -> BudgetState:
    """Count a node that is found to bear our mark, also beyond the bound: it is out already."""
    own = state.own.get(location.node)
    before = () if own is None else tuple(other for other in own.incidents if other != incident)
    at = now if own is None else own.at
    return _with(
        state, location.node, Own(place=location, incidents=(*before, incident), at=at, spent=True)
    )


def exceeded(state: BudgetState, counts: GroupCounts, budget: Budget) -> tuple[Denial, ...]:
    """The groups of which we hold more than we may, as after a pool has shrunk. It lets nothing go."""
    groups = dict.fromkeys(group for own in state.own.values() for group in own.place.groups)
    counted = ((group, len(state.quarantined(group))) for group in groups)
    return tuple(
        _full(group, quarantined, limit)
        for group, quarantined in counted
        if quarantined > (limit := bound(counts.sizes.get(group, quarantined), budget))
    )


def _full(group: str, quarantined: int, limit: int) -> Denial:
    kind, name = group.partition("=")[::2]
    if kind == "pool":
        text = f"{quarantined} nodes of {_pool(name)} are quarantined by us; {limit} may be"
        return Denial(why=DenialKind.BUDGET, text=f"{text}. Release one, or raise budget.most")
    text = f"{quarantined} nodes of {group} are quarantined by us; {limit} may be"
    return Denial(why=DenialKind.DOMAIN_BUDGET, text=f"{text}. What they share may be the cause")


def _available(
    state: BudgetState, node: str, group: str, counts: GroupCounts, budget: Budget
) -> Answer:
    # The scheduler shows our own drains a little later: the union counts each node once in the
    # meantime.
    out = counts.out.get(group, frozenset()) | state.quarantined(group)
    allowed = may_be_out(counts.sizes.get(group, 1), budget)
    # Who is out already is not missed more when we hold him too.
    if node in out or len(out) < allowed:
        return PERMIT
    text = (
        f"{len(out)} of {counts.sizes.get(group, 1)} nodes of {_pool(group.partition('=')[2])} are "
        f"out of use already, for any reason; the limit is {allowed}"
    )
    return Denial(why=DenialKind.AVAILABLE, text=text)


def _paced(state: BudgetState, location: FailureDomain, now: float, budget: Budget) -> Answer:
    latest = now
    text = ""
    for pool in location.all_pools:
        times = state.begun.get(pool, ())
        hourly = free_at(times, now, budget.per_hour, HOUR_S)
        spaced = free_at(times, now, 1, budget.spacing_s)
        if hourly > latest:
            latest = hourly
            text = f"{budget.per_hour} quarantines of {_pool(pool)} were started within an hour"
        if spaced > latest:
            latest = spaced
            text = f"a quarantine of {_pool(pool)} was started less than {budget.spacing_s:g} s ago"
    if not text:
        return PERMIT
    return Denial(why=DenialKind.RATE, text=f"{text}; this one may follow later", until=latest)


def _pool(name: str) -> str:
    return f"pool {name}" if name else "the fleet"


def _with(state: BudgetState, node: str, own: Own) -> BudgetState:
    changed = msgspec.structs.replace(state, own={**state.own, node: own})
    before = state.own.get(node)
    if before is None:
        by_group = dict(state.by_group)
        by_group.update((group, state.quarantined(group) | {node}) for group in own.place.groups)
        return _counted_as(by_group, changed)
    return _counted_as(state.by_group, changed) if before.place == own.place else changed


def _counted_as(by_group: Mapping[str, frozenset[str]], changed: BudgetState) -> BudgetState:
    """The state with its nodes counted by group already: of a thousand, each decision counts them."""
    changed.__dict__["by_group"] = by_group
    return changed
