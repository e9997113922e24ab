"""A hub as a process of its own for `failover.py`: its configuration, the programs by which it acts, and
what its page of hubs says."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import aiohttp
import msgspec

from accelwatch.fleet.documents.hubs import HubsPage
from support.fleet.hub_peers import Agent
from support.postgresql.server import Server
from support.postgresql.slow_link import Link, link_to
from support.processes.terminated import end_children_when_terminated
from support.servers.ports import free_port

RULE = {
    "id": "gpu.lost",
    "title": "Lost",
    "when": 'state == "lost"',
    "severity": "critical",
    "confidence": "high",
    "mode": "auto",
    "trust": "any",
    "action": {"quarantine": {"level": "node", "when": "now"}},
}
NODES = ("n1", "n2")
# Notes who quarantines what, in the order of the calls.
QUARANTINE = """#!/bin/sh
echo "$ACCELWATCH_FENCE $ACCELWATCH_NODE" >>{folder}/calls
echo "$ACCELWATCH_INCIDENT $ACCELWATCH_FENCE" >{folder}/$ACCELWATCH_NODE
"""
SURVEY = """#!{python} -S
import json, pathlib, sys
nodes = []
for name in ("n1", "n2"):
    file = pathlib.Path("{folder}", name)
    node = {{"name": name, "standing": "open", "answering": True, "boot_id": "boot-" + name}}
    if file.exists() and len(words := file.read_text().split()) == 2:
        node["standing"] = "ours"
        node["mark"] = {{"incident": words[0], "token": int(words[1])}}
    nodes.append(node)
call = sys.argv[1:] and json.load(sys.stdin)
one = [node for node in nodes if call and node["name"] == call["entity"]["node"]]
print(json.dumps({{"node": one[0]}} if one else {{"nodes": nodes}}))
"""


class HubProcess(NamedTuple):
    """One hub, and its ways to the servers of the database."""

    process: asyncio.subprocess.Process
    links: Sequence[Link]
    url: str


def programs(site: Path) -> None:
    """The programs of a site, and its file of calls."""
    site.mkdir()
    (site / "calls").touch()
    for name, text in (("quarantine", QUARANTINE), ("survey", SURVEY)):
        file = site / name
        file.write_text(text.format(folder=site, python=sys.executable))
        file.chmod(0o755)


@contextlib.contextmanager
def links_to(servers: Sequence[Server]) -> Iterator[list[Link]]:
    """A link of a hub to each server."""
    with contextlib.ExitStack() as stack:
        sockets = [server.folder / f".s.PGSQL.{server.port}" for server in servers]
        yield [stack.enter_context(link_to(path)) for path in sockets]


def settings_of(folder: Path, site: Path, links: Sequence[Link], agents: Sequence[Agent]) -> str:
    """The configuration of a hub that acts by programs."""
    programs = {"observe": {"argv": [str(site / "survey"), "one"]}, "survey": {}}
    programs["survey"] = {"argv": [str(site / "survey")]}
    hooks = {"quarantine": {"argv": [str(site / "quarantine")], "idempotent": True}}
    return json.dumps(  # JSON is YAML
        {
            "rules": {"files": [str(folder / "rules.yaml")], "interval": "200ms"},
            "detector": {"enabled": False},
            "journal": {
                "postgresql": {
                    "hosts": [f"127.0.0.1:{link.port}" for link in links],
                    "database": "postgres",
                    "user": "postgres",
                    "tls": False,
                }
            },
            "remedy": {
                "ceiling": "resume",
                "actions": [
                    {"name": "site", "type": "script", "options": {**programs, "hooks": hooks}}
                ],
                "nodes": {one.address: name for one, name in zip(agents, NODES, strict=True)},
                "data_guard": {"startup_grace": "0s", "calm": "0s"},
                "budget": {"spacing": "0s"},
                "stop_file": str(folder / "STOP"),
            },
        }
    )


@contextlib.asynccontextmanager
async def hub(
    folder: Path, site: Path, servers: Sequence[Server], agents: Sequence[Agent]
) -> AsyncIterator[HubProcess]:
    """A hub that runs until the end of the block, whatever has become of it."""
    end_children_when_terminated()
    folder.mkdir()
    (folder / "rules.yaml").write_text(json.dumps({"version": 1, "rules": [RULE]}))
    with links_to(servers) as links, (folder / "log").open("wb") as log:
        config, port = folder / "hub.yaml", free_port()
        config.write_text(settings_of(folder, site, links, agents))
        targets = [word for one in agents for word in ("-t", one.address)]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "accelwatch", "hub", *targets, "-c", str(config)),
            *("--state-dir", str(folder), "--web.listen-address", f"127.0.0.1:{port}"),
            env={**os.environ, "NOTIFY_SOCKET": ""},
            stderr=log,
        )
        try:
            yield HubProcess(process, links, f"http://127.0.0.1:{port}")
        except TimeoutError:
            print((folder / "log").read_text(errors="replace")[-4000:], file=sys.stderr)
            raise
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def page_of(one: HubProcess) -> HubsPage | None:
    """What a hub says of itself and the others; None before it answers."""
    with contextlib.suppress(aiohttp.ClientError, TimeoutError):
        timeout = aiohttp.ClientTimeout(total=2.0)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{one.url}/v1/hubs") as response,
        ):
            return msgspec.json.decode(await response.read(), type=HubsPage)
    return None


async def leads(one: HubProcess) -> int:
    """Whether a hub leads and acts."""
    page = await page_of(one)
    return int(page is not None and page.leads and page.acts)


async def follows(one: HubProcess) -> int:
    """Whether a hub has seen another that leads."""
    page = await page_of(one)
    return int(page is not None and not page.leads and page.leader is not None)
