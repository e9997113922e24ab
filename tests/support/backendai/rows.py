"""Rows of the manager's GraphQL as 26.9.6 answers them, and pages of them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web

from support.backendai.signed_api import ACCESS_KEY
from support.servers.scripted_api import Answering

Row = dict[str, Any]
SLOTS = {"cpu": "64", "mem": "1099511627776", "cuda.device": "8"}


def agent_row(agent_id: str, **changed: Any) -> Row:
    """An idle agent that is alive."""
    return {
        "id": agent_id,
        "status": "ALIVE",
        "schedulable": True,
        "scaling_group": "default",
        "addr": "tcp://10.0.0.1:6001",
        "version": "26.9.6",
        "first_contact": "2026-11-29T00:42:22.832992+00:00",
        "lost_at": None,
        "available_slots": json.dumps(SLOTS),
        "occupied_slots": json.dumps(dict.fromkeys(SLOTS, "0")),
        **changed,
    }


def session_row(session_id: str, *agents: str, **changed: Any) -> Row:
    """A batch session that runs on some agents, its main kernel on the first."""
    return {
        "session_id": session_id,
        "name": "train",
        "tag": "",
        "type": "BATCH",
        "status": "RUNNING",
        "status_info": None,
        "result": "UNDEFINED",
        "access_key": ACCESS_KEY,
        "full_name": "Ann Example",
        "user_id": "f38dea23-50fa-42a0-b5ae-338f5f4693f4",
        "group_name": "vision",
        "scaling_group": "default",
        "cluster_size": len(agents),
        "cluster_mode": "multi-node",
        "created_at": "2026-11-29T01:03:24.139014+00:00",
        "terminated_at": None,
        "status_history": json.dumps({"RUNNING": "2026-11-29T01:03:32.704685+00:00"}),
        "containers": [
            {
                "id": f"kernel-{index}",
                "agent": agent,
                "status": "RUNNING",
                "status_info": None,
                "cluster_role": "main" if index == 0 else "sub",
                "cluster_idx": max(index, 1),
                "occupied_slots": json.dumps({"cuda.device": "8"}),
            }
            for index, agent in enumerate(agents)
        ],
        **changed,
    }


def pages(field: str, rows: Callable[[int], Sequence[Row]] | Sequence[Row]) -> Answering:
    """Pages of a list by their offset and limit; `rows` may give another list for each page."""
    count = 0

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal count
        variables = (await request.json())["variables"]
        listed = rows if isinstance(rows, Sequence) else rows(count)
        count += 1
        start = variables["offset"]
        items = listed[start : start + variables["limit"]]
        return web.json_response({"data": {field: {"items": items}}, "errors": None})

    return answer
