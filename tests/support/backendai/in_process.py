"""The stand-in's API for a client on a loop of its own time: no socket, so nothing waits for one."""

import asyncio
import json
import ssl

from accelwatch.api_client.errors import NoAnswerError
from accelwatch.api_client.session import ApiResponse, Headers
from accelwatch_lab.cluster.backendai.api_server.dispatch import Request, answered, logged
from accelwatch_lab.cluster.backendai.api_server.faults import Fault
from accelwatch_lab.cluster.backendai.api_server.manager import Manager


class InProcessSession:
    """As accelwatch.api_client.session.Session to one manager; what faults do, it does as a network."""

    def __init__(self, manager: Manager, base: str) -> None:
        self._manager = manager
        self._host = base.partition("://")[2]

    async def request(
        self,
        method: str,
        path: str,
        *,
        tls: ssl.SSLContext | None,
        timeout_s: float,
        headers: Headers,
        body: bytes | None = None,
    ) -> ApiResponse:
        """The answer. Raises NoAnswerError."""
        text = (body or b"").decode()
        request = Request(method, path, {"Host": self._host, **headers}, text)
        # Whoever waits for a network gives others their turn.
        await asyncio.sleep(0)
        fault = self._manager.faults.next(method, path, text)
        if fault is None:
            return self._done(request)
        if fault.effect == "refuse":
            return ApiResponse(status=fault.status, body=fault.message.encode())
        return await self._faulty(fault, request, timeout_s)

    async def _faulty(self, fault: Fault, request: Request, timeout_s: float) -> ApiResponse:
        match fault.effect:
            case "hang":
                await asyncio.sleep(timeout_s)
                raise NoAnswerError("no answer in time", sent=True)
            case "drop":
                raise NoAnswerError("connection lost", sent=True)
            case "late":
                loop = asyncio.get_running_loop()
                loop.call_later(fault.delay_s, lambda: self._done(request))
                raise NoAnswerError("connection lost", sent=True)
            case "drop_after":
                self._done(request)
                raise NoAnswerError("connection lost", sent=True)
            case "slow":
                await asyncio.sleep(fault.delay_s)
        return self._done(request, not_ok=fault.effect == "not_ok")

    def _done(self, request: Request, *, not_ok: bool = False) -> ApiResponse:
        result = answered(self._manager, request, not_ok=not_ok)
        logged(self._manager, request, result.user, result.status)
        return ApiResponse(status=result.status, body=json.dumps(result.document).encode())

    async def close(self) -> None:
        """Nothing is open."""
