"""Shared by the hub's pages: filters by node state, long lists, and the first page."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.fleet.leader_note import leader_text
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.wire import FleetDocument
from accelwatch.web.pages.index import by_state, link_page
from accelwatch.web.pages.json_page import packed
from accelwatch.web.pages.page import JSON, Headers, Page, Query, many

_LARGE_BYTES = 1 << 20
_PIECE_ROWS = 500
_to_json = msgspec.json.Encoder().encode
_LINKS = (
    ("/v1/fleet", "the fleet in numbers"),
    ("/v1/nodes", "nodes, their age, and why one fails"),
    ("/v1/devices", "devices; with filter and fields"),
    ("/v1/groups?by=vendor", "sums by rack, partition, job, user, vendor"),
    ("/v1/events", "error events, newest first"),
    ("/v1/incidents", "what rules have found"),
    ("/v1/silences", "muted notifications"),
    ("/v1/maintenance", "nodes that are worked on"),
    ("/v1/avoid", "nodes to keep new jobs off now, and why"),
    ("/v1/odd", "who differs from the many in driver, firmware, kernel"),
    ("/v1/rules", "the rules in force"),
    ("/v1/hubs", "which hub leads, and which others there are"),
    ("/v1/stream", "devices, events and values every second"),
    ("/v1/openapi.json", "all of this for machines"),
    ("/metrics", "aggregates for Prometheus"),
    ("/-/healthy", "whether the hub lives"),
    ("/-/ready", "whether the targets are known"),
)


def listed(
    name: str,
    rows: list[bytes],
    following: str | None,
    headers: Headers,
    problems: Sequence[str] = (),
) -> Page:
    """`NodesPage` or `DevicesPage` of rows that are JSON already; a large one goes out in pieces."""
    prefix = b'{"%b":[' % name.encode()
    end = b'],"next":%b,"problems":%b}\n' % (_to_json(following), _to_json(problems))
    if sum(map(len, rows)) <= _LARGE_BYTES:
        body = prefix + b",".join(rows) + end
        return packed(body, JSON, headers.get("Accept-Encoding", ""))

    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(rows), _PIECE_ROWS):
            yield (b"," if at else prefix) + b",".join(rows[at : at + _PIECE_ROWS])
        yield end

    plain = {"Content-Type": JSON, "Cache-Control": "no-store"}
    return Page(body=b"", headers=plain, chunks=chunks)


def index_page(fleet: FleetDocument) -> Page:
    """Nodes and devices by state, problems, links."""
    counts = f"Nodes: {by_state(fleet.nodes)}. Devices: {by_state(fleet.devices)}."
    note = fleet.leader
    since = "" if note is None or note.since is None else f"{note.since[11:16]} UTC"
    leads = () if note is None else (leader_text(note, since),)
    sentences = (f"{text[:1].upper()}{text[1:]}." for text in leads)
    summary = " ".join((counts, *sentences, *(f"{problem}." for problem in fleet.problems)))
    return link_page(f"accelwatch {fleet.version} hub", summary, _LINKS)


def states_of(query: Query) -> set[str]:
    """The requested states of nodes; empty for all. Raises UsageError."""
    states = set(many(query, "state"))
    if "state" in query and not states:
        raise UsageError(f"state: one or more of {', '.join(NodeState)}, with commas")
    if unknown := states - set(NodeState):
        raise UsageError(f"state: {min(unknown)[:40]!r} is not one of {', '.join(NodeState)}")
    return states
