"""From a session of a Backend.AI cluster to the hub: its nodes by the manager, its devices as a job.

The manager and its agents' pages are a stand-in's, or real where their tree is built; the nodes' own
files are written as Backend.AI's agent writes them, with what the manager says of the session.
"""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.fleet.hub.model import effective
from accelwatch.fleet.hub.reloading import read_again
from accelwatch.schema.snapshot import Snapshot
from node.workloads import scratch
from node.workloads.annotation import known, workloads
from node.workloads.fake_node import FakeNode
from support.backendai.served import ServedCluster
from support.fleet.hub_peers import Running, agent, hub
from support.machines import composed as machines

NODES = ("i-gpu1", "i-gpu2", "i-gpu3", "i-gpu4")


async def follow(running: Running, file: Path, targets: dict[str, Any]) -> None:
    file.write_bytes(msgspec.yaml.encode({"targets": targets}))
    await read_again(running.server, lambda: effective(file))


def snapshot_of(folder: Path, uuids: list[str], kernel: dict[str, Any], name: str) -> Snapshot:
    """What our agent reads on a node with these devices, all of which a kernel was given."""
    views = []
    for index, uuid in enumerate(uuids):
        device = machines.device(index, id=f"nvidia:{uuid}", uuid=uuid)
        views.append(machines.view(index, device=device))
    node = FakeNode(folder)
    shares = ",".join(f"{uuid}:1" for uuid in uuids)
    scratch.kernel(
        node,
        f"CUDA.DEVICE_SHARES={shares}",
        kernel_id=kernel["kernel_id"],
        BACKENDAI_SESSION_ID=kernel["session_id"],
        BACKENDAI_SESSION_NAME=name,
    )
    return known(workloads(node), machines.snapshot(*views))


def test_a_session_on_two_nodes_is_one_job_by_its_name(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def main() -> None:
        row = await cluster.create_batch_session("llama", 2)
        session_id = row["session_id"]
        platform = {"url": cluster.internal_url, "agent_port": None, "refresh_interval": "1s"}
        async with hub() as running, AsyncExitStack() as stack:
            await follow(running, tmp_path / "hub.yaml", {"backendai": [platform]})
            for name in NODES:
                await running.devices(name, 8)
            groups = []
            for kernel in row["containers"]:
                name = kernel["agent"]
                devices = running.hub.fleet.nodes[name].devices.values()
                shot = snapshot_of(
                    tmp_path / name,
                    [view.device.uuid or "" for view in devices],
                    kernel | {"session_id": session_id},
                    row["name"],
                )
                ours = await stack.enter_async_context(agent(shot))
                groups.append({"targets": [ours.address], "labels": {"node": name}})
            (tmp_path / "agents.json").write_text(json.dumps(groups))
            both = {"backendai": [platform], "files": [str(tmp_path / "agents.json")]}
            await follow(running, tmp_path / "hub.yaml", both)
            expected = set(row["agent_ids"])
            found: list[dict[str, Any]] = []
            async with asyncio.timeout(60):
                while {device["node"] for device in found} != expected or len(found) != 16:
                    await asyncio.sleep(0.05)
                    answer = await running.get(f'/v1/devices?filter=job=="{session_id}"')
                    found = answer["devices"]
            assert {device["job_name"] for device in found} == {"llama"}
            assert {device["user"] for device in found} == {"ada"}
            assert set(running.hub.fleet.nodes) == set(NODES)
            for name in NODES:
                assert len(running.hub.fleet.nodes[name].devices) == 8
            text = json.dumps(await running.get("/v1/devices"))
            assert "hush" not in text.lower()

    asyncio.run(main())
