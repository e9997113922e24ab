"""A stand-in of an API server and its nodes, and the process that watches their taints."""

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "remediation"))

import aiohttp
import msgspec

import taint_watch
from accelwatch.action.contract import ActionContext
from accelwatch_kubernetes import KubernetesAction
from accelwatch_lab.cluster.kubernetes.access import Account, access_of, token_file, write_access
from accelwatch_lab.cluster.kubernetes.api_server.certificate import context_of
from accelwatch_lab.cluster.ports import free_ports
from measured_hub import acting_by
from support.processes.terminated import end_children_when_terminated
from taint_watch import SEEN, session_of


class Cluster:
    """A stand-in in a process, its nodes, and the process that watches them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._seen_file = folder / SEEN

    def start(self) -> None:
        """Start the server."""
        port = free_ports(1)[0]
        context_of(self.folder / "certificates")
        ca_file = self.folder / "certificates" / "apiserver.crt"
        write_access(self.folder, f"https://127.0.0.1:{port}", ca_file)
        self._run("-m", "accelwatch_lab.cluster.kubernetes.api_server", str(port), str(self.folder))

    def watch(self) -> None:
        """Have another process watch the nodes from now on."""
        self._run(taint_watch.__file__, str(self.folder))

    def _run(self, *argv: str) -> None:
        end_children_when_terminated()
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
