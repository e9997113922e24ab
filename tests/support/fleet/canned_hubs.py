"""Hubs that stream their nodes once, and note what is requested of them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
from aiohttp import web

from accelwatch.alerting.evaluation.documents import IncidentsPage
from accelwatch.fleet.avoid.documents import AvoidPage
from accelwatch.fleet.documents.remedies import PlanPage, RemediesPage, SparesPage
from accelwatch.fleet.picture.model import FIELDS
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.fleet.wire import DeviceSlot, FleetHello, FleetTick, NodeNow
from accelwatch.web.http.stream import MSGPACK, framed
from support.dashboards.fleets import fleet_document, slot_of
from support.incidents.remedy_documents import answered, plan


class CannedHub:
    """One node `n1` or more with a device each; what is about remedies, and what is said to it."""

    def __init__(self, remedies: RemediesPage, *nodes: str) -> None:
        self.remedies = remedies
        self.nodes = nodes or ("n1",)
        self.requests: list[str] = []
        # What came with each of these.
        self.bodies: list[bytes] = []
        # The code of its answer to a word; 0: it accepts it.
        self.refuses = 0
        self.avoided = AvoidPage(time="2030-01-31T12:00:00Z", rules=1, nodes_total=len(self.nodes))
        self.spares = SparesPage(acts=True)
        # What it answers in place of what is asked for.
        self.garbles = b""
        # Its remedies are not answered before this.
        self.hangs: asyncio.Event | None = None
        # Of its devices: hubs that have other serials follow other machines.
        self.serial = "GPU"

    def hello(self) -> FleetHello:
        """How its stream starts."""
        return FleetHello(interval_s=1.0, fields=FIELDS)

    def tick(self) -> FleetTick:
        """Its only tick."""
        return FleetTick(
            sequence=1,
            time=1.0,
            fleet=fleet_document(nodes_total=len(self.nodes)),
            nodes=tuple(NodeNow(node, "up", 0.1, 0) for node in self.nodes),
            devices=(),
        )

    def stream(self) -> bytes:
        """What it sends once."""
        slots: list[DeviceSlot] = [
            msgspec.structs.replace(slot_of(number, node, 0, "r1"), uuid=f"{self.serial}-{node}")
            for number, node in enumerate(self.nodes)
        ]
        messages = (self.hello(), *slots, self.tick())
        return b"".join(framed(message, MSGPACK) for message in messages)

    async def answer(self, request: web.Request) -> web.Response:
        path = request.path
        if path == "/v1/stream":
            return web.Response(body=self.stream(), content_type=MSGPACK)
        if path == "/v1/remedies":
            if self.hangs is not None:
                await self.hangs.wait()
            return web.Response(body=msgspec.json.encode(self.remedies))
        self.requests.append(f"{request.method} {request.raw_path}")
        self.bodies.append(await request.read())
        if self.refuses:
            return web.Response(status=self.refuses, text="no")
        if self.garbles:
            return web.Response(body=self.garbles)
        if path == "/v1/avoid":
            return web.Response(body=msgspec.json.encode(self.avoided))
        if path == "/v1/spares":
            return web.Response(body=msgspec.json.encode(self.spares))
        if path == "/v1/incidents":
            return web.Response(body=msgspec.json.encode(IncidentsPage(evaluated=True)))
        if path == "/v1/plan":
            return web.Response(body=msgspec.json.encode(PlanPage(plan=plan())))
        return web.Response(body=msgspec.json.encode(answered("done")))


@contextlib.asynccontextmanager
async def serving(*hubs: CannedHub) -> AsyncIterator[list[HubEndpoint]]:
    """Where the hubs `pod-1`, `pod-2` ... are."""
    async with contextlib.AsyncExitStack() as stack:
        endpoints = []
        for number, hub in enumerate(hubs, 1):
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", hub.answer)
            runner = web.AppRunner(app, shutdown_timeout=1.0)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0]
            endpoints.append(HubEndpoint(name=f"pod-{number}", base=f"http://{host}:{port}"))
        yield endpoints
