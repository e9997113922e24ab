"""From an HTTP request to its answer: faults, identity, permission, the work, and the log of all."""

import asyncio
import email.utils
from typing import Any

import msgspec
from aiohttp import web

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch_lab.cluster.kubernetes.api_server import status
from accelwatch_lab.cluster.kubernetes.api_server.access import Attributes, User
from accelwatch_lab.cluster.kubernetes.api_server.call import Call, parsed
from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.faults import Fault
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import DEFINITIONS, defined
from accelwatch_lab.cluster.kubernetes.api_server.objects.store import Entry
from accelwatch_lab.cluster.kubernetes.api_server.request_log import LoggedRequest
from accelwatch_lab.cluster.kubernetes.api_server.verbs import binding, discovery, reviewing
from accelwatch_lab.cluster.kubernetes.api_server.verbs.reading import Shape
from accelwatch_lab.cluster.kubernetes.api_server.verbs.tables import is_table_requested, table_of

_JSON = "application/json"
_HEALTH = ("/readyz", "/livez", "/healthz")
_CREATED = 201


class Answers:
    """One server's."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request and log it."""
        log = _Log(self._cluster, request, await request.read())
        fault = self._cluster.faults.next(request.method, request.path, request.query_string)
        try:
            if fault is not None and fault.effect in ("hang", "drop"):
                return await self._silence(fault, request)
            response = await self._answered(request, log, fault)
            if fault is not None and fault.effect == "drop_after":
                return await self._silence(fault, request)
            log.status = log.status or response.status
            return response
        except status.RequestError as error:
            log.status = error.code
            return self._refusal(error)
        finally:
            log.write()

    async def _silence(self, fault: Fault, request: web.BaseRequest) -> web.StreamResponse:
        if fault.effect == "hang":
            await asyncio.Event().wait()
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    async def _answered(
        self, request: web.BaseRequest, log: "_Log", fault: Fault | None
    ) -> web.StreamResponse:
        """Raises RequestError."""
        if fault is not None and fault.effect == "refuse":
            raise fault.error()
        if request.path in _HEALTH:
            return web.Response(text="ok", headers=self._headers())
        user = self._cluster.access.user_of(request.headers.get("Authorization", ""))
        log.user = user.name
        document = discovery.document(self._cluster.registry, request.path)
        if document is not None:
            return self._json(document)
        if request.path == reviewing.PATH:
            return self._json(reviewing.reviewed(self._cluster.access, user, log.body), _CREATED)
        call = parsed(self._cluster.registry, request, log.body)
        self._authorize(user, call)
        if call.verb == "watch":
            # It goes on for long: what is logged is that it began.
            log.status = 200
            log.write()
            return await self._cluster.watcher.answer(
                call, request, self._headers() | {"Content-Type": _JSON}
            )
        return self._done(call, fault.merge if fault is not None else {})

    def _authorize(self, user: User, call: Call) -> None:
        resource = call.resource.plural
        desired = Attributes(
            verb=call.verb,
            group=call.resource.group,
            resource=f"{resource}/{call.subresource}" if call.subresource else resource,
            namespace=call.namespace,
            name=call.name,
        )
        self._cluster.access.check(user, desired)

    def _done(self, call: Call, rewrite: dict[str, Any]) -> web.Response:
        """Raises RequestError."""
        cluster = self._cluster
        match call.verb, call.subresource:
            case "get" | "list", _ if is_table_requested(call.accept):
                return self._table(call)
            case "get", _:
                return self._text(cluster.reader.get(call))
            case "list", _:
                return self._text(cluster.reader.page(call))
            case "create", "eviction":
                return self._json(cluster.evictor.evict(call), _CREATED)
            case "create", "binding":
                entry = cluster.reader.entry(call)
                return self._json(binding.bind(cluster.store, cluster.clock, call, entry), _CREATED)
            case "create", "":
                entry, unknown = cluster.writer.create(call, rewrite)
                return self._written(call, entry, unknown, _CREATED)
            case "patch", "" | "status":
                return self._written(call, *cluster.writer.patch(call, rewrite))
            case "update", "" | "status":
                return self._written(call, *cluster.writer.update(call, rewrite))
            case "delete", "":
                return self._deleted(call)
            case _:
                raise status.no_resource()

    def _table(self, call: Call) -> web.Response:
        """Raises RequestError."""
        reader = self._cluster.reader
        entries = [reader.entry(call)] if call.name else reader.selected(call)
        objects = [entry.object for entry in entries]
        metadata = {"resourceVersion": str(self._cluster.store.version)}
        now = self._cluster.clock.now()
        return self._json(table_of(call.resource.plural, objects, metadata, now))

    def _deleted(self, call: Call) -> web.Response:
        entry, is_answer = self._cluster.writer.delete(call)
        if is_answer:
            return self._text(Shape(call).text(entry))
        if call.resource == DEFINITIONS and not call.dry_run:
            self._cluster.registry.remove(defined(entry.object).key)
        uid = entry.object["metadata"]["uid"]
        kind, group = call.resource.plural, call.resource.group
        details = {
            "name": call.name,
            **({"group": group} if group else {}),
            "kind": kind,
            "uid": uid,
        }
        return self._json(status.success(details=details))

    def _written(
        self, call: Call, entry: Entry, unknown: list[str], code: int = 200
    ) -> web.Response:
        if call.resource == DEFINITIONS and not call.dry_run:
            self._cluster.registry.add(defined(entry.object))
        response = self._text(Shape(call).text(entry), code)
        for field in unknown:
            response.headers.add("Warning", f'299 - "unknown field \\"{field}\\""')
        return response

    def _refusal(self, error: status.RequestError) -> web.Response:
        if error.text:
            return web.Response(text=error.text, status=error.code, headers=self._headers())
        response = self._json(error.document, error.code)
        if error.retry_after_s:
            response.headers["Retry-After"] = str(error.retry_after_s)
        return response

    def _json(self, document: Any, code: int = 200) -> web.Response:
        return self._text(msgspec.json.encode(document), code)

    def _text(self, text: bytes, code: int = 200) -> web.Response:
        return web.Response(body=text, status=code, content_type=_JSON, headers=self._headers())

    def _headers(self) -> dict[str, str]:
        now = email.utils.formatdate(self._cluster.clock.now(), usegmt=True)
        return {"Date": now, "Cache-Control": "no-cache, private"}


class _Log:
    """What the log will say of one request."""

    def __init__(self, cluster: Cluster, request: web.BaseRequest, body: bytes) -> None:
        self._cluster = cluster
        self._request = request
        self._written = False
        self.body = body
        self.user = ""
        self.status = 0

    def write(self) -> None:
        if self._written:
            return
        self._written = True
        try:
            decoded = msgspec.json.decode(self.body) if self.body else None
        except DECODE_ERRORS:
            decoded = self.body.decode(errors="replace")
        self._cluster.log.add(
            LoggedRequest(
                at=self._cluster.clock.now(),
                method=self._request.method,
                path=self._request.path,
                query=dict(self._request.query),
                user=self.user,
                body=decoded,
                content_type=self._request.headers.get("Content-Type", ""),
                status=self.status,
            )
        )
