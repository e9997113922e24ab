"""How often each kind of failure comes, a node and day: published, or counted from incidents."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Self

import msgspec

from accelwatch_lab.recovery.failures import BY_NAME, FAILURES, Failure

DAY_S = 86_400.0
# arXiv:2605.09370v1: 63 nodes, metrics of 55 days.
_PUBLISHED_NODE_DAYS = 63 * 55.0
_PUBLISHED_SOURCE = "arXiv:2605.09370v1: 63 nodes, 55 days"
# Kinds that the source has no count of.
_ASSUMED = {"software": "assumed: as many as of hardware"}
# What an incident's advice says of its kind. A fleet's incidents separate resets from reboots, not
# which Xid it was: each advice stands for the most frequent published kind with that cure.
_BY_ADVICE = {
    "restart": "software",
    "reset": "nvlink",
    "reboot": "off_bus",
    "replace": "off_bus",
    "exclude": "slow",
    "wait": "group",
}
GROUP_SCOPES = frozenset({"group", "rack"})


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Failures of one fleet."""

    # A node and day, by name of the kind.
    by_kind: Mapping[str, float]
    # What they were counted from.
    count: int
    node_days: float
    source: str
    # By name of the kind, where the source is another one.
    other_sources: Mapping[str, str] = {}

    def source_of(self, kind: str) -> str:
        """Where the rate of a kind is from."""
        return self.other_sources.get(kind, self.source)

    def per_day(self, nodes: int) -> float:
        """Ends of a job of so many nodes."""
        return nodes * sum(self.by_kind.values())

    def hardware_per_day(self, nodes: int) -> float:
        """Of so many nodes, those that are broken and leave for repair."""
        return nodes * sum(rate for name, rate in self.by_kind.items() if BY_NAME[name].is_hardware)

    def with_code(self, share: float) -> Self:
        """The same fleet, with this share of the ends by software such that no restart cures."""
        software = self.by_kind.get("software", 0.0) + self.by_kind.get("code", 0.0)
        more = {"software": software * (1.0 - share), "code": software * share}
        sources = {"software": self.source_of("software"), "code": "--code-share of these"}
        return msgspec.structs.replace(
            self,
            by_kind={**self.by_kind, **more},
            other_sources={**self.other_sources, **sources},
        )

    def weights(self) -> list[tuple[Failure, float]]:
        """Kinds that happen, with their rates."""
        return [
            (failure, self.by_kind[failure.name])
            for failure in FAILURES
            if self.by_kind.get(failure.name, 0.0) > 0.0
        ]


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """What counting needs of an incident that paged a person."""

    advice: str
    scope: str


def published() -> Rates:
    """The rates of the published fleet."""
    counts = {failure.name: failure.published for failure in FAILURES}
    rates = _rates(counts, _PUBLISHED_NODE_DAYS, _PUBLISHED_SOURCE)
    return msgspec.structs.replace(rates, other_sources=_ASSUMED)


def counted(incidents: Iterable[Observed], node_days: float, source: str) -> Rates:
    """The rates of a fleet by its incidents; what nobody has to do anything about is no failure."""
    kinds = Counter(filter(None, map(kind_of, incidents)))
    return _rates(kinds, node_days, source)


def kind_of(incident: Observed) -> str | None:
    """The kind of failure; None where its advice is to do nothing."""
    if incident.scope in GROUP_SCOPES:
        return "group"
    return _BY_ADVICE.get(incident.advice)


def _rates(counts: Mapping[str, int], node_days: float, source: str) -> Rates:
    return Rates(
        by_kind={name: count / node_days for name, count in counts.items() if count},
        count=sum(counts.values()),
        node_days=node_days,
        source=source,
    )
