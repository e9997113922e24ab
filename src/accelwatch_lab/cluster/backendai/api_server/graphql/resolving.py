"""Queries and mutations: what they answer, and who may send them."""

from collections.abc import Mapping
from typing import Any

from accelwatch_lab.cluster.backendai.api_server import problems
from accelwatch_lab.cluster.backendai.api_server.accounts import Keypair
from accelwatch_lab.cluster.backendai.api_server.graphql.filters import Row, matching, ordered
from accelwatch_lab.cluster.backendai.api_server.graphql.nodes import session_node
from accelwatch_lab.cluster.backendai.api_server.graphql.rows import agent_row, session_row
from accelwatch_lab.cluster.backendai.api_server.manager import Manager
from accelwatch_lab.cluster.backendai.api_server.state.agents import Agent

_OF_AGENTS = frozenset(
    {"id", "status", "status_changed", "region", "scaling_group", "schedulable", "addr"}
    | {"first_contact", "lost_at", "version"}
)
_OF_SESSIONS = frozenset(
    {"id", "type", "name", "image", "architecture", "domain_name", "group_name", "user_email"}
    | {"user_id", "access_key", "scaling_group", "cluster_mode", "cluster_size", "status"}
    | {"status_info", "status_changed", "result", "created_at", "terminated_at", "agent_ids"}
    | {"startup_command", "priority", "starts_at", "scheduled_at"}
)
_NO_LENGTH = (
    "DataLoader must be constructed with a function which accepts Iterable<key> and returns"
    " Future<Iterable<value>>, but the function did not return a Future of a Iterable with the same"
    " length as the Iterable of keys."
)


class Root:
    """What the fields of Query and Mutation resolve to, for one caller."""

    def __init__(self, manager: Manager, caller: Keypair, not_ok: bool = False) -> None:
        self._manager = manager
        self._caller = caller
        # A fault: the mutation is refused in its own way.
        self._not_ok = not_ok

    def agent(self, _: Any, agent_id: str) -> Row:
        """One agent; an unknown one is an error of the manager's own."""
        match = self._manager.agents.rows.get(agent_id)
        self._for_superadmin()
        if match is None:
            error = problems.failed()
            error.text = f"{_NO_LENGTH}\n\nKeys:\n['{agent_id}']\n\nValues:\n[]"
            raise error
        return agent_row(self._manager, match)

    def agents(self, _: Any, **arguments: str) -> list[Row]:
        """All agents."""
        self._for_superadmin()
        return self._agents(arguments)

    def agent_list(self, _: Any, limit: int, offset: int, **arguments: str) -> Row:
        """A page of agents."""
        self._for_superadmin()
        return _page(self._agents(arguments), _OF_AGENTS, limit, offset, arguments)

    def agent_summary_list(self, _: Any, **__: Any) -> Row:
        """`hide-agents` is true on real servers of the lab."""
        title = "No such agent."
        raise problems.RequestError(404, "object-not-match", title, "agent_read_not-match")

    def compute_session(self, _: Any, id: str) -> Row | None:
        """One session; null where there is none of the caller."""
        return next((row for row in self._sessions({}) if row["id"] == id), None)

    def compute_session_node(self, _: Any, id: str) -> Row | None:
        """One session with those that depend on it; to a superadmin here."""
        self._for_superadmin()
        return session_node(self._manager, id)

    def compute_session_list(self, _: Any, limit: int, offset: int, **arguments: str) -> Row:
        """A page of sessions; of others only for a superadmin."""
        return _page(self._sessions(arguments), _OF_SESSIONS, limit, offset, arguments)

    def keypair(self, _: Any, **arguments: str) -> Row | None:
        """The caller's own, or another's for a superadmin."""
        access_key = arguments.get("access_key", self._caller.access_key)
        if access_key != self._caller.access_key:
            self._for_superadmin()
        match = self._manager.accounts.keypairs.get(access_key)
        if match is None:
            return None
        return {
            "access_key": match.access_key,
            "is_active": True,
            "is_admin": match.is_superadmin,
            "resource_policy": "default",
            "user_id": match.email,
        }

    def user(self, _: Any, **__: str) -> Row:
        """The caller."""
        return {
            "email": self._caller.email,
            "role": self._caller.role,
            "status": "active",
            "domain_name": "default",
        }

    def scaling_groups(self, _: Any, **__: Any) -> list[Row]:
        """All resource groups."""
        self._for_superadmin()
        more = {"is_active": True, "driver": "static", "scheduler": "fifo"}
        return [{"name": name, **more} for name in self._manager.groups]

    def modify_agent(self, _: Any, id: str, props: Mapping[str, Any]) -> Row:
        """Set whether it accepts work, and its group. A role without the right gets 200 too."""
        if not self._caller.is_superadmin:
            return {"ok": False, "msg": "no permission to execute modify_agent"}
        if self._not_ok:
            return {"ok": False, "msg": "the lab wants it so"}
        agent = self._manager.agents.rows.get(id)
        if agent is None:
            return {"ok": False, "msg": "no matching modifyagent"}
        group = props.get("scaling_group")
        if group is not None:
            if group not in self._manager.groups:
                return {"ok": False, "msg": f"no such scaling group: {group}"}
            self._move(agent, group)
        if props.get("schedulable") is not None:
            agent.schedulable = props["schedulable"]
        return {"ok": True, "msg": "success"}

    def _move(self, agent: Agent, group: str) -> None:
        """Raises RequestError. Older releases call the agent, and move a busy one too."""
        busy = self._manager.sessions.on(agent.id)
        if not self._manager.release.owns_agents_group:
            if agent.status() != "ALIVE":
                raise problems.agent_unreachable(agent.id)
        elif any(session.group != group for session in busy):
            raise problems.agent_conflict(agent.id, len(busy))
        agent.group = group

    def _agents(self, arguments: Mapping[str, str]) -> list[Row]:
        manager = self._manager
        rows = [agent_row(manager, agent) for agent in manager.agents.rows.values()]
        for field in ("scaling_group", "status"):
            if arguments.get(field):
                rows = [row for row in rows if row[field] == arguments[field]]
        return rows

    def _sessions(self, arguments: Mapping[str, str]) -> list[Row]:
        """The newest first, as without an order."""
        manager, caller = self._manager, self._caller
        rows = [
            session_row(manager, session)
            for session in reversed(manager.sessions.rows.values())
            if caller.is_superadmin or session.owner.access_key == caller.access_key
        ]
        if arguments.get("status"):
            statuses = arguments["status"].split(",")
            rows = [row for row in rows if row["status"] in statuses]
        for field in ("access_key", "domain_name", "group_id"):
            if arguments.get(field):
                rows = [row for row in rows if row[field] == arguments[field]]
        return rows

    def _for_superadmin(self) -> None:
        if not self._caller.is_superadmin:
            error = problems.forbidden("superadmin privilege required")
            error.text = "Forbidden operation. (superadmin privilege required)"
            raise error


def _page(
    rows: list[Row], fields: frozenset[str], limit: int, offset: int, arguments: Mapping[str, str]
) -> Row:
    match = ordered(matching(rows, arguments.get("filter"), fields), arguments.get("order"))
    return {"items": match[offset : offset + limit], "total_count": len(match)}
