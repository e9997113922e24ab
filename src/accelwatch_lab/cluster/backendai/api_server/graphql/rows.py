"""Agents and sessions as GraphQL shows them: a mapping by field."""

import json
from collections.abc import Mapping
from typing import Any

from accelwatch_lab.cluster.backendai.api_server.clock import text_of
from accelwatch_lab.cluster.backendai.api_server.manager import (
    ARCHITECTURE,
    PROJECT_ID,
    Manager,
)
from accelwatch_lab.cluster.backendai.api_server.state.agents import Agent
from accelwatch_lab.cluster.backendai.api_server.state.sessions import OCCUPYING, Kernel, Session

Row = dict[str, Any]


def slots_text(slots: Mapping[str, int]) -> str:
    """Counts are strings, in JSON in a string."""
    return json.dumps({slot: str(count) for slot, count in slots.items()})


def agent_row(manager: Manager, agent: Agent) -> Row:
    """Live statistics are not there: the stand-in's agents have no devices."""
    occupied = dict.fromkeys(agent.slots, 0) | manager.sessions.occupied(agent.id)
    version = manager.release.text
    return {
        "id": agent.id,
        "status": agent.status(),
        "status_changed": text_of(agent.status_changed),
        "region": "local",
        "scaling_group": agent.group,
        "schedulable": agent.schedulable,
        "available_slots": slots_text(agent.slots),
        "occupied_slots": slots_text(occupied),
        "addr": agent.addr,
        "architecture": ARCHITECTURE,
        "first_contact": text_of(agent.first_contact),
        "lost_at": text_of(agent.lost_at),
        "live_stat": "{}",
        "version": version,
        "compute_plugins": json.dumps({"cuda": {"version": version}}),
        "hardware_metadata": "{}",
        "gpu_alloc_map": "{}",
        "container_count": 0,
    }


def session_row(manager: Manager, session: Session) -> Row:
    """With its kernels as `containers`, and a plain list of what it depends on."""
    total = {slot: count * len(session.kernels) for slot, count in session.slots.items()}
    occupied = total if session.status in OCCUPYING else {}
    agents = session.agent_ids or None
    owner = session.owner
    return {
        "id": session.id,
        "session_id": session.id,
        "tag": session.tag if manager.release.has_v2 else session.tag or None,
        "name": session.name,
        "type": session.kind.upper(),
        "image": session.image,
        "architecture": session.architecture,
        "cluster_template": None,
        "cluster_mode": session.cluster_mode,
        "cluster_size": session.cluster_size,
        "priority": session.priority,
        "domain_name": session.domain,
        "group_id": PROJECT_ID,
        "group_name": session.project,
        "user_id": owner.user_id,
        "user_email": owner.email,
        "full_name": owner.email.partition("@")[0],
        "access_key": owner.access_key,
        "agent_ids": agents,
        "agents": agents,
        "scaling_group": session.group,
        "status": session.status,
        "status_changed": text_of(session.status_changed),
        "status_history": json.dumps(session.history),
        "status_info": session.status_info,
        "status_data": session.status_data,
        "created_at": text_of(session.created_at),
        "scheduled_at": text_of(session.scheduled_at),
        "starts_at": text_of(session.starts_at),
        "terminated_at": text_of(session.terminated_at),
        "startup_command": session.startup_command,
        "result": session.result,
        "mounts": list(session.mounts),
        "vfolder_mounts": list(session.mounts),
        "resource_opts": json.dumps(session.resource_opts),
        "requested_slots": slots_text(total),
        "occupying_slots": slots_text(occupied),
        "occupied_slots": slots_text(occupied),
        "dependencies": [
            {"id": session_id, "session_id": session_id} for session_id in session.dependencies
        ],
        "containers": [_kernel_row(manager, session, kernel) for kernel in session.kernels],
    }


def _kernel_row(manager: Manager, session: Session, kernel: Kernel) -> Row:
    agent = manager.agents.rows.get(kernel.agent or "")
    return {
        "id": kernel.id,
        "kernel_id": kernel.id,
        "session_id": session.id,
        "container_id": "",
        "agent": kernel.agent,
        "agent_addr": agent.addr if agent is not None else None,
        "status": kernel.status,
        "status_changed": text_of(kernel.status_changed),
        "status_info": "",
        "cluster_role": kernel.role,
        "cluster_idx": kernel.index,
        "cluster_hostname": kernel.hostname,
        "local_rank": kernel.local_rank,
        "image": session.image,
        "architecture": session.architecture,
        "occupied_slots": slots_text(session.slots if kernel.agent else {}),
        "resource_opts": json.dumps(session.resource_opts),
        "preopen_ports": [],
        "created_at": text_of(session.created_at),
        "starts_at": text_of(kernel.starts_at),
        "terminated_at": text_of(kernel.terminated_at),
    }
