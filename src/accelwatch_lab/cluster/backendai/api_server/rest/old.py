"""The paths below /session, by name or id."""

import uuid
from collections.abc import Mapping
from typing import Any

from accelwatch_lab.cluster.backendai.api_server import problems
from accelwatch_lab.cluster.backendai.api_server.accounts import Keypair
from accelwatch_lab.cluster.backendai.api_server.clock import text_of
from accelwatch_lab.cluster.backendai.api_server.manager import PROJECT_ID, Manager
from accelwatch_lab.cluster.backendai.api_server.state.sessions import CLOSED, Session

_TRUE = {"1", "true", "yes", "y", "on"}


def terminated(
    manager: Manager, caller: Keypair, key: str, query: Mapping[str, str]
) -> dict[str, Any]:
    """DELETE /session/KEY. Raises RequestError."""
    session = _session(manager, _owner(manager, caller, query), key)
    forced = query.get("forced", "false").lower() in _TRUE
    status = manager.lifecycle.end(session, forced)
    return {"stats": {"status": status} if status else {}}


def shown(manager: Manager, caller: Keypair, key: str, query: Mapping[str, str]) -> dict[str, Any]:
    """GET /session/KEY: of one that has not ended. Raises RequestError."""
    session = _session(manager, _owner(manager, caller, query), key)
    if session.status in CLOSED:
        raise problems.no_session(f"Session (id={key}) does not exist.")
    slots = str({slot: str(count) for slot, count in session.slots.items()})
    return {
        "domainName": session.domain,
        "groupId": PROJECT_ID,
        "userId": session.owner.user_id,
        "lang": session.image,
        "image": session.image,
        "architecture": session.architecture,
        "tag": session.tag,
        "requestedSlots": slots,
        "occupiedSlots": slots,
        "environ": str(dict(session.environ)),
        "resourceOpts": str(dict(session.resource_opts)),
        "status": session.status,
        "statusInfo": str(session.status_info),
        "creationTime": text_of(session.created_at),
        "terminationTime": text_of(session.terminated_at),
    }


def _owner(manager: Manager, caller: Keypair, query: Mapping[str, str]) -> Keypair:
    return manager.accounts.acting_for(caller, query.get("owner_access_key"))


def _session(manager: Manager, owner: Keypair, key: str) -> Session:
    if _is_id(key):
        session = manager.sessions.rows.get(key)
        if session is None or session.owner.access_key != owner.access_key:
            raise problems.no_session(f"Session (id={key}) does not exist.")
        return session
    named = manager.sessions.named(key, owner)
    if len(named) > 1 and manager.release.refuses_reused_names:
        raise problems.too_many(key)
    there = [session for session in named if session.status not in CLOSED]
    if not there and not manager.release.has_v2:
        raise problems.no_session(f"Session (id={key}) does not exist.")
    if not there:
        raise problems.no_entity()
    return there[0]


def _is_id(key: str) -> bool:
    try:
        return str(uuid.UUID(key)) == key.lower()
    except ValueError:
        return False
