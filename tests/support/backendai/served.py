"""What tests do with a Backend.AI, whoever serves it: requests as its users and operators make them."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp

from accelwatch_lab.cluster.backendai.access import Account, Keys, keys_of, secret_file

Row = dict[str, Any]
_VERSION = "v6.20230315"
_IMAGE = "cr.backend.ai/stable/python:3.9-ubuntu20.04"
_AGENTS = """{agent_list(limit: 100, offset: 0, order: "id") {items {
  id status schedulable scaling_group addr lost_at available_slots occupied_slots}}}"""
_SESSIONS = """{compute_session_list(limit: 100, offset: 0, order: "created_at") {items {
  session_id name tag type status status_info result access_key scaling_group agent_ids
  startup_command containers {kernel_id agent status cluster_role}}}}"""
_CHANGE = """mutation($id: String!, $props: ModifyAgentInput!) {
  modify_agent(id: $id, props: $props) {ok msg}}"""
ENDED = frozenset({"TERMINATED", "CANCELLED", "ERROR"})
# What a real manager takes for what a stand-in does at once, with room.
_PATIENCE_S = 120.0


class ServedCluster:
    """A manager whose accounts' keys are in a folder, and its agents.

    Those are i-gpu1 to i-gpu4, with eight devices each, in the resource group `default`. There are the
    groups `spare` and `quarantine` besides, and one image.
    """

    # `stand-in` or `real`.
    kind = ""
    # Of the manager.
    release = ""
    # Of metrics and of the http_sd page.
    internal_url = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # What each cluster does in its own way.

    def kill_agent(self, name: str) -> None:
        """Its machine dies; the manager says ALIVE until its heartbeats have lacked for long."""
        raise NotImplementedError

    def stop_agent(self, name: str) -> None:
        """End it in order."""
        raise NotImplementedError

    def start_agent(self, name: str) -> None:
        """It is there again."""
        raise NotImplementedError

    def kill_manager(self) -> None:
        """End the manager, and nothing else."""
        raise NotImplementedError

    def start_manager(self) -> None:
        """Start it again where it was; it knows what it knew."""
        raise NotImplementedError

    async def until_lost(self, name: str) -> None:
        """Until the manager says so of an agent that was killed."""
        raise NotImplementedError

    # What all do alike.

    def keys(self, account: Account = Account.SUPERADMIN) -> Keys:
        """How somebody reaches the manager."""
        return keys_of(self.folder, account)

    @property
    def url(self) -> str:
        """Of the manager's API."""
        return self.keys().url

    def server(self, account: Account = Account.SUPERADMIN) -> dict[str, object]:
        """The `server` of an action's options."""
        url, access_key, _ = self.keys(account)
        file = secret_file(self.folder, account)
        return {"url": url, "access_key": access_key, "secret_key_file": str(file)}

    async def request(
        self, method: str, path: str, body: Any = None, *, keys: Keys | None = None
    ) -> tuple[int, Any]:
        """Status and document that the manager answers somebody; the superadmin without keys."""
        keys = keys or self.keys()
        headers = signed(method, path, keys)
        data = None if body is None else json.dumps(body)
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, keys.url + path, data=data, headers=headers) as answer,
        ):
            text = await answer.text()
            return answer.status, json.loads(text) if text else None

    async def graphql(self, query: str, **variables: Any) -> Any:
        """The data that a superadmin is answered, without an error."""
        body = {"query": query, "variables": variables}
        status, answer = await self.request("POST", "/admin/gql", body)
        assert status == 200, answer
        assert not answer.get("errors"), answer
        return answer["data"]

    async def agents(self) -> dict[str, Row]:
        """All agents by id."""
        found = await self.graphql(_AGENTS)
        return {row["id"]: row for row in found["agent_list"]["items"]}

    async def change_agent(self, name: str, **props: Any) -> None:
        """What a person changes by hand: `schedulable`, `scaling_group`."""
        answer = await self.graphql(_CHANGE, id=name, props=props)
        assert answer["modify_agent"]["ok"], answer

    async def sessions(self, *, name: str = "") -> list[Row]:
        """All that ever were, the oldest first; of a name only where there is one."""
        found = await self.graphql(_SESSIONS)
        rows: list[Row] = found["compute_session_list"]["items"]
        return [row for row in rows if name in ("", row["name"])]

    async def session(self, session_id: str) -> Row:
        """One of them."""
        (row,) = [row for row in await self.sessions() if row["session_id"] == session_id]
        return row

    async def create_session(
        self, name: str, *, account: Account = Account.SUPERADMIN, **more: Any
    ) -> str:
        """For somebody; of one kernel with all devices of an agent without more. The id."""
        body = specification(name, **more)
        if account is not Account.SUPERADMIN:
            # Members of the fixtures' project may not create in it on every release.
            body["owner_access_key"] = self.keys(account).access_key
        status, answer = await self.request("POST", "/session", body)
        assert status == 201, answer
        assert answer["created"], answer
        return str(answer["sessionId"])

    async def create_batch_session(
        self, name: str, nodes: int = 1, command: str = "sleep 600", **more: Any
    ) -> Row:
        """One that runs, on so many agents with eight devices each."""
        session = await self.create_session(
            name,
            type="batch",
            cluster_size=nodes,
            cluster_mode="multi-node",
            startupCommand=command,
            batch_timeout="7d",
            **more,
        )
        return await self.until(session, "RUNNING")

    async def end_session(self, session_id: str, *, forced: bool = False) -> None:
        """By its id, and not waited for."""
        owner = (await self.session(session_id))["access_key"]
        query = f"owner_access_key={owner}" + ("&forced=true" if forced else "")
        status, answer = await self.request("DELETE", f"/session/{session_id}?{query}")
        assert status == 200, answer

    async def until(self, session_id: str, *statuses: str) -> Row:
        """Wait for a status of a session; its row then."""
        async with asyncio.timeout(_PATIENCE_S):
            while (row := await self.session(session_id))["status"] not in statuses:
                await asyncio.sleep(0.02)
            return row

    async def until_status(self, agent: str, *statuses: str) -> None:
        """Wait for a status of an agent."""
        async with asyncio.timeout(_PATIENCE_S):
            while (await self.agents())[agent]["status"] not in statuses:
                await asyncio.sleep(0.05)

    async def clear(self) -> None:
        """End all sessions, and have all agents as they were."""
        open_sessions = [row for row in await self.sessions() if row["status"] not in ENDED]
        for row in open_sessions:
            await self.end_session(row["session_id"], forced=True)
        for row in open_sessions:
            await self.until(row["session_id"], *ENDED)
        for name in await self.agents():
            await self.change_agent(name, schedulable=True, scaling_group="default")


def specification(
    name: str, *, group: str = "default", resources: Any = None, **more: Any
) -> dict[str, Any]:
    """A body of `POST /session` in the spelling that every release reads."""
    config = {
        "resources": resources or {"cpu": "8", "mem": "16g", "cuda.device": "8"},
        "scaling_group": group,
        **more.pop("config", {}),
    }
    return {
        "name": name,
        "image": _IMAGE,
        "arch": "x86_64",
        "type": "interactive",
        "group": "default",
        "domain": "default",
        "cluster_size": 1,
        "enqueueOnly": True,
        "reuseIfExists": False,
        "config": config,
        **more,
    }


def signed(method: str, path: str, keys: Keys, at: float | None = None) -> dict[str, str]:
    """The headers of a request, as Backend.AI's own clients sign it, now or at a Unix time."""
    host = keys.url.partition("://")[2]
    now = datetime.fromtimestamp(time.time() if at is None else at, UTC).replace(microsecond=0)
    kind = "application/json"
    lines: Sequence[str] = (
        method,
        path,
        now.isoformat(),
        f"host:{host}",
        f"content-type:{kind}",
        f"x-backendai-version:{_VERSION}",
        hashlib.sha256(b"").hexdigest(),
    )
    day = hmac.digest(keys.secret_key.encode(), now.strftime("%Y%m%d").encode(), "sha256")
    key = hmac.digest(day, host.encode(), "sha256")
    signature = hmac.digest(key, "\n".join(lines).encode(), "sha256").hex()
    credential = f"{keys.access_key}:{signature}"
    return {
        "Date": now.isoformat(),
        "Content-Type": kind,
        "X-BackendAI-Version": _VERSION,
        "Authorization": f"BackendAI signMethod=HMAC-SHA256, credential={credential}",
    }
