"""Sessions that start only when another one has succeeded, by that one's id.

No request changes what they depend on: they do not wait for a session that was created to replace
that one.
"""

import base64

import msgspec

from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.errors import GRAPHQL_ERROR, BackendAiRefusedError
from accelwatch.api_client.backendai.releases import Ability, Release

_QUERY = "query($id: GlobalIDField!) { compute_session_node(id: $id) { %s } }"
_DEPENDENTS = "dependents { edges { node { row_id name status } } }"
_DEPENDEES = "dependees { edges { node { row_id } } }"
# What 26.1.0 answers instead of either field where there is something to show. It has them the wrong way
# round besides: the one that fails for a session on which others depend is `dependees`.
_SWAPPED = ("id", "id; id")


class Dependent(msgspec.Struct, frozen=True, kw_only=True):
    """A session that depends on another; without an id where the release does not show which it is."""

    id: str = ""
    name: str = ""
    status: str = ""


class _Node(msgspec.Struct, frozen=True):
    row_id: str
    name: str | None = None
    status: str | None = None


class _Edge(msgspec.Struct, frozen=True):
    node: _Node


class _Edges(msgspec.Struct, frozen=True):
    edges: tuple[_Edge, ...] = ()


class _Session(msgspec.Struct, frozen=True):
    dependents: _Edges = _Edges()


class _Data(msgspec.Struct, frozen=True):
    compute_session_node: _Session | None = None


async def dependents_of(
    client: BackendAiClient, release: Release, session_id: str
) -> tuple[Dependent, ...]:
    """Those of a session, whether they have ended or not; none before 24.09, which has no such query.

    Raises BackendAiError.
    """
    if not release.can(Ability.DEPENDENTS):
        return ()
    try:
        body = await _read(client, session_id, f"{_DEPENDENTS} {_DEPENDEES}")
    except BackendAiRefusedError as error:
        if not _is_swapped(error):
            raise
        return await _unnamed(client, session_id)
    session = decoded(body, _Data).compute_session_node
    return tuple(
        Dependent(
            id=edge.node.row_id,
            name=edge.node.name or "",
            status=(edge.node.status or "").upper(),
        )
        for edge in (session.dependents.edges if session is not None else ())
    )


async def _unnamed(client: BackendAiClient, session_id: str) -> tuple[Dependent, ...]:
    """Whether there are any, of a release that does not show which they are."""
    try:
        await _read(client, session_id, _DEPENDEES)
    except BackendAiRefusedError as error:
        if not _is_swapped(error):
            raise
        return (Dependent(),)
    return ()


async def _read(client: BackendAiClient, session_id: str, fields: str) -> bytes:
    node = base64.b64encode(f"ComputeSessionNode:{session_id}".encode()).decode()
    return await client.graphql(_QUERY % fields, {"id": node})


def _is_swapped(error: BackendAiRefusedError) -> bool:
    problem = error.problem
    return problem.kind == GRAPHQL_ERROR and problem.started and problem.message in _SWAPPED
