"""From a request to its document, without a socket: signature, and the work of each path."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from accelwatch_lab.cluster.backendai.api_server import problems
from accelwatch_lab.cluster.backendai.api_server.accounts import Keypair
from accelwatch_lab.cluster.backendai.api_server.graphql import answering as graphql
from accelwatch_lab.cluster.backendai.api_server.manager import Manager
from accelwatch_lab.cluster.backendai.api_server.request_log import LoggedRequest
from accelwatch_lab.cluster.backendai.api_server.rest import creating, old, v2

# The API's newest version; every release accepts v6.20230315 besides.
_API_VERSION = "v9.20250722"
_OK = 200
_CREATED = 201
Answer = tuple[int, Any]


class Request(NamedTuple):
    """What was sent."""

    method: str
    # The path with its query, as it was sent.
    target: str
    headers: Mapping[str, str]
    text: str

    @property
    def path(self) -> str:
        """Without the query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """By name."""
        return dict(parse_qsl(self.target.partition("?")[2]))

    @property
    def body(self) -> Any:
        """Decoded where it is JSON."""
        try:
            return json.loads(self.text) if self.text else None
        except ValueError:
            return self.text


class Answered(NamedTuple):
    """What comes of it."""

    status: int
    document: Any
    # E-mail of whom the key is; empty where nobody is known by it.
    user: str = ""


def answered(manager: Manager, request: Request, *, not_ok: bool = False) -> Answered:
    """Do it; with `not_ok` mutations are refused in GraphQL's way."""
    user = ""
    try:
        manager.lifecycle.settle()
        if request.method == "GET" and request.path == "/":
            release = {"version": _API_VERSION, "manager": manager.release.text}
            return Answered(_OK, release)
        caller = manager.accounts.signed_by(request.method, request.target, request.headers)
        user = caller.email
        status, document = _done(manager, request, caller, not_ok)
        # What was created, or is to end at once, shows before the next request.
        manager.lifecycle.settle()
    except problems.RequestError as error:
        return Answered(error.status, error.document, user)
    return Answered(status, document, user)


def logged(manager: Manager, request: Request, user: str, status: int) -> None:
    """Write it down; status 0 where nothing was answered."""
    entry = LoggedRequest(
        at=manager.clock.wall(),
        method=request.method,
        path=request.path,
        query=request.query,
        user=user,
        body=request.body,
        status=status,
    )
    manager.log.add(entry)


def _done(manager: Manager, request: Request, caller: Keypair, not_ok: bool) -> Answer:
    """Raises RequestError."""
    body, query = request.body, request.query
    path = request.path.strip("/").split("/")
    if path[0] == "v2" and not manager.release.has_v2:
        raise problems.unknown_path(request.path)
    match request.method, *path:
        case "POST", "admin", "gql":
            return _OK, graphql.answer(manager, caller, body, not_ok)
        case "GET", "auth", "role":
            return _OK, _role(manager, caller)
        case "POST", "session":
            return _CREATED, creating.created(manager, caller, body)
        case "GET", "session", key:
            return _OK, old.shown(manager, caller, key, query)
        case "DELETE", "session", key:
            return _OK, old.terminated(manager, caller, key, query)
        case method, "v2", "sessions", *remaining:
            return _OK, v2.answer(manager, caller, method, remaining, body)
        case "POST", "v2", "scheduling-history", "sessions", key, "search":
            return _OK, v2.scheduling_history(manager, caller, key, body)
        case _, "session":
            raise problems.wrong_method()
    raise problems.unknown_path(request.path)


def _role(manager: Manager, caller: Keypair) -> dict[str, Any]:
    """To a superadmin alone from 26.9 on: others have no right to read users. Raises RequestError."""
    if manager.release.has_project_roles and not caller.is_superadmin:
        user = caller.user_id
        text = f"User {user} lacks permission <Permission.READ: 1> on user {user}"
        raise problems.not_permitted(text)
    domain = "user" if caller.role in ("user", "monitor") else "admin"
    role = caller.role if caller.is_superadmin else "user"
    return {"global_role": role, "domain_role": domain, "group_role": None}
