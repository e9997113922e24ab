"""From an HTTP request to its answer: faults, the work, and the log of all."""

import asyncio
import json

from aiohttp import web

from accelwatch_lab.cluster.backendai.api_server import problems
from accelwatch_lab.cluster.backendai.api_server.dispatch import Request, answered, logged
from accelwatch_lab.cluster.backendai.api_server.faults import Fault
from accelwatch_lab.cluster.backendai.api_server.manager import Manager

_PROBLEM = "application/problem+json"
# How often a slow answer reads the clock.
_POLL_S = 0.02


class Answers:
    """One server's."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    async def handle(self, received: web.BaseRequest) -> web.StreamResponse:
        """Answer a request and log it."""
        text = (await received.read()).decode(errors="replace")
        request = Request(received.method, received.raw_path, received.headers, text)
        fault = self._manager.faults.next(request.method, request.target, text)
        status, user = 0, ""
        try:
            if fault is not None and fault.effect in ("hang", "drop", "late"):
                return await self._silence(fault, received, request)
            if fault is not None and fault.effect == "slow":
                await self._wait(fault.delay_s)
            if fault is not None and fault.effect == "refuse":
                status = fault.status
                return _refused(fault)
            not_ok = fault is not None and fault.effect == "not_ok"
            answer = answered(self._manager, request, not_ok=not_ok)
            user = answer.user
            if fault is not None and fault.effect == "drop_after":
                return await self._silence(fault, received, request)
            status = answer.status
            kind = "application/json" if status < 400 else _PROBLEM
            return web.Response(text=json.dumps(answer.document), status=status, content_type=kind)
        finally:
            logged(self._manager, request, user, status)

    async def _wait(self, seconds: float) -> None:
        """So long by the manager's clock, which a test puts forward when it has seen enough."""
        clock = self._manager.clock
        end = clock.monotonic() + seconds
        while clock.monotonic() < end:
            await asyncio.sleep(_POLL_S)

    async def _silence(
        self, fault: Fault, received: web.BaseRequest, request: Request
    ) -> web.StreamResponse:
        if fault.effect == "hang":
            await asyncio.Event().wait()
        if fault.effect == "late":
            loop = asyncio.get_running_loop()
            loop.call_later(fault.delay_s, lambda: answered(self._manager, request))
        if received.transport is not None:
            received.transport.abort()
        return web.Response()


def _refused(fault: Fault) -> web.Response:
    if fault.message:
        return web.Response(text=fault.message, status=fault.status)
    text = json.dumps(problems.failed().document)
    return web.Response(text=text, status=fault.status, content_type=_PROBLEM)
