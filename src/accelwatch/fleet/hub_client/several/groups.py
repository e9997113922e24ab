"""Groups of devices as one of several hubs counts them, without the nodes that another speaks for."""

import json
from collections.abc import Collection, Mapping, Sequence

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.fleet.documents.fleet import GroupRow
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.hub_client.connection.session import Requests
from accelwatch.fleet.hub_client.connection.stream import NO_HUB
from accelwatch.fleet.hub_client.once import all_rows
from accelwatch.fleet.hub_client.several.merging.totals import (
    added,
    groups_without,
    stale_group,
    with_name,
)
from accelwatch.fleet.names import HUB_LABEL
from accelwatch.schema.status.device_status import severity

# Nodes that one filter names: it has to fit into the line of a request.
_NODES_AT_ONCE = 20


class HubGroups:
    """One question for groups, put to each hub. Groups by `hub` are those of its nodes, added up."""

    def __init__(self, query: Mapping[str, str]) -> None:
        """`query` has `by`, and `filter` where there is one."""
        self._by_hub = query["by"] == HUB_LABEL
        self._query = {**query, "by": "node"} if self._by_hub else dict(query)

    async def fetch(self, session: Requests) -> tuple[GroupRow, ...]:
        """The hub's own groups. Raises TargetFault."""
        return await _groups(session, self._query)

    async def own(
        self,
        session: Requests,
        groups: Sequence[GroupRow],
        *,
        nodes: Collection[str],
        hidden: frozenset[str],
        silent: bool,
    ) -> Sequence[GroupRow]:
        """Groups of those of the hub's `nodes` that are not hidden; none where all are.

        A hub that is silent now cannot be queried for hidden nodes, so they stay in.
        """
        if hidden and len(hidden) >= len(nodes):
            return ()
        rows: Sequence[GroupRow] = groups
        if self._by_hub:
            rows = [row for row in groups if row.group not in hidden]
            worst = max((row.worst for row in rows), key=severity, default="ok")
            rows = [with_name(session.endpoint.name, worst, added(rows))] if rows else []
        elif hidden and not silent:
            rows = groups_without(groups, await self._of(session, sorted(hidden)))
        return [stale_group(row) for row in rows] if silent else rows

    async def _of(self, session: Requests, nodes: Sequence[str]) -> list[GroupRow]:
        """The same groups of some nodes only."""
        condition = self._query.get("filter", "")
        rows: list[GroupRow] = []
        for at in range(0, len(nodes), _NODES_AT_ONCE):
            named = " or ".join(
                f"node=={json.dumps(node)}" for node in nodes[at : at + _NODES_AT_ONCE]
            )
            chosen = f"({condition}) and ({named})" if condition else named
            rows += await _groups(session, {**self._query, "filter": chosen})
        return rows


async def _groups(session: Requests, query: Mapping[str, str]) -> tuple[GroupRow, ...]:
    rows = await all_rows(session, "groups", query)
    try:
        return tuple(msgspec.json.decode(raw, type=GroupRow) for raw in rows)
    except DECODE_ERRORS as error:
        raise TargetFault(Reason.GARBAGE, f"{NO_HUB} ({error})") from error
