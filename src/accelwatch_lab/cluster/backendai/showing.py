"""Agents and sessions of Backend.AI in a lab's own words.

As a program it prints what the manager of a lab has of its agents.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from accelwatch_lab.cluster.backendai.access import Account, keys_of
from accelwatch_lab.cluster.backendai.api import Api, Object
from accelwatch_lab.cluster.backendai.requests import agents, nodes_of
from accelwatch_lab.cluster.scheduler import JobNow, NodeNow

# An agent's row has no field for it, and nobody but the hub makes agents of a lab unschedulable.
REASON = "accelwatch: schedulable is false, and Backend.AI has no field for the reason"
_SILENT = "LOST"
_TERMINATED = "TERMINATED"


def node_shown(agent: Object, *, busy: bool, off: bool = False) -> NodeNow:
    """An agent and why it accepts no work; `off`: it has no power."""
    is_out = not agent["schedulable"]
    states = ["ALLOCATED" if busy else "IDLE"]
    states += ["DRAIN"] if is_out else []
    states += ["DOWN"] if off or agent["status"] == _TERMINATED else []
    states += ["NOT_RESPONDING"] if agent["status"] == _SILENT else []
    return NodeNow(tuple(states), REASON if is_out else "")


def job_shown(sessions: Sequence[Object], starts: int) -> JobNow:
    """A job by its sessions, the oldest first, of which there is one; `starts` as its worker counts."""
    newest = sessions[-1]
    restarts = max(len(sessions) - 1, starts - 1, 0)
    is_running = newest["status"] == "RUNNING"
    return JobNow(newest["status"], nodes_of(newest) if is_running else (), restarts)


def main() -> None:
    """The folder of the lab is the only argument."""
    api = Api(keys_of(Path(sys.argv[1]) / "backendai", Account.SUPERADMIN))
    for row in sorted(agents(api), key=lambda row: str(row["id"])):
        columns = (str(row[name]) for name in ("id", "status", "scaling_group"))
        state = "schedulable" if row["schedulable"] else "not schedulable"
        sys.stdout.write("\t".join((*columns, state, row["occupied_slots"])) + "\n")


if __name__ == "__main__":
    main()
