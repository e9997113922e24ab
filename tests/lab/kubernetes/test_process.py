"""The stand-in as a process of the lab, in place of kube-apiserver and kube-controller-manager."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch_lab.cluster.kubernetes.access import Account, access_of, write_access
from accelwatch_lab.cluster.kubernetes.api import Api
from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.waiting import until
from support.kubernetes.objects import MERGE, NODES, node
from support.kubernetes.served import ServedCluster
from support.processes.waiting import GUARD_S

MODULE = "accelwatch_lab.cluster.kubernetes.api_server"
_CORDON = {"spec": {"unschedulable": True}}


@contextlib.contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[ServedCluster]:
    port = free_ports(1)[0]
    certificate = folder / "certificates" / "apiserver.crt"
    write_access(folder, f"https://127.0.0.1:{port}", certificate)
    argv = (sys.executable, "-m", MODULE, str(port), str(folder), *arguments)
    process = subprocess.Popen(argv)
    try:
        until(lambda: certificate.exists() and is_ready(folder), "the API server is ready")
        yield ServedCluster(folder)
        process.send_signal(signal.SIGTERM)
        assert process.wait(GUARD_S) == 0
    finally:
        process.kill()
        process.wait()


def is_ready(folder: Path) -> bool:
    with contextlib.closing(Api(access_of(folder, Account.ADMIN))) as api:
        return api.is_ready()


def test_it_serves_those_of_its_token_file_and_logs(tmp_path: Path) -> None:
    with serving(tmp_path) as cluster:

        async def run() -> None:
            await cluster.ask("POST", NODES, node())
            status, _ = await cluster.request("GET", NODES, account=Account.HUB)
            assert status == 403
            await cluster.ask("PATCH", f"{NODES}/n1", _CORDON, MERGE)
            async with asyncio.timeout(30):
                while not await is_tainted(cluster):
                    await asyncio.sleep(0.02)

        asyncio.run(run())
    entries = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    (patch,) = (entry for entry in entries if entry["method"] == "PATCH")
    assert (patch["path"], patch["body"], patch["status"]) == (f"{NODES}/n1", _CORDON, 200)


async def is_tainted(cluster: ServedCluster) -> bool:
    taints = (await cluster.ask("GET", f"{NODES}/n1"))["spec"].get("taints", ())
    return "node.kubernetes.io/unschedulable" in {taint["key"] for taint in taints}


def test_it_runs_the_controllers_that_are_named(tmp_path: Path) -> None:
    with serving(tmp_path, "--controllers", "disruption-controller") as cluster:

        async def run() -> None:
            await cluster.ask("POST", NODES, node())
            await cluster.ask("PATCH", f"{NODES}/n1", _CORDON, MERGE)
            # Several rounds of a controller.
            for _ in range(20):
                await cluster.ask("GET", f"{NODES}/n1")
            assert not await is_tainted(cluster)

        asyncio.run(run())


@pytest.mark.parametrize("name", ["none", ""])
def test_an_unknown_controller_is_refused(tmp_path: Path, name: str) -> None:
    argv = (sys.executable, "-m", MODULE, "0", str(tmp_path), "--controllers", name)
    refused = subprocess.run(argv, capture_output=True, text=True, timeout=GUARD_S, check=False)
    assert refused.returncode == 2
    assert "disruption-controller" in refused.stderr
