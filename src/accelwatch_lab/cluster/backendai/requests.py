"""Requests of a lab's administrators and users to its manager, in the form that all releases read."""

from collections.abc import Mapping, Sequence
from typing import Any

from accelwatch_lab.cluster.backendai.api import Api, Object

IMAGE = "cr.backend.ai/stable/python:3.9-ubuntu20.04"
GROUP, SPARES = "default", "spare"
_GPUS = "cuda.device"
BATCH_TIMEOUT = "7d"
_PAGE = 100
_AGENTS = (
    f"{{agent_list(limit: {_PAGE}, offset: 0)"
    "{items{id status schedulable scaling_group occupied_slots}}}"
)
_SESSIONS = (
    f"query($filter: String){{compute_session_list(limit: {_PAGE}, offset: 0, filter: $filter)"
    "{items{session_id name status created_at containers{agent status}}}}"
)
_MODIFY = (
    "mutation($id: String!, $props: ModifyAgentInput!)"
    "{modify_agent(id: $id, props: $props){ok msg}}"
)
_MAKE_GROUP = (
    "mutation($name: String!, $props: CreateScalingGroupInput!)"
    "{create_scaling_group(name: $name, props: $props){ok msg}"
    ' associate_scaling_group_with_domain(scaling_group: $name, domain: "default"){ok msg}}'
)
_GROUP_PROPERTIES = {
    "description": "",
    "is_active": True,
    "driver": "static",
    "scheduler": "fifo",
    "driver_opts": "{}",
    "scheduler_opts": "{}",
}


def agents(api: Api) -> list[Object]:
    """Every agent. Raises ApiRefusalError, NoAnswerError, as all of these do."""
    rows: list[Object] = api.graphql(_AGENTS)["agent_list"]["items"]
    return rows


def modify_agent(api: Api, agent: str, **properties: object) -> None:
    """Change `schedulable` or `scaling_group`."""
    api.change(_MODIFY, id=agent, props=properties)


def make_group(api: Api, name: str) -> None:
    """A resource group that the domain may use."""
    api.change(_MAKE_GROUP, name=name, props=_GROUP_PROPERTIES)


def sessions(api: Api, name: str) -> list[Object]:
    """Those of a name, the oldest first; they stay when they have ended."""
    answer = api.graphql(_SESSIONS, filter=f'name == "{name}"')
    rows: list[Object] = answer["compute_session_list"]["items"]
    return sorted(rows, key=lambda row: str(row["created_at"]))


def nodes_of(session: Object) -> tuple[str, ...]:
    """The agents that a session has kernels on."""
    return tuple(sorted(kernel["agent"] for kernel in session["containers"] if kernel["agent"]))


def create_session(
    api: Api, name: str, command: str, *, nodes: int = 1, gpus: int = 8, **more: Any
) -> str:
    """Id of a batch session with so many GPUs on each of some nodes; `more` goes into `config`."""
    resources = {"cpu": "8", "mem": "16g", _GPUS: str(gpus)}
    body = {
        "name": name,
        "image": IMAGE,
        "arch": "x86_64",
        "type": "batch",
        "group": "default",
        "domain": "default",
        "cluster_size": nodes,
        "cluster_mode": "multi-node" if nodes > 1 else "single-node",
        "enqueueOnly": True,
        "reuseIfExists": False,
        "startupCommand": command,
        # 26.1 reads none as 0, and ends the session at once.
        "batch_timeout": BATCH_TIMEOUT,
        "config": {"resources": resources, "scaling_group": GROUP, **more},
    }
    return str(api.post("/session", body)["sessionId"])


def end_session(api: Api, session: str, *, forced: bool = False) -> None:
    """End one by its id: 26.1 refuses names that an ended session had."""
    query: Mapping[str, str] = {"forced": "true"} if forced else {}
    api.delete(f"/session/{session}", **query)


def is_closed(session: Object) -> bool:
    """Whether nothing comes of it any more."""
    return session["status"] in ("TERMINATED", "CANCELLED", "ERROR")


def is_running(rows: Sequence[Object]) -> bool:
    """Whether the newest of some sessions runs."""
    return bool(rows) and rows[-1]["status"] == "RUNNING"
