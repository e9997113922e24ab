"""From an HTTP request to its answer: faults, signature, the work, and the log of all."""

import asyncio
import json
from typing import Any

from aiohttp import web

from accelwatch_lab.cluster.backendai.api_server import problems
from accelwatch_lab.cluster.backendai.api_server.accounts import Keypair
from accelwatch_lab.cluster.backendai.api_server.faults import Fault
from accelwatch_lab.cluster.backendai.api_server.graphql import answering as graphql
from accelwatch_lab.cluster.backendai.api_server.manager import Manager
from accelwatch_lab.cluster.backendai.api_server.request_log import LoggedRequest
from accelwatch_lab.cluster.backendai.api_server.rest import creating, old, v2

# The API's newest version; every release accepts v6.20230315 besides.
_API_VERSION = "v9.20250722"
_OK = 200
_CREATED = 201
Answer = tuple[int, Any]


class Answers:
    """One server's."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request and log it."""
        text = (await request.read()).decode(errors="replace")
        fault = self._manager.faults.next(request.method, request.path_qs, text)
        status, user = 0, ""
        try:
            if fault is not None and fault.effect in ("hang", "drop"):
                return await self._silence(fault, request)
            if fault is not None and fault.effect == "slow":
                await asyncio.sleep(fault.delay_s)
            if fault is not None and fault.effect == "refuse":
                status = fault.status
                return _refused(fault)
            code, document, user = self._answered(request, text, fault)
            if fault is not None and fault.effect == "drop_after":
                return await self._silence(fault, request)
            status = code
            kind = "application/json" if code < 400 else "application/problem+json"
            return web.Response(text=json.dumps(document), status=code, content_type=kind)
        finally:
            self._log(request, text, user, status)

    def _answered(
        self, request: web.BaseRequest, text: str, fault: Fault | None
    ) -> tuple[int, Any, str]:
        """Status, document, and who has asked."""
        user = ""
        try:
            self._manager.lifecycle.settle()
            if request.method == "GET" and request.path == "/":
                return _OK, {"version": _API_VERSION, "manager": self._manager.release.text}, user
            caller = self._manager.accounts.signed_by(
                request.method, request.raw_path, request.headers
            )
            user = caller.email
            not_ok = fault is not None and fault.effect == "not_ok"
            code, document = self._done(request, caller, _decoded(text), not_ok)
            # What was created, or is ended at once, shows before the next request.
            self._manager.lifecycle.settle()
        except problems.RequestError as error:
            return error.status, error.document, user
        else:
            return code, document, user

    def _done(self, request: web.BaseRequest, caller: Keypair, body: Any, not_ok: bool) -> Answer:
        """Raises RequestError."""
        manager, query = self._manager, request.query
        path = request.path.strip("/").split("/")
        if path[0] == "v2" and not manager.release.has_v2:
            raise problems.unknown_path(request.path)
        match request.method, *path:
            case "POST", "admin", "gql":
                return _OK, graphql.answer(manager, caller, body, not_ok)
            case "GET", "auth", "role":
                return _OK, _role(caller)
            case "POST", "session":
                return _CREATED, creating.created(manager, caller, body)
            case "GET", "session", key:
                return _OK, old.shown(manager, caller, key, query)
            case "DELETE", "session", key:
                return _OK, old.terminated(manager, caller, key, query)
            case method, "v2", "sessions", *rest:
                return _OK, v2.answer(manager, caller, method, rest, body)
            case _, "session":
                raise problems.wrong_method()
        raise problems.unknown_path(request.path)

    async def _silence(self, fault: Fault, request: web.BaseRequest) -> web.StreamResponse:
        if fault.effect == "hang":
            await asyncio.Event().wait()
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    def _log(self, request: web.BaseRequest, text: str, user: str, status: int) -> None:
        entry = LoggedRequest(
            at=self._manager.clock.wall(),
            method=request.method,
            path=request.path,
            query=dict(request.query),
            user=user,
            body=_decoded(text),
            status=status,
        )
        self._manager.log.add(entry)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def _refused(fault: Fault) -> web.Response:
    if fault.message:
        return web.Response(text=fault.message, status=fault.status)
    document = problems.failed().document
    return web.Response(
        text=json.dumps(document), status=fault.status, content_type="application/problem+json"
    )


def _role(caller: Keypair) -> dict[str, Any]:
    domain = "admin" if caller.is_superadmin else "user"
    return {"global_role": caller.role, "domain_role": domain, "group_role": None}
