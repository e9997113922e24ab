"""Nodes that stopped answering together: one outage instead of a failure for each node. Pure.

A switch, a firewall or a roll-out of the agent disconnects many nodes within seconds. Nodes whose last
answers lie next to each other in time, all of them within three minutes, are one outage; nodes that have
never answered are another.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from accelwatch.fleet.names import SPEAKING, NodeState
from accelwatch.schema.timestamps import timestamp, unix_seconds

# Fewer are shown one by one.
LEAST_NODES = 3
# Nodes whose last answers are further apart have stopped for reasons of their own.
_APART_S = 30.0
# Nodes that stop at this pace for a long time, as in a roll-out, are outages of three minutes each.
_LEAST_APART_S = 4.0
# Between the first and the last node of an outage.
_SPAN_S = 180.0
_MOST_CAUSES = 3
_MOST_OUTAGES = 8
_DAY_S = 86_400.0
_CONNECT = "cannot connect: "
_ALL_OUT = "check the hub's network or the agents' roll-out first"
_SOME_OUT = "check what they share first: rack, switch, power, the agents' roll-out"
_NEVER = "start their agents, or take them out of the targets"


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """Several nodes that stopped answering together."""

    # How many.
    nodes: int
    # Of how many.
    nodes_total: int
    # When the first of them answered last; null where none has ever answered.
    since: str | None
    # Why they cannot be read, and how many of them for that: the most frequent causes first.
    causes: dict[str, int] = {}
    what_to_do: str = ""


class NodeHealth(NamedTuple):
    """A node as far as outages are concerned."""

    node: str
    state: str
    # Seconds since it answered; None of one that never did.
    age_s: float | None
    # Why it could not be read; empty where that is not known.
    why: str


# Seconds since a node answered, and the node.
_Answered = tuple[float, NodeHealth]


class NodesOut(NamedTuple):
    """An outage and the names of its nodes."""

    outage: Outage
    nodes: tuple[str, ...]


def outages(nodes: Iterable[NodeHealth], total: int, now: float) -> list[NodesOut]:
    """The outages of a fleet of `total` nodes at `now` (Unix seconds), the one with most nodes first."""
    silent = [node for node in nodes if _is_out(node)]
    if len(silent) < LEAST_NODES:
        return []
    result = [
        NodesOut(outage_of(group, total, now), tuple(node.node for node in group))
        for group in _together(silent)
        if len(group) >= LEAST_NODES
    ]
    return sorted(result, key=lambda entry: -entry.outage.nodes)


def largest_outages(nodes: Iterable[NodeHealth], total: int, now: float) -> tuple[Outage, ...]:
    """The same without the names, and no more than a document has room for."""
    return tuple(entry.outage for entry in outages(nodes, total, now)[:_MOST_OUTAGES])


def _is_out(node: NodeHealth) -> bool:
    """A hub that has just started knows nodes that it has not polled yet: these have no failure."""
    return node.state == NodeState.DOWN or (node.state not in SPEAKING and bool(node.why))


def _together(silent: Sequence[NodeHealth]) -> Iterator[list[NodeHealth]]:
    never = [node for node in silent if node.age_s is None]
    if never:
        yield never
    answered = ((node.age_s, node) for node in silent if node.age_s is not None)
    longest_first = sorted(answered, key=lambda entry: -entry[0])
    for group in _runs(longest_first, _APART_S):
        yield [node for _, node in group]


def _runs(answered: Sequence[_Answered], apart_s: float) -> Iterator[list[_Answered]]:
    """Nodes that stopped close to each other, the first of them first.

    Where they go on stopping for longer than an outage lasts, only those that stopped closer together
    than the others are one.
    """
    for run in _cut(answered, apart_s, math.inf):
        if run[0][0] - run[-1][0] <= _SPAN_S:
            yield run
        elif apart_s > _LEAST_APART_S:
            yield from _runs(run, apart_s / 2)
        else:
            yield from _cut(run, apart_s, _SPAN_S)


def _cut(answered: Sequence[_Answered], apart_s: float, span_s: float) -> Iterator[list[_Answered]]:
    group: list[_Answered] = []
    for age_s, node in answered:
        if group and (group[-1][0] - age_s > apart_s or group[0][0] - age_s > span_s):
            yield group
            group = []
        group.append((age_s, node))
    if group:
        yield group


def outage_of(group: Sequence[NodeHealth], total: int, now: float) -> Outage:
    """The outage of these nodes out of `total`."""
    ages = [node.age_s for node in group if node.age_s is not None]
    causes = Counter(_cause(node.why) for node in group if node.why)
    return Outage(
        nodes=len(group),
        nodes_total=total,
        since=timestamp(now - max(ages)) if ages else None,
        causes=dict(causes.most_common(_MOST_CAUSES)),
        what_to_do=_what_to_do(len(group), total, answered=bool(ages)),
    )


def _cause(why: str) -> str:
    """`Connection refused` of a connection that failed, without what is the same for all of them."""
    if not why.startswith(_CONNECT):
        return why
    system = why.removeprefix(_CONNECT)  # strerror begins with a capital letter
    return system[:1].lower() + system[1:]


def _what_to_do(nodes: int, total: int, *, answered: bool) -> str:
    if 2 * nodes >= total:
        return _ALL_OUT
    return _SOME_OUT if answered else _NEVER


def outage_text(outage: Outage, now: float) -> str:
    """`all 800 nodes unreachable since 23:00:10, 798 of them connection refused`, in local time."""
    many = f"{outage.nodes} of {outage.nodes_total} nodes"
    who = f"all {outage.nodes} nodes" if outage.nodes == outage.nodes_total else many
    if outage.since is None:
        return f"{who} have {since_and_why(outage, now)}"
    return f"{who} unreachable since {_clock(outage.since, now)}{_why(outage)}"


def since_and_why(outage: Outage, now: float) -> str:
    """`not answered since 23:00:10: connection refused`, or `never answered: ...`."""
    return f"{'never' if outage.since is None else 'not'} {answered_and_why(outage, now)}"


def answered_and_why(outage: Outage, now: float) -> str:
    """The same after "none has": `answered since 23:00:10: connection refused`."""
    since = "" if outage.since is None else f" since {_clock(outage.since, now)}"
    return f"answered{since}{_why(outage)}"


def _why(outage: Outage) -> str:
    causes = list(outage.causes.items())
    if len(causes) == 1 and causes[0][1] == outage.nodes:
        return f": {causes[0][0]}"
    clauses = [f"{count} of them {cause}" for cause, count in causes[:1]]
    clauses += [f"{count} {cause}" for cause, count in causes[1:]]
    return "".join(f", {clause}" for clause in clauses)


def _clock(time_text: str, now: float) -> str:
    """As a clock on the wall here shows it, with the date where that is another day's."""
    seconds = unix_seconds(time_text)
    form = "%H:%M:%S" if abs(now - seconds) < _DAY_S else "%Y-%m-%d %H:%M"
    return datetime.fromtimestamp(seconds).astimezone().strftime(form)
