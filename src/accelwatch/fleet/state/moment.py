"""The fleet at one moment: what the table's rows say once it is known which nodes are heard of.

A silent node's devices are called stale or unreachable, one that has gone missing, whatever they last
said of themselves.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.fleet.names import GONE
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.node import Node
from accelwatch.fleet.state.table import Codes, Places
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.words import HEALTH, STATE
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series

_OWN = len(STATE)
"""Instead of a state: the device's own."""
_UNKNOWN = HEALTH[Health.UNKNOWN]
AT_ONCE = 48
"""Nodes that are brought up to date without a rest."""


class Moment(NamedTuple):
    """Rows of devices, present and missing, and what is said of them now; arrays are alike long."""

    rows: Places
    """In the order in which their nodes were asked for, a node's by index."""
    state: Codes
    """What each is called (`table.words.STATES`)."""
    health: Codes
    speaks: Bools
    """Whether its node is heard of."""
    age_s: Floats
    """Seconds since it was read; NaN where it never was."""


async def brought(
    fleet: Fleet, series: Iterable[Series], rest: Callable[[], Awaitable[None]]
) -> list[Node]:
    """Bring all nodes up to date, a few at a time; those that there were when it began."""
    nodes, wanted = list(fleet.nodes.values()), tuple(series)
    for at in range(0, len(nodes), AT_ONCE):
        await rest()
        part = nodes[at : at + AT_ONCE]
        fleet.table.bring(part, wanted, fleet.clock.monotonic())
    return nodes


async def breath() -> None:
    """Let whatever else is due go on."""
    await asyncio.sleep(0)


async def whole_moment(
    fleet: Fleet, nodes: Sequence[Node], rest: Callable[[], Awaitable[None]]
) -> Moment:
    """`moment` of many nodes, a few at a time."""
    parts = [moment(fleet, ())]
    for at in range(0, len(nodes), AT_ONCE):
        await rest()
        parts.append(moment(fleet, nodes[at : at + AT_ONCE]))
    return Moment(*[np.concatenate(arrays) for arrays in zip(*parts, strict=True)])


def moment(fleet: Fleet, nodes: Iterable[Node]) -> Moment:
    """The devices of nodes that were brought up to date before."""
    table = fleet.table
    rows: list[int] = []
    silent: list[int] = []
    for node in nodes:
        seats = table.seats(node.name)
        if seats is not None and seats.rows:
            state = fleet.state_of(node)
            rows += seats.rows
            silent += [STATE[GONE[state]] if state in GONE else _OWN] * len(seats.rows)
    at: Places = np.array(rows, dtype=np.intp)
    called: npt.NDArray[np.uint8] = np.array(silent, dtype=np.uint8)
    speaks: Bools = called == _OWN
    age = np.round(fleet.clock.monotonic() - table.arrived[at] + table.behind[at], 3)
    return Moment(
        rows=at,
        state=np.where(speaks, table.state[at], called),
        health=np.where(speaks, table.health[at], np.uint8(_UNKNOWN)),
        speaks=speaks,
        age_s=age,
    )
