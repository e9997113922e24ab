"""Nodes of a cluster go bad, one after another and all in one moment: until the API shows each tainted.

`taints_at_once.py [PART ...] [--runs N]`; the parts are `apart` (100 nodes, four a second), `thousand`
(1,000 in one moment, with budget, breaker and the rule that many at once are one incident lifted) and
`budget` and `brakes` (1,000 in one moment with a budget of 40: alone, and with the breaker as by
default).

One hub in one process, with rules, journal, remedies and the action; readings are put into its fleet
instead of coming by the network, with one device a node. The API server is the lab's stand-in, in a
process of its own, with TLS, tokens and a log of all requests. A taint counts when a watch of the nodes
shows it, which a third process keeps.
"""

import argparse
import asyncio
import contextlib
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "remediation"))

import aiohttp
import msgspec

from accelwatch.action.contract import ActionContext
from accelwatch.remediation.settings import Breaker
from accelwatch_kubernetes import KubernetesAction
from accelwatch_lab.cluster.kubernetes.access import Account, access_of, token_file, write_access
from accelwatch_lab.cluster.kubernetes.api_server.certificate import context_of
from accelwatch_lab.cluster.ports import free_ports
from faults_at_once import (
    BOUNDED,
    LIFTED,
    MANY,
    Hub,
    acting_by,
    settled,
    told,
    until,
    without_storms,
)

TAINT = "accelwatch.io/quarantine"
# Without another taint for so long, all is decided and done.
QUIET_S = 10.0
GOALS = {
    "fault -> taint visible, p99_s": 1.5,
    "1,000 nodes at once, patches/s": 100.0,
}


class Cluster:
    """A stand-in in a process, its nodes, and the process that watches them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._seen_file = folder / "seen.jsonl"

    def start(self) -> None:
        """Start the server."""
        port = free_ports(1)[0]
        context_of(self.folder / "certificates")
        ca_file = self.folder / "certificates" / "apiserver.crt"
        write_access(self.folder, f"https://127.0.0.1:{port}", ca_file)
        self._run("-m", "accelwatch_lab.cluster.kubernetes.api_server", str(port), str(self.folder))

    def watch(self) -> None:
        """Have another process watch the nodes from now on."""
        self._run(__file__, "--watch", str(self.folder))

    def _run(self, *argv: str) -> None:
        self._processes.append(subprocess.Popen([sys.executable, *argv]))

    def stop(self) -> None:
        """End all of it."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(10)

    def seen(self) -> dict[str, float]:
        """Unix seconds at which a node's taint was seen first."""
        lines = self._seen_file.read_text().splitlines() if self._seen_file.exists() else []
        return dict(map(json.loads, lines))

    def patches(self) -> list[dict[str, Any]]:
        """As the server has logged them."""
        lines = (self.folder / "requests.jsonl").read_text().splitlines()
        return [entry for entry in map(json.loads, lines) if entry["method"] == "PATCH"]

    @property
    def options(self) -> dict[str, object]:
        """Of an action."""
        access = access_of(self.folder, Account.ADMIN)
        return {
            "server": {
                "api_server": access.url,
                "ca_file": str(access.ca_file),
                "token_file": str(token_file(self.folder, Account.ADMIN)),
            }
        }


@contextlib.asynccontextmanager
async def session_of(folder: Path):  # type: ignore[no-untyped-def]
    """Requests as the administrator."""
    access = access_of(folder, Account.ADMIN)
    headers = {"Authorization": f"Bearer {access.token}"}
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=access.ca_file))
    async with aiohttp.ClientSession(access.url, headers=headers, connector=connector) as session:
        yield session


async def make_nodes(folder: Path, names: list[str]) -> None:
    """As their kubelets would."""
    async with session_of(folder) as session:
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    async with session.get("/readyz") as answer:
                        if answer.status == 200:
                            break
                await asyncio.sleep(0.1)
        for name in names:
            document = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "status": {
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "addresses": [{"type": "Hostname", "address": name}],
                },
            }
            async with session.post("/api/v1/nodes", json=document) as answer:
                answer.raise_for_status()


async def watched(folder: Path) -> None:
    """Write down when the taint of each node is seen first."""
    seen: set[str] = set()
    timeout = aiohttp.ClientTimeout(total=None)
    async with session_of(folder) as session:
        async with session.get("/api/v1/nodes?limit=1") as answer:
            version = (await answer.json())["metadata"]["resourceVersion"]
        path = f"/api/v1/nodes?watch=1&resourceVersion={version}&timeoutSeconds=600"
        async with session.get(path, timeout=timeout) as answer:
            with (folder / "seen.jsonl").open("a", buffering=1) as out:
                async for line in answer.content:
                    now = time.time()
                    document = json.loads(line)["object"]
                    keys = [taint["key"] for taint in document["spec"].get("taints", [])]
                    name = document["metadata"]["name"]
                    if TAINT in keys and name not in seen:
                        seen.add(name)
                        out.write(f"{json.dumps([name, now])}\n")


@contextlib.contextmanager
def cluster_of(nodes: int) -> Iterator[Cluster]:
    """A cluster with so many nodes."""
    with tempfile.TemporaryDirectory(prefix="taints") as name:
        cluster = Cluster(Path(name))
        cluster.start()
        try:
            names = [f"n{at:04d}" for at in range(1, nodes + 1)]
            asyncio.run(make_nodes(cluster.folder, names))
            cluster.watch()

            def make(context: ActionContext) -> object:
                return KubernetesAction(msgspec.structs.replace(context, options=cluster.options))

            with acting_by(make):
                yield cluster
        finally:
            cluster.stop()


async def _apart(cluster: Cluster) -> dict[str, object]:
    nodes, every_s = 100, 0.25
    hub = Hub(cluster.folder, nodes, MANY, LIFTED)
    faults: dict[str, float] = {}
    async with hub.running() as (rules, remedies):
        for name in hub.names:
            faults[name] = hub.break_at_once([name])
            await asyncio.sleep(every_s)
        await until(lambda: len(cluster.seen()) == nodes)
        opened = {one.entity.node: one.opened for one in rules.open}
        problems = list(remedies.problems)
    seen = cluster.seen()
    return {
        "reading -> taint visible": told([seen[name] - faults[name] for name in faults]),
        "detect -> taint visible": told([seen[name] - opened[name] for name in faults]),
        "problems": problems,
    }


async def _thousand(cluster: Cluster) -> dict[str, object]:
    nodes = 1000
    hub = Hub(cluster.folder, nodes, MANY, LIFTED)
    async with hub.running() as (rules, remedies):
        began = time.process_time()
        fault = hub.break_at_once(hub.names)
        await until(lambda: len(cluster.seen()) == nodes)
        opened = {one.entity.node: one.opened for one in rules.open}
        await until(lambda: settled(remedies, nodes))
        ended, spent_s = time.time(), time.process_time() - began
        problems = list(remedies.problems)
    seen = cluster.seen()
    patches = cluster.patches()
    times = sorted(entry["at"] for entry in patches)
    by_node = Counter(entry["path"] for entry in patches)
    return {
        "patches/s": round((len(times) - 1) / (times[-1] - times[0]), 1),
        "patches": len(patches),
        "most patches of one node": max(by_node.values()),
        "answers": dict(Counter(str(entry["status"]) for entry in patches)),
        "reading -> taint visible": told([at - fault for at in seen.values()]),
        "detect -> taint visible": told([seen[name] - opened[name] for name in hub.names]),
        "all known to the engine_s": round(ended - fault, 2),
        "processor time of the hub until then_s": round(spent_s, 2),
        "problems": problems,
    }


async def _braked(cluster: Cluster, limits: Breaker) -> dict[str, object]:
    hub = Hub(cluster.folder, 1000, BOUNDED, limits)
    async with hub.running() as (_, remedies):
        hub.break_at_once(hub.names)
        before = -1
        while len(cluster.seen()) != before:
            before = len(cluster.seen())
            await asyncio.sleep(QUIET_S)
        breaker = remedies.engine.state.breaker.standing
        problems = list(remedies.problems)
    return {
        "budget": BOUNDED.most,
        "most own quarantines at any step": hub.most_own,
        "nodes tainted": len(cluster.seen()),
        "patches": len(cluster.patches()),
        "breaker": breaker.value,
        "problems": problems,
    }


def apart() -> object:
    """100 nodes, one after another."""
    with without_storms(), cluster_of(100) as cluster:
        return asyncio.run(_apart(cluster))


def thousand() -> object:
    """1,000 nodes in one moment."""
    with without_storms(), cluster_of(1000) as cluster:
        return asyncio.run(_thousand(cluster))


def budget() -> object:
    """1,000 nodes in one moment, with a budget."""
    with without_storms(), cluster_of(1000) as cluster:
        return asyncio.run(_braked(cluster, LIFTED))


def brakes() -> object:
    """1,000 nodes in one moment, with a budget and the breaker."""
    with without_storms(), cluster_of(1000) as cluster:
        return asyncio.run(_braked(cluster, Breaker()))


PARTS = {"apart": apart, "thousand": thousand, "budget": budget, "brakes": brakes}


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--watch", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.watch:
        asyncio.run(watched(given.watch))
        return
    figures = {part: [PARTS[part]() for _ in range(given.runs)] for part in given.parts or PARTS}
    document = {
        **figures,
        "goals": GOALS,
        "load": [round(one, 1) for one in os.getloadavg()],
        "cpus": os.cpu_count(),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
