"""Outages of a fleet's nodes from a trace, and how many nodes were out at once.

The form is that of InfiniteHBD's trace: a JSON list of events, each with `node_id`, `event_time` in
days and `event_type` `fault_start` or `fault_end`.
"""

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from random import Random
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import ConfigError

# What begins again within half an hour is the same outage.
JOINED_DAYS = 0.02
_CHOICES = 200
_HOURS = 24
_MOST_DAYS = 36_500.0
_MOST_BYTES = 256 * 1024 * 1024
_GZIP, _GZIP_BITS = b"\x1f\x8b", 31


class Outage(NamedTuple):
    """One outage of a node, in days of the trace."""

    start: float
    end: float


class _Type(StrEnum):
    START = "fault_start"
    END = "fault_end"


class _Event(msgspec.Struct, frozen=True):
    node_id: str
    event_time: Annotated[float, Meta(ge=0, le=_MOST_DAYS)]
    event_type: _Type


class OutageTrace(msgspec.Struct, frozen=True, kw_only=True):
    """Outages by node, in order, none overlapping another of its node."""

    by_node: Mapping[str, Sequence[Outage]]
    # Length of the trace.
    days: float
    # All that were watched, also those that never failed.
    servers: int
    name: str

    @property
    def count(self) -> int:
        """All outages."""
        return sum(map(len, self.by_node.values()))

    @property
    def node_days(self) -> float:
        """Days that nodes were out, over all nodes."""
        return sum(
            outage.end - outage.start for outages in self.by_node.values() for outage in outages
        )

    def relapses(self, within_days: float) -> int:
        """Outages that are followed by another one of their node within so many days."""
        return sum(
            after.start - before.end < within_days
            for outages in self.by_node.values()
            for before, after in pairwise(outages)
        )


def outages_of(data: bytes, name: str, servers: int | None = None) -> OutageTrace:
    """The outages of a file, plain or gzip; `servers` are those of the fleet, also without any.

    Raises ConfigError for a file of another shape, or where more servers failed than there are.
    """
    try:
        events = msgspec.json.decode(_plain(data), type=list[_Event])
    except (*DECODE_ERRORS, zlib.error) as error:
        raise ConfigError(f"{name}: not a list of fault_start and fault_end: {error}") from error
    if not events:
        raise ConfigError(f"{name}: the trace has no events")
    return _trace(events, servers, name)


def _plain(data: bytes) -> bytes:
    """Decompressed where it is gzip, and cut off where that is too much. Raises zlib.error."""
    if not data.startswith(_GZIP):
        return data
    return zlib.decompressobj(_GZIP_BITS).decompress(data, _MOST_BYTES)


def _trace(events: Iterable[_Event], servers: int | None, name: str) -> OutageTrace:
    """Events as outages; an outage without an end lasts until the end of the trace."""
    by_node: dict[str, list[_Event]] = defaultdict(list)
    last = 0.0
    for event in events:
        by_node[event.node_id].append(event)
        last = max(last, event.event_time)
    outages = {node: _joined(_spans(of_node, last)) for node, of_node in by_node.items()}
    if servers is not None and servers < len(outages):
        raise ConfigError(f"{name}: {len(outages)} servers failed in it, more than {servers}")
    servers = len(outages) if servers is None else servers
    return OutageTrace(by_node=outages, days=last, servers=servers, name=name)


def _spans(events: Sequence[_Event], last: float) -> Iterable[Outage]:
    """Times in which at least one fault of a node was open."""
    faults, start = 0, 0.0
    for event in sorted(
        events, key=lambda event: (event.event_time, event.event_type is _Type.END)
    ):
        if event.event_type is _Type.START:
            start = event.event_time if faults == 0 else start
            faults += 1
        elif faults:
            faults -= 1
            if not faults:
                yield Outage(start, event.event_time)
    if faults:
        yield Outage(start, last)


def _joined(spans: Iterable[Outage]) -> tuple[Outage, ...]:
    joined: list[Outage] = []
    for span in spans:
        if joined and span.start - joined[-1].end <= JOINED_DAYS:
            joined[-1] = Outage(joined[-1].start, span.end)
        else:
            joined.append(span)
    return tuple(joined)


def spares_in_trace(
    trace: OutageTrace, nodes: int, chance: Random, enough: float = 0.99
) -> int | None:
    """Spares that were enough in so much of the trace's hours for `nodes` of its servers.

    The median over 200 choices of nodes; None for more nodes than the trace has servers.
    """
    if nodes > trace.servers:
        return None
    out = [_hours_out(outages) for outages in trace.by_node.values()]
    out += [frozenset()] * (trace.servers - len(out))
    hours = max(int(trace.days * _HOURS), 1)
    needed = sorted(
        _quantile(chance.sample(out, nodes), hours, enough)
        for _ in range(1 if nodes == trace.servers else _CHOICES)
    )
    return needed[len(needed) // 2]


def _hours_out(outages: Sequence[Outage]) -> frozenset[int]:
    """Hours of the trace in which a node was out at some time."""
    return frozenset(
        hour
        for outage in outages
        for hour in range(int(outage.start * _HOURS), math.ceil(outage.end * _HOURS))
    )


def _quantile(chosen: Sequence[frozenset[int]], hours: int, enough: float) -> int:
    counts = [0] * (hours + 1)
    for of_node in chosen:
        for hour in of_node:
            counts[min(hour, hours)] += 1
    counts.sort()
    return counts[min(int(enough * hours), hours)]
