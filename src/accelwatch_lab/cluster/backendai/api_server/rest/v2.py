"""The paths below /v2: sessions with all they were made of, and searches."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from accelwatch_lab.cluster.backendai.api_server import problems
from accelwatch_lab.cluster.backendai.api_server.accounts import Keypair
from accelwatch_lab.cluster.backendai.api_server.clock import zulu_of
from accelwatch_lab.cluster.backendai.api_server.manager import PROJECT_ID, Manager
from accelwatch_lab.cluster.backendai.api_server.state.sessions import OCCUPYING, Kernel, Session

Document = dict[str, Any]
_PAGE = 50


def answer(manager: Manager, caller: Keypair, method: str, path: list[str], body: Any) -> Document:
    """What is answered below /v2/sessions. Raises RequestError."""
    match method, *path:
        case "POST", "search":
            return searched(manager, caller, body)
        case "POST", "terminate":
            return terminated(manager, caller, body)
        case "POST", "kernels", "agents", agent, "search":
            return kernels(manager, caller, agent, body)
        case "GET", key:
            return shown(manager, caller, key)
    raise problems.unknown_path("/".join(("/v2/sessions", *path)))


def shown(manager: Manager, caller: Keypair, key: str) -> Document:
    """GET /v2/sessions/ID. Raises RequestError."""
    try:
        uuid.UUID(key)
    except ValueError:
        raise problems.invalid("session_id: Input should be a valid UUID") from None
    session = manager.sessions.rows.get(key)
    if session is None:
        raise problems.no_session(f"Session not found: {key}")
    if not caller.is_superadmin and session.owner.access_key != caller.access_key:
        raise problems.not_permitted(
            f"User {caller.user_id} lacks permission <Permission.READ: 1> on session {key}"
        )
    return document(session)


def searched(manager: Manager, caller: Keypair, body: Any) -> Document:
    """POST /v2/sessions/search: the newest first. Raises RequestError."""
    _for_superadmin(caller)
    tests = _filter(body)
    rows = [
        document(session)
        for session in reversed(manager.sessions.rows.values())
        if _passes(session, tests)
    ]
    return _page(rows, body)


def kernels(manager: Manager, caller: Keypair, agent: str, body: Any) -> Document:
    """POST /v2/sessions/kernels/agents/AGENT/search. Raises RequestError."""
    _for_superadmin(caller)
    tests = _filter(body).get("status") or {}
    rows = [
        _kernel(session, kernel)
        for session, kernel in _kernels_on(manager, agent)
        if _matches(kernel.status, tests)
    ]
    return _page(rows, body)


def terminated(manager: Manager, caller: Keypair, body: Any) -> Document:
    """POST /v2/sessions/terminate. Raises RequestError."""
    if not isinstance(body, dict) or not isinstance(body.get("session_ids"), list):
        raise problems.invalid("session_ids: Field required")
    _for_superadmin(caller)
    answer: Document = {"cancelled": [], "terminating": [], "force_terminated": [], "skipped": []}
    forced = bool(body.get("forced"))
    for key in body["session_ids"]:
        session = manager.sessions.rows.get(key)
        status = manager.lifecycle.end(session, forced) if session is not None else ""
        if status == "terminated":
            status = "force_terminated" if forced else "terminating"
        answer[status or "skipped"].append(key)
    return answer


def scheduling_history(manager: Manager, caller: Keypair, key: str, body: Any) -> Document:
    """POST /v2/scheduling-history/sessions/ID/search. Raises RequestError."""
    _for_superadmin(caller)
    session = manager.sessions.rows.get(key)
    waits = session is not None and session.status == "PENDING"
    message = "Some kernels could not be placed on any agent."
    rows = [{"session_id": key, "result": "NEED_RETRY", "message": message}] if waits else []
    return _page(rows, body)


def document(session: Session) -> Document:
    """All that the row knows; nothing of its agents."""
    total = {slot: count * len(session.kernels) for slot, count in session.slots.items()}
    used = {} if session.status not in OCCUPYING else total
    return {
        "id": session.id,
        "entity_id": session.id,
        "domain_name": session.domain,
        "user_id": session.owner.user_id,
        "project_id": PROJECT_ID,
        "metadata": {
            "creation_id": session.creation_id,
            "name": session.name,
            "session_type": session.kind,
            "access_key": session.owner.access_key,
            "cluster_mode": session.cluster_mode.upper().replace("-", "_"),
            "cluster_size": session.cluster_size,
            "priority": session.priority,
            "job_priority": 0,
            "is_preemptible": True,
            "tag": session.tag,
        },
        "resource": {
            "allocation": {
                "requested": _quantities(total),
                "used": _quantities(used),
                "allocated": _quantities(total if session.agent_ids else {}),
            },
            "resource_group_name": session.group,
        },
        "lifecycle": {
            "status": session.status,
            "result": session.result.lower(),
            "created_at": zulu_of(session.created_at),
            "terminated_at": zulu_of(session.terminated_at),
            "starts_at": zulu_of(session.starts_at),
            "batch_timeout": None
            if session.batch_timeout_s is None
            else int(session.batch_timeout_s),
        },
        "runtime": {
            "environ": {
                "entries": [
                    {"name": name, "value": value} for name, value in session.environ.items()
                ]
            },
            "bootstrap_script": session.bootstrap_script,
            "startup_command": session.startup_command,
            "callback_url": session.callback_url,
        },
        "network": {"use_host_network": False, "network_type": "volatile", "network_id": None},
        "replica_id": None,
    }


def _quantities(slots: Mapping[str, int]) -> Document:
    return {
        "entries": [
            {"resource_type": slot, "quantity": f"{count}.000000"} for slot, count in slots.items()
        ]
    }


def _kernels_on(manager: Manager, agent: str) -> Iterator[tuple[Session, Kernel]]:
    for session in reversed(manager.sessions.rows.values()):
        for kernel in session.kernels:
            if kernel.agent == agent:
                yield session, kernel


def _kernel(session: Session, kernel: Kernel) -> Document:
    return {
        "id": kernel.id,
        "startup_command": session.startup_command,
        "session_info": {
            "session_id": session.id,
            "creation_id": session.creation_id,
            "name": session.name,
            "session_type": session.kind,
        },
        "user_info": {
            "user_id": session.owner.user_id,
            "access_key": session.owner.access_key,
            "domain_name": session.domain,
            "group_id": PROJECT_ID,
        },
        "cluster": {
            "cluster_role": kernel.role,
            "cluster_idx": kernel.index,
            "local_rank": kernel.local_rank,
            "cluster_hostname": kernel.hostname,
        },
        "resource": {
            "agent_id": kernel.agent,
            "resource_group_name": session.group,
            "allocation": {"requested": _quantities(session.slots)},
            "resource_opts": {
                "entries": [
                    {"name": name, "value": str(value)}
                    for name, value in session.resource_opts.items()
                ]
            },
        },
        "lifecycle": {"status": kernel.status, "starts_at": zulu_of(kernel.starts_at)},
    }


def _filter(body: Any) -> Document:
    if not isinstance(body, dict):
        raise problems.invalid("malformed body")
    tests: Document = body.get("filter") or {}
    if not all(isinstance(value, dict) for value in tests.values()):
        raise problems.invalid("filter: Input should be a valid dictionary")
    return tests


def _passes(session: Session, tests: Document) -> bool:
    """A filter by a field that is not known is ignored, as the manager does."""
    fields = {"id": session.id, "name": session.name, "tag": session.tag, "status": session.status}
    return all(_matches(fields[name], test) for name, test in tests.items() if name in fields)


def _matches(value: str, test: Document) -> bool:
    for operator, operand in test.items():
        match operator:
            case "equals":
                passed = value == operand
            case "in":
                passed = value in operand
            case "contains":
                passed = operand in value
            case "starts_with":
                passed = value.startswith(operand)
            case _:
                continue
        if not passed:
            return False
    return True


def _page(rows: list[Document], body: Document) -> Document:
    offset = body.get("offset") or 0
    limit = body.get("limit") or body.get("first") or _PAGE
    shown = rows[offset : offset + limit]
    return {
        "items": shown,
        "total_count": len(rows),
        "has_next_page": offset + len(shown) < len(rows),
        "has_previous_page": offset > 0,
    }


def _for_superadmin(caller: Keypair) -> None:
    if not caller.is_superadmin:
        raise problems.forbidden("Insufficient privileges")
