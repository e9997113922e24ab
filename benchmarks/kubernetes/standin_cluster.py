"""A stand-in for the API server of a large cluster, as a process: lists in pages and watches.

`standin_cluster.py NODES PODS PORT_FILE`. At rest each kubelet reports its node every five minutes, and
so many pods change a second as `--pods-per-s` says. POST /gone ends all watches with 410, after which a
client lists anew. Pages are made once: what is measured is the client.
"""

import argparse
import asyncio
import gzip
from pathlib import Path
from typing import Any

from aiohttp import web

from standin_objects import encoded, node, pod

# Of a kubelet: nodeStatusReportFrequency.
REPORT_S = 300.0
BOOKMARK_S = 60.0


class StandinCluster:
    """The objects, as pages, and the watches."""

    def __init__(self, nodes: int, pods: int, pods_per_s: float) -> None:
        self.counts = {"nodes": nodes, "pods": pods}
        self.rates = {"nodes": nodes / REPORT_S, "pods": pods_per_s}
        self.version = 1000
        self.pages: dict[tuple[str, int, int], bytes] = {}
        self.gone = asyncio.Event()
        # Pages that were sent.
        self.sent = 0

    def one(self, kind: str, index: int) -> dict[str, Any]:
        """An object as it is now."""
        if kind == "nodes":
            return node(index, self.version)
        return pod(index, self.counts["nodes"], self.version)

    async def list(self, request: web.Request) -> web.StreamResponse:
        """A page, or a watch."""
        kind = request.path.rpartition("/")[2]
        if request.query.get("watch"):
            return await self.watch(request, kind)
        begin = int(request.query.get("continue", "0"))
        limit = int(request.query["limit"])
        page = self.pages.get((kind, begin, limit))
        if page is None:
            end = min(begin + limit, self.counts[kind])
            metadata = {"resourceVersion": str(self.version)}
            if end < self.counts[kind]:
                metadata["continue"] = str(end)
            items = [self.one(kind, index) for index in range(begin, end)]
            # As the API server compresses: level 1, what is longer than 128 KiB.
            page = gzip.compress(encoded({"metadata": metadata, "items": items}), 1)
            self.pages[kind, begin, limit] = page
        self.sent += 1
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        return web.Response(body=page, headers=headers)

    async def watch(self, request: web.Request, kind: str) -> web.StreamResponse:
        """Events at the rate of the kind, until all is gone."""
        response = web.StreamResponse()
        await response.prepare(request)
        loop = asyncio.get_running_loop()
        gone, started_at, sent, marked = self.gone, loop.time(), 0, loop.time()
        while not gone.is_set():
            self.version += 1
            event: dict[str, Any] = {"type": "MODIFIED"}
            if loop.time() - marked > BOOKMARK_S:
                marked = loop.time()
                mark = {"metadata": {"resourceVersion": str(self.version)}}
                event = {"type": "BOOKMARK", "object": mark}
            else:
                event["object"] = self.one(kind, sent % self.counts[kind])
            await response.write(encoded(event) + b"\n")
            sent += 1
            pause = started_at + sent / self.rates[kind] - loop.time()
            try:
                async with asyncio.timeout(max(pause, 0.0)):
                    await gone.wait()
            except TimeoutError:
                continue
        status = {"code": 410, "reason": "Expired", "message": "too old resource version"}
        await response.write(encoded({"type": "ERROR", "object": status}) + b"\n")
        return response

    async def end_watches(self, _request: web.Request) -> web.StreamResponse:
        """410 for all."""
        before, self.gone = self.gone, asyncio.Event()
        before.set()
        return await self.state(_request)

    async def state(self, _request: web.Request) -> web.StreamResponse:
        """How many pages were sent so far."""
        return web.json_response({"pages": self.sent})


async def serve(arguments: argparse.Namespace) -> None:
    """For ever."""
    cluster = StandinCluster(arguments.nodes, arguments.pods, arguments.pods_per_s)
    app = web.Application()
    app.router.add_get("/api/v1/{kind}", cluster.list)
    app.router.add_get("/state", cluster.state)
    app.router.add_post("/gone", cluster.end_watches)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    arguments.port_file.write_text(str(runner.addresses[0][1]))
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("nodes", type=int)
    parser.add_argument("pods", type=int)
    parser.add_argument("port_file", type=Path)
    parser.add_argument("--pods-per-s", type=float, default=20.0)
    asyncio.run(serve(parser.parse_args()))
