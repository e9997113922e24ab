"""Devices in a standing order, page by page, filtered."""

import base64
import binascii
from bisect import bisect_left
from collections.abc import Sequence

import msgspec
import numpy as np

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import UsageError
from accelwatch.base.slices import LongWork
from accelwatch.expr import Expression
from accelwatch.fleet.api.query.choosing import chosen, series_of
from accelwatch.fleet.api.query.names import Column, all_series
from accelwatch.fleet.api.query.written import written
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.fleet_status import AT_ONCE, FleetStatus, status_of
from accelwatch.schema.metrics import Series

# Node, index and id of the last device of a page.
PagePosition = tuple[str, int, str]

# Devices read for one page: a filter that finds little must not hold up the streams.
SCAN = 1500
# Of a node: no more nodes are brought up to date than a page may need.
_USUAL_DEVICES = 8


def cursor_of(position: PagePosition) -> str:
    """A position as an opaque token."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def position_of(cursor: str) -> PagePosition:
    """The inverse of `cursor_of`. Raises UsageError."""
    try:
        padded = cursor[:2000] + "=" * (-len(cursor[:2000]) % 4)
        position: PagePosition = msgspec.json.decode(
            base64.urlsafe_b64decode(padded), type=PagePosition
        )
    except (*DECODE_ERRORS, binascii.Error, ValueError) as error:
        raise UsageError("cursor: take it from `next` of the page before") from error
    return position


async def page(
    fleet: Fleet,
    columns: Sequence[Column],
    *,
    names: Sequence[str],
    expression: Expression | None,
    after: PagePosition | None,
    limit: int,
    walk: LongWork,
) -> tuple[list[bytes], str | None]:
    """Rows that the filter wants, each as JSON, and the cursor of the next page.

    `names` are the nodes' names, sorted.
    """
    series = [*all_series(columns), *series_of(expression)]
    rows: list[bytes] = []
    last: PagePosition | None = None
    scanned, at = 0, bisect_left(names, after[0]) if after else 0
    while at < len(names):
        await walk.yield_control()
        most = limit - len(rows)
        if (
            expression is not None
        ):  # not knowing how few it finds, we begin with few and look at more
            most = min(2 * most + scanned, SCAN - scanned)
        batch = names[at : at + max(min(most // _USUAL_DEVICES, AT_ONCE), 1)]
        at += len(batch)
        now = _fetch_rows(fleet, batch, series)
        start = _first(fleet, now, after)
        fits = chosen(fleet, now, expression)
        fits[:start] = False
        left = len(now.rows) - start
        if expression is not None and left > SCAN - scanned:
            left = max(SCAN - scanned, 0)
        positions = [
            candidate for candidate in np.flatnonzero(fits).tolist() if candidate < start + left
        ]
        over = positions[limit - len(rows) :]
        if over:
            left = over[0] - start
            positions = positions[: limit - len(rows)]
        rows += written(fleet, now, np.array(positions, dtype=np.intp), columns)
        if left:
            last = _position_at(fleet, now, start + left - 1)
            scanned += left
        if start + left < len(now.rows) and last is not None:
            return rows, cursor_of(last)
    return rows, None


def _fetch_rows(fleet: Fleet, names: Sequence[str], series: Sequence[Series]) -> FleetStatus:
    nodes = [node for name in names if (node := fleet.nodes.get(name)) is not None]
    fleet.table.refresh(nodes, series, fleet.clock.monotonic())
    return status_of(fleet, nodes)


def _position_at(fleet: Fleet, now: FleetStatus, at: int) -> PagePosition:
    row = int(now.rows[at])
    device = fleet.table.devices[row]
    assert device is not None
    return fleet.table.at_number[int(fleet.table.node[row])].node, device.index, device.id


def _first(fleet: Fleet, now: FleetStatus, after: PagePosition | None) -> int:
    """The first device of a status after a position."""
    if after is None:
        return 0
    count = len(now.rows)
    return next((at for at in range(count) if _position_at(fleet, now, at) > after), count)
