"""A manager of a few rows, and what else readings and effects reach, for tests of single requests."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from accelwatch.api_client.backendai.releases import Release
from accelwatch.api_client.errors import never_withdrawn
from accelwatch_backendai.settings.options import BackendAiOptions
from support.backendai.moving import OPTIONS

ENDED = ("TERMINATED", "CANCELLED", "ERROR")


def row(
    session_id: str, status: str, tag: str = "", *, agents: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    """A session as GraphQL shows it."""
    return {
        "session_id": session_id,
        "name": "train",
        "type": "BATCH",
        "status": status,
        "tag": tag,
        "access_key": "OWNERS-KEY",
        "containers": [{"agent": agent, "status": status} for agent in agents],
        **more,
    }


class Manager:
    """Answers a client's calls from rows; `answer` is what a write is answered with, or raises."""

    def __init__(
        self, *rows: dict[str, Any], agents: Mapping[str, str] = {}, answer: Any = None
    ) -> None:
        """`agents` has the status of each."""
        self.rows = rows
        self._agents = agents
        self.answer = answer
        self.writes: list[tuple[str, str, Mapping[str, Any]]] = []

    async def graphql(self, query: str, variables: Mapping[str, Any]) -> bytes:
        if "agent_list" in query:
            items = [
                {"id": name, "status": status, "schedulable": True}
                for name, status in self._agents.items()
                if f'"{name}"' in variables["filter"]
            ]
            return msgspec.json.encode({"agent_list": {"items": items}})
        if "compute_session_node" in query:
            return msgspec.json.encode({"compute_session_node": None})
        if variables["filter"].startswith("("):
            key = variables["key"]
            live = [each for each in self.rows if each["status"] not in ENDED]
            live = [each for each in live if not key or each["access_key"] == key]
            return msgspec.json.encode({"compute_session_list": {"items": live}})
        key, _, quoted = variables["filter"].partition(" == ")
        column = {"id": "session_id", "name": "name"}[key]
        items = [each for each in self.rows if each[column] == quoted.strip('"')]
        if variables["key"]:
            items = [each for each in items if each["access_key"] == variables["key"]]
        return msgspec.json.encode({"compute_session_list": {"items": items}})

    async def delete(
        self, path: str, query: Mapping[str, str], *, withdrawn: Callable[[], str]
    ) -> bytes:
        return self._write("DELETE", path, query)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        private: bool = False,
        withdrawn: Callable[[], str] = never_withdrawn,
    ) -> bytes:
        # The manager may repeat what a user wrote into a session.
        assert private or path != "/session"
        return self._write("POST", path, body)

    def _write(self, method: str, path: str, what: Mapping[str, Any]) -> bytes:
        self.writes.append((method, path, what))
        if isinstance(self.answer, Exception):
            raise self.answer
        return msgspec.json.encode(self.answer)


class Power:
    """Which nodes have no power."""

    def __init__(self, *off: str) -> None:
        self._off = off

    async def is_off(self, node: str) -> bool:
        return node in self._off


class Specification:
    def body(self, *, tag: str, owner_access_key: str) -> dict[str, Any]:
        return {"name": "train", "tag": tag, "owner_access_key": owner_access_key}


class Specifications:
    def __init__(self, known: bool) -> None:
        self._known = known
        # Raised instead of an answer.
        self.error: Exception | None = None

    async def missing(self, _: Any) -> str:
        if self.error is not None:
            raise self.error
        return "" if self._known else "nobody knows it"

    async def read(self, _: Any) -> Specification | None:
        return Specification() if self._known else None


class Newest:
    async def current(self) -> Release:
        return Release(26, 9, 6)


class Access:
    """What readings and effects need of it; `off` are the nodes without power."""

    def __init__(
        self,
        manager: Manager,
        *off: str,
        known: bool = True,
        options: BackendAiOptions = OPTIONS,
    ) -> None:
        self.name = "cluster"
        self.options = options
        self.release = Newest()
        self.client = manager
        self.power = Power(*off)
        self.specifications = Specifications(known)
