"""The present state of the fleet: the table's rows, combined with which nodes report.

A silent node's devices are called stale or unreachable, one that has gone missing, whatever they last
reported last.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.alerting.rules.timing import LEAST_SILENCE_S
from accelwatch.base.slices import YieldControl
from accelwatch.fleet.names import GONE, NodeState
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.rows.table import Codes, Indices
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.state_codes import HEALTH, NODE_STATE, STATE
from accelwatch.schema.device import UP, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series

# Instead of a state: the device's own.
_OWN = len(STATE)
# What devices are called by the state of their node.
_CALLED: Codes = np.array(
    [STATE[GONE[state]] if state in GONE else _OWN for state in NodeState], dtype=np.uint8
)
_UP = [STATE[state] for state in UP]
_UNKNOWN = HEALTH[Health.UNKNOWN]
# Nodes that are refreshed before control is yielded: a millisecond or two, and passes over arrays pay.
AT_ONCE = 96


class FleetStatus(NamedTuple):
    """Rows of devices, present and missing, and their present state; the arrays have one length."""

    # In the order in which their nodes were requested, a node's by index.
    rows: Indices
    # What each is called (`table.words.STATES`).
    state: Codes
    health: Codes
    # Whether its node reports.
    speaks: Bools
    # Whether its node reports, and its own source did within the last two intervals.
    current: Bools
    # How fresh its node is (`table.words.NODE_STATES`).
    node_state: Codes
    # Seconds since it was read; NaN where it never was.
    age_s: Floats


def status_number(
    series: Series, state: npt.NDArray[np.integer], health: npt.NDArray[np.integer]
) -> Floats | None:
    """The values that follow from states, for a quantity without a reading; None of any other."""
    match series:
        case ("health", name):
            return np.where(health == HEALTH.get(name, len(HEALTH)), 1.0, 0.0)
        case ("device_up",):
            return np.isin(state, _UP).astype(np.float64)
        case ("device_suspended",):
            return np.where(state == STATE[DeviceState.SUSPENDED], 1.0, 0.0)
    return None


async def refresh_nodes(
    fleet: Fleet, series: Iterable[Series], yield_control: YieldControl
) -> list[Node]:
    """Bring all nodes up to date, a few at a time; those that there were when it began."""
    nodes, requested = list(fleet.nodes.values()), tuple(series)
    for at in range(0, len(nodes), AT_ONCE):
        await yield_control()
        chunk = nodes[at : at + AT_ONCE]
        fleet.table.refresh(chunk, requested, fleet.clock.monotonic())
    return nodes


async def sampled(fleet: Fleet, yield_control: YieldControl) -> None:
    """Sample all nodes into the windows that rules read; once a second or so."""
    if fleet.table.windows.series:
        await refresh_nodes(fleet, fleet.table.windows.series, yield_control)
        fleet.table.sample(fleet.clock.monotonic(), fleet.groups.jobs())


async def full_status(
    fleet: Fleet, nodes: Sequence[Node], yield_control: YieldControl
) -> FleetStatus:
    """`status_of` many nodes, a few at a time."""
    chunks = [status_of(fleet, ())]
    for at in range(0, len(nodes), AT_ONCE):
        await yield_control()
        chunks.append(status_of(fleet, nodes[at : at + AT_ONCE]))
    return FleetStatus(*[np.concatenate(arrays) for arrays in zip(*chunks, strict=True)])


def status_of(fleet: Fleet, nodes: Iterable[Node]) -> FleetStatus:
    """The devices of nodes that were brought up to date before."""
    table = fleet.table
    rows: list[int] = []
    states: list[int] = []
    silent: list[bool] = []
    now = fleet.clock.monotonic()
    for node in nodes:
        slots = table.slots_of(node.name)
        if slots is not None and slots.rows:
            rows += slots.rows
            states += [NODE_STATE[fleet.state_of(node)]] * len(slots.rows)
            silent += [node.is_silent(now)] * len(slots.rows)
    at: Indices = np.array(rows, dtype=np.intp)
    node_state: Codes = np.array(states, dtype=np.uint8)
    called = _CALLED[node_state]
    speaks: Bools = called == _OWN
    arrived = table.arrived[at]
    late = now - arrived > np.maximum(LEAST_SILENCE_S, 2 * table.interval_s[at])
    # A missing device has no source of its own: whether its node is silent counts.
    is_silent = np.where(np.isnan(arrived), np.array(silent, dtype=np.bool_), late)
    age = np.round(now - arrived + table.behind[at], 3)
    return FleetStatus(
        rows=at,
        state=np.where(speaks, table.state[at], called),
        health=np.where(speaks, table.health[at], np.uint8(_UNKNOWN)),
        speaks=speaks,
        current=speaks & ~is_silent,
        node_state=node_state,
        age_s=age,
    )
