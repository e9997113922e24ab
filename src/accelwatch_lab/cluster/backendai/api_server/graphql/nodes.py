"""Sessions as nodes: what each of them depends on, and what depends on it."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

from accelwatch_lab.cluster.backendai.api_server import problems
from accelwatch_lab.cluster.backendai.api_server.graphql.rows import Row
from accelwatch_lab.cluster.backendai.api_server.manager import Manager
from accelwatch_lab.cluster.backendai.api_server.state.sessions import Session

_PREFIX = "ComputeSessionNode:"


def session_node(manager: Manager, node_id: str) -> Row | None:
    """Of a session by its global id; None where there is none."""
    try:
        text = base64.b64decode(node_id, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    session = manager.sessions.rows.get(text.removeprefix(_PREFIX))
    return None if session is None else _node(manager, session)


def _node(manager: Manager, session: Session) -> Row:
    rows = manager.sessions.rows
    dependees = [rows[name] for name in session.dependencies if name in rows]
    dependents = [other for other in rows.values() if session.id in other.dependencies]
    if manager.release.swaps_dependents:
        dependents, dependees = dependees, dependents
    return {
        "row_id": session.id,
        "name": session.name,
        "status": session.status,
        "dependents": _connection(manager, dependents),
        "dependees": _connection(manager, dependees),
    }


def _connection(manager: Manager, sessions: list[Session]) -> Callable[[Any], Row]:
    """A field resolved on demand. Raises RequestError then, as 26.1.0 for any row."""

    def resolve(_: Any) -> Row:
        if sessions and manager.release.swaps_dependents:
            error = problems.failed()
            error.text = "id"
            raise error
        return {"edges": [{"node": _node(manager, session)} for session in sessions]}

    return resolve
