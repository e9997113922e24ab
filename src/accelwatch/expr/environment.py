"""What a rule reads while it is evaluated for one device, and the values that need more than one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from accelwatch.expr.checking.boot import SLACK_S, UPTIME_AGE, UPTIME_SERIES
from accelwatch.expr.checking.tree import Boot, Event, EventPattern, Window
from accelwatch.expr.vocabulary.events import LONGEST_S, WITHIN_S, EventUse
from accelwatch.expr.vocabulary.kleene import Key, Missing, Raw, Value, number
from accelwatch.expr.vocabulary.peers import (
    LEAST_PEERS,
    LEAST_SCALE,
    LEAST_WITH_VALUE,
    MAD_SCALE,
    SMALL_GROUP,
)
from accelwatch.schema.metrics import Series


@dataclass(frozen=True, slots=True)
class Group:
    """The devices of a group, and for which of them it is evaluated."""

    members: Sequence["Environment"]
    # -1 for one that is no member of it, as a node is none of its devices.
    own: int
    # Results of parts of rules for all members, computed once for those who share it at one time.
    answers: "dict[Inner, list[Raw]]" = field(default_factory=dict, compare=False)
    # The numbers among these answers.
    cached_numbers: "dict[Inner, list[float | int | None]]" = field(
        default_factory=dict, compare=False
    )

    def numbers(self, inner: "Inner") -> "list[float | int | None]":
        """A part of a rule for every member, where it is a number."""
        cached = self.cached_numbers.get(inner)
        if cached is None:
            cached = self.cached_numbers[inner] = [
                number(answer) for answer in self.evaluate(inner)
            ]
        return cached

    def evaluate(self, inner: "Inner") -> "list[Raw]":
        """A part of a rule for every member."""
        cached = self.answers.get(inner)
        if cached is None:
            cached = self.answers[inner] = [inner(member) for member in self.members]
        return cached


class Environment(Protocol):
    """One device as a rule sees it. Nothing here raises for what is not there."""

    @property
    def now(self) -> float:
        """Unix seconds."""
        ...

    def lookup(self, key: Key) -> Value | Missing:
        """The current value of a field, a label or a series; those of the host by the same way."""
        ...

    def window(
        self, kind: str, key: Series, seconds: int, quantile: float | None, *, of_job: bool = False
    ) -> float | None:
        """What a `WindowKind` gives in base units; None without half of the samples.

        With `of_job` samples from before the start of the device's job do not count.
        """
        ...

    def last(self, pattern: EventPattern) -> float | None:
        """Unix seconds of the last matching event, minus infinity without one; None: not known."""
        ...

    def occurrences(self, pattern: EventPattern, seconds: int) -> int | None:
        """How many matching events there were; None where that is not known."""
        ...

    def group(self, by: str) -> Group | None:
        """The group that the device belongs to; None where it belongs to none."""
        ...

    def firing(self, rule: str) -> bool | None:
        """Whether another rule is firing for this device; None where there is no such rule."""
        ...


# A part of a rule that is evaluated for every member of a group.
Inner = Callable[[Environment], Raw]


def windowed(environment: Environment, node: Window) -> Raw:
    """The window of the first series that has one."""
    for key in node.reading.keys:
        if isinstance(key, tuple):
            arguments = node.kind, key, node.seconds, node.quantile
            value = number(environment.window(*arguments, of_job=node.of_job))
            if value is not None:
                return value
    return None


def happened(environment: Environment, node: Event) -> Raw:
    """The value of a function about events."""
    if node.kind == EventUse.COUNT:
        return environment.occurrences(node.pattern, node.seconds)
    last = environment.last(node.pattern)
    if last is None:
        return None
    if node.kind == EventUse.HAPPENED:
        ago = environment.now - last
        return _since_boot(environment, ago) if node.until_boot else ago <= node.seconds
    return number(last if node.kind == EventUse.LAST else environment.now - last)


def booted(environment: Environment, node: Boot) -> Raw:
    """The value of a function about the last boot; None where no uptime is known."""
    (key,) = node.reading.keys
    uptime = number(environment.lookup(key))
    if uptime is None:
        return None
    if node.kind == EventUse.HAPPENED:
        return uptime <= node.seconds
    return number(environment.now - uptime if node.kind == EventUse.LAST else uptime)


def _since_boot(environment: Environment, ago: float) -> bool | None:
    """Whether an event of so many seconds ago is younger than the boot; None: the node is silent."""
    if ago > LONGEST_S:
        return False
    uptime = number(environment.lookup(UPTIME_SERIES))
    if uptime is not None:
        return ago < uptime + SLACK_S
    if ago <= WITHIN_S:
        return True
    return False if windowed(environment, UPTIME_AGE) is None else None


def peer_median(environment: Environment, by: str, inner: Inner) -> Raw:
    """Median over the peers."""
    peers = _peers(environment, by, inner)
    return None if peers is None else _finite(median(peers[0]))


def peer_z(environment: Environment, by: str, inner: Inner) -> Raw:
    """By how many standard deviations the own value is above the peers' median."""
    peers = _peers(environment, by, inner)
    if peers is None:
        return None
    values, own = peers
    if own is None:
        return None
    level = median(values)
    if own == level:
        return 0.0
    spread = MAD_SCALE * median([abs(value - level) for value in values])
    scale = max(spread, LEAST_SCALE * abs(level))
    return _finite((own - level) / scale) if scale else None


def _peers(
    environment: Environment, by: str, inner: Inner
) -> tuple[list[float], float | None] | None:
    """The values to compare with, and the own one."""
    group = environment.group(by)
    if group is None:
        return None
    numbers = group.numbers(inner)
    own = numbers[group.own] if group.own >= 0 else None
    others = [
        float(value) for at, value in enumerate(numbers) if value is not None and at != group.own
    ]
    if len(others) < LEAST_PEERS:
        return None
    if own is None:
        return others, None
    alone = len(group.members) < SMALL_GROUP
    return (others if alone else [*others, float(own)]), float(own)


def _finite(value: float) -> float | None:
    result = number(value)
    return None if result is None else float(result)


def median(values: list[float]) -> float:
    """The middle one of at least one value, or the mean of the two in the middle."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def affected(environment: Environment, rule: str, by: str) -> Raw:
    """For how many members another rule is firing."""
    group = environment.group(by)
    if group is None or not group.members or group.members[0].firing(rule) is None:
        return None
    return sum(member.firing(rule) is True for member in group.members)


def folded(environment: Environment, kind: str, by: str, inner: Inner | None) -> Raw:
    """A condition over all members of a group."""
    group = environment.group(by)
    if group is None or not group.members:
        return None
    if inner is None:
        return len(group.members)
    truths = group.evaluate(inner)
    if kind == "any":
        return True if True in truths else None if None in truths else False
    if kind == "all":
        return False if False in truths else None if None in truths else True
    recognised = len(truths) - truths.count(None)
    if recognised < LEAST_WITH_VALUE * len(truths):
        return None
    true = truths.count(True)
    return true if kind == "count" else true / recognised
