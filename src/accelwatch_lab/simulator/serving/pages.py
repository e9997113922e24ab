"""What a simulated node answers to a path, as bytes; everything is made on request."""

import gzip
import random
from collections.abc import Callable

import msgspec

from accelwatch.base.version import __version__
from accelwatch.exposition.text import OPENMETRICS, TEXT
from accelwatch.schema.json import wire
from accelwatch.schema.snapshot import SCHEMA
from accelwatch.web.pages.negotiation import accepts_gzip, choose
from accelwatch_lab.simulator.exporters import all_smi, dcgm, node_exporter
from accelwatch_lab.simulator.exporters.exposition import Expositions, Render
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.jobs import progress
from accelwatch_lab.simulator.nodes import Dialect, Node
from accelwatch_lab.simulator.serving.connection import Request

PLAIN = "text/plain; charset=utf-8"
JSON = "application/json"
_GARBAGE_BYTES = 4096


class Page(msgspec.Struct, frozen=True):
    """Media type and body."""

    media: str
    body: bytes
    # Whether it may be sent compressed.
    vary: bool = False


class Pages:
    """Pages of nodes by path."""

    def __init__(self, fleet: Fleet, render: Render) -> None:
        self._fleet = fleet
        self._expositions = Expositions(fleet, render)
        self._paths: dict[str, Callable[[Node, Instant, Request], Page]] = {
            "/metrics": self._metrics,
            "/v1/snapshot": self._snapshot,
            "/capabilities": self._capabilities,
            "/-/healthy": lambda _node, _instant, _request: Page(PLAIN, b"healthy\n"),
            "/-/ready": lambda _node, _instant, _request: Page(PLAIN, b"ready\n"),
            "/own/metrics": self._own,
            "/dcgm/metrics": self._dcgm,
            "/dcgm-4.9/metrics": self._dcgm_49,
            "/all-smi/metrics": self._all_smi,
            "/node-exporter/metrics": self._node_exporter,
        }

    def page(self, node: Node, path: str, instant: Instant, request: Request) -> Page | None:
        """The page; None when there is none."""
        page = self._paths.get(path)
        foreign = node.dialect is not Dialect.OWN and path in _OWN_ONLY
        return None if page is None or foreign else page(node, instant, request)

    def _metrics(self, node: Node, instant: Instant, request: Request) -> Page:
        speakers = {
            Dialect.OWN: self._own,
            Dialect.DCGM: self._dcgm,
            Dialect.DCGM_49: self._dcgm_49,
            Dialect.ALL_SMI: self._all_smi,
        }
        return speakers[node.dialect](node, instant, request)

    def _own(self, node: Node, instant: Instant, request: Request) -> Page:
        media = choose(request.headers.get("accept", ""), (TEXT, OPENMETRICS)) or TEXT
        text = self._expositions.text(node, instant, media == OPENMETRICS)
        return Page(media, text.encode(), vary=True)

    def _dcgm(self, node: Node, instant: Instant, _request: Request) -> Page:
        text = dcgm.text(self._fleet, node, instant, legacy=True)
        return Page(dcgm.CONTENT_TYPE, text.encode())

    def _dcgm_49(self, node: Node, instant: Instant, _request: Request) -> Page:
        text = dcgm.text(self._fleet, node, instant, legacy=False)
        return Page(dcgm.CONTENT_TYPE, text.encode())

    def _all_smi(self, node: Node, instant: Instant, _request: Request) -> Page:
        return Page(all_smi.CONTENT_TYPE, all_smi.text(self._fleet, node, instant).encode())

    def _node_exporter(self, node: Node, instant: Instant, _request: Request) -> Page:
        text = node_exporter.text(self._fleet, node, instant)
        return Page(node_exporter.CONTENT_TYPE, text.encode())

    def _snapshot(self, node: Node, instant: Instant, _request: Request) -> Page:
        return Page(JSON, wire.encode(self._fleet.snapshot(node, instant)))

    def _capabilities(self, node: Node, _instant: Instant, _request: Request) -> Page:
        document = {"schema": SCHEMA, "version": __version__, "host": node.name, "backends": []}
        return Page(JSON, msgspec.json.encode(document))

    def fleet_page(self, path: str, instant: Instant) -> Page | None:
        """Pages of the simulator itself: the list of nodes, and where the jobs are."""
        if path == "/":
            names = "".join(f"/node/{node.name}/metrics\n" for node in self._fleet.nodes)
            return Page(PLAIN, names.encode())
        if path != "/sim/jobs":
            return None
        jobs = [
            {
                "name": job.name,
                "id": job.id,
                "nodes": job.nodes,
                **msgspec.structs.asdict(progress(job, instant.time_s)),
            }
            for job in self._fleet.scenario.jobs
        ]
        return Page(JSON, msgspec.json.encode({"time_s": instant.time_s, "jobs": jobs}))


_OWN_ONLY = frozenset({"/v1/snapshot", "/capabilities", "/-/healthy", "/-/ready"})


def encoded(page: Page, request: Request) -> tuple[dict[str, str], bytes]:
    """Headers and body as the client accepts them."""
    headers = {"Content-Type": page.media}
    if not page.vary:
        return headers, page.body
    headers["Vary"] = "Accept, Accept-Encoding"
    if not accepts_gzip(request.headers.get("accept-encoding", "")):
        return headers, page.body
    headers["Content-Encoding"] = "gzip"
    return headers, gzip.compress(page.body, compresslevel=1, mtime=0)


def garbage(node: Node, instant: Instant) -> bytes:
    """Noise, the same for the same node and second; half of it could be text."""
    source = random.Random(f"{node.name}/{int(instant.time_s)}")  # noqa: S311 - a test signal
    lines = [f"{source.choice('aZ_9{}=# ')}{source.random()}" for _ in range(64)]
    return "\n".join(lines).encode() + source.randbytes(_GARBAGE_BYTES)
