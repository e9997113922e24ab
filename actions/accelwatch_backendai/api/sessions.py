"""Sessions with their kernels, as every release from 23.03 on shows them over GraphQL.

An observation carries them, so nothing that a user keeps secret is in one: no environment, no command,
no e-mail. The owner's access key is beside it, for the request that is made next.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.errors import GRAPHQL_ERROR, BackendAiRefusedError
from accelwatch.api_client.backendai.paging import PAGE, Page, all_rows, quoted
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch_backendai.api.slots import Slots, slots_in

# Of one user with one name: one row for each time that it was created.
_MOST_NAMED = 20 * PAGE
_FIELDS = """session_id name type status status_info result tag access_key full_name user_id
group_name scaling_group cluster_size cluster_mode created_at terminated_at status_history
containers { id agent status status_info cluster_role cluster_idx occupied_slots }"""
# What is needed of all at once: the manager answers a page of these in a third less time (26.9.6).
_BRIEF = """session_id name type status status_info tag access_key full_name user_id group_name
containers { agent status }"""
_QUERY = (
    "query($limit: Int!, $offset: Int!, $filter: String, $key: String, $order: String) {"
    " compute_session_list(limit: $limit, offset: $offset, filter: $filter, order: $order,"
    " access_key: $key) { total_count items { %s } } }"
)
# Names that no release has changed; statuses that one has not cannot be named to it.
_LIVE = '(status != "TERMINATED") & (status != "CANCELLED") & (status != "ERROR")'
# What waits to be placed has no agents, and there may be tens of thousands.
_SCHEDULED = f'{_LIVE} & (status != "PENDING")'
# What begins while pages are read comes after them; what ends is noticed.
_OLDEST_FIRST, _NEWEST_FIRST = "created_at", "-created_at"


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """One container of a session."""

    id: str = ""
    # Id of its agent; empty before it is scheduled.
    agent: str = ""
    status: str = ""
    # Why it has that status, in a word such as task-failed.
    status_info: str = ""
    # Only the main kernel of a batch session runs its command.
    role: str = "main"
    index: int = 1
    # What it has of its agent; before it is scheduled, what it requests.
    slots: Slots = {}


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One session. Times in Unix seconds of the manager's clock."""

    # A UUID, never given again.
    id: str
    name: str = ""
    # batch, interactive, inference or system.
    type: str = ""
    status: str = ""
    # Why it has that status; 26.1 has a sentence there for one that is pending.
    status_info: str = ""
    # SUCCESS, FAILURE or UNDEFINED; of one that was ended by a request either.
    result: str = ""
    tag: str = ""
    project: str = ""
    resource_group: str = ""
    cluster_size: int = 1
    # single-node or multi-node.
    cluster_mode: str = ""
    created: float = 0.0
    # When it began to run; None before.
    started: float | None = None
    finished_at: float | None = None
    # The user's full name where there is one, else the id; never an e-mail address.
    user: str = ""
    kernels: tuple[Kernel, ...] = ()


class OwnedSession(msgspec.Struct, frozen=True):
    """A session, and its owner's access key: for a request, never for a text or an observation."""

    session: Session
    owner: str

    def __repr__(self) -> str:
        """Without the key."""
        return f"OwnedSession({self.session.id})"


async def session_by_id(client: BackendAiClient, session_id: str) -> OwnedSession | None:
    """One session, whether it runs or has ended; None where the manager has none of that id.

    This and those below raise BackendAiError.
    """
    page = await _page(client, f"id == {quoted(session_id)}", "", 0, _OLDEST_FIRST)
    return page.rows[0] if page.rows else None


async def live_sessions(client: BackendAiClient, agent: str) -> list[OwnedSession]:
    """All with a kernel on an agent that have not ended, the oldest first."""
    try:
        return await _all(client, f"{_LIVE} & (agent_ids == {quoted(agent)})")
    except BackendAiRefusedError as error:
        if error.problem.kind != GRAPHQL_ERROR:
            raise
        # Releases before 23.09 have no query for the sessions of an agent.
        live = await _all(client, _SCHEDULED)
    return [row for row in live if any(kernel.agent == agent for kernel in row.session.kernels)]


async def scheduled_sessions(client: BackendAiClient) -> list[OwnedSession]:
    """All that have not ended and whose agents are chosen, the oldest first.

    Without times, results, resource groups and resources.
    """
    return await _all(client, _SCHEDULED, fields=_BRIEF)


async def sessions_named(client: BackendAiClient, owner: str, name: str) -> list[Session]:
    """All of a name that a user has, or has had, the newest first; `owner` is an access key.

    No release can filter by tag over GraphQL; the caller searches these.
    """
    rows = await _all(client, f"name == {quoted(name)}", owner, _NEWEST_FIRST, _MOST_NAMED)
    return [row.session for row in rows]


async def sessions_of(client: BackendAiClient, owner: str, name: str) -> list[Session]:
    """Those of `sessions_named`, and all others of that user that have not ended.

    Users rename sessions that run: what was created under a name may have another by now.
    """
    named = await sessions_named(client, owner, name)
    live = await _all(client, _LIVE, owner) if owner else []
    return list({row.id: row for row in (*named, *(each.session for each in live))}.values())


async def sessions_tagged(
    client: BackendAiClient, owner: str, name: str, tag: str
) -> list[Session]:
    """Those of `sessions_of` that have a tag."""
    return [row for row in await sessions_of(client, owner, name) if row.tag == tag]


async def _all(
    client: BackendAiClient,
    chosen: str,
    owner: str = "",
    order: str = _OLDEST_FIRST,
    most: int | None = None,
    *,
    fields: str = _FIELDS,
) -> list[OwnedSession]:
    async def page(offset: int) -> Page[OwnedSession]:
        return await _page(client, chosen, owner, offset, order, fields=fields)

    return await all_rows(page, lambda row: row.session.id, most)


async def _page(
    client: BackendAiClient,
    chosen: str,
    owner: str,
    offset: int,
    order: str,
    *,
    fields: str = _FIELDS,
) -> Page[OwnedSession]:
    variables = {
        "limit": PAGE,
        "offset": offset,
        "filter": chosen,
        "key": owner or None,
        "order": order,
    }
    body = await client.graphql(_QUERY % fields, variables)
    listed = decoded(body, _Data).compute_session_list
    return Page([_owned(row) for row in listed.items], listed.total_count)


class _Container(msgspec.Struct, frozen=True):
    id: str | None = None
    agent: str | None = None
    status: str | None = None
    status_info: str | None = None
    cluster_role: str | None = None
    cluster_idx: int | None = None
    # JSON in a string.
    occupied_slots: str | None = None


class _SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str
    name: str | None = None
    type: str | None = None
    status: str | None = None
    status_info: str | None = None
    result: str | None = None
    tag: str | None = None
    access_key: str | None = None
    full_name: str | None = None
    user_id: str | None = None
    group_name: str | None = None
    scaling_group: str | None = None
    cluster_size: int | None = None
    cluster_mode: str | None = None
    created_at: datetime | None = None
    terminated_at: datetime | None = None
    # JSON in a string: the time of each status.
    status_history: str | None = None
    containers: Sequence[_Container] | None = None


class _List(msgspec.Struct, frozen=True):
    items: tuple[_SessionRow, ...]
    total_count: int = 0


class _Data(msgspec.Struct, frozen=True):
    compute_session_list: _List


def _owned(row: _SessionRow) -> OwnedSession:
    session = Session(
        id=row.session_id,
        name=row.name or "",
        type=(row.type or "").lower(),
        status=(row.status or "").upper(),
        status_info=row.status_info or "",
        result=(row.result or "").upper(),
        tag=row.tag or "",
        project=row.group_name or "",
        resource_group=row.scaling_group or "",
        cluster_size=row.cluster_size or 1,
        cluster_mode=(row.cluster_mode or "").lower().replace("_", "-"),
        created=_seconds(row.created_at) or 0.0,
        started=_started(row),
        finished_at=_seconds(row.terminated_at),
        user=_user(row),
        kernels=tuple(_kernel(container) for container in row.containers or ()),
    )
    return OwnedSession(session, row.access_key or "")


def _user(row: _SessionRow) -> str:
    """Some sites write e-mail addresses where a name belongs."""
    name = row.full_name or ""
    return name if name and "@" not in name else row.user_id or ""


def _kernel(container: _Container) -> Kernel:
    return Kernel(
        id=container.id or "",
        agent=container.agent or "",
        status=(container.status or "").upper(),
        status_info=container.status_info or "",
        role=container.cluster_role or "main",
        index=container.cluster_idx or 1,
        slots=slots_in(container.occupied_slots) or {},
    )


def _started(row: _SessionRow) -> float | None:
    """By its history: `starts_at` is a wish of its user until it runs."""
    try:
        history = msgspec.json.decode(row.status_history or "{}", type=dict[str, str])
        return datetime.fromisoformat(history["RUNNING"]).timestamp()
    except (*DECODE_ERRORS, KeyError, ValueError):
        return None


def _seconds(date: datetime | None) -> float | None:
    return None if date is None else date.timestamp()
