"""Agents of a lab's Backend.AI: each a node, and the work on it processes of this machine."""

import signal
from pathlib import Path

from accelwatch_lab.cluster.backendai.servers.configuration import (
    AgentPorts,
    AgentSettings,
    write_agent,
)
from accelwatch_lab.cluster.backendai.servers.workers import record_worker
from accelwatch_lab.cluster.backendai.tree.inside import FOLDER, argv_inside
from accelwatch_lab.cluster.backendai.tree.installed import Tree
from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.slurm.controller import NODE

GPUS = 8


class Agents:
    """Those of one manager."""

    def __init__(self, processes: Processes, tree: Tree, folder: Path, etcd: int) -> None:
        self._processes = processes
        self._tree = tree
        self._folder = folder
        self._etcd = etcd

    def daemon(self, agent: str) -> str:
        """Name of an agent's process."""
        return f"agent.{agent}"

    def configure(
        self, agent: str, *, host: str = "127.0.0.1", group: str = "default", gpus: int = GPUS
    ) -> None:
        """What an agent is started from; `host` is an address of loopback. Raises OSError."""
        number = 1 + len(list((self._folder / "agents").glob("*")))
        settings = AgentSettings(agent=agent, number=number, host=host, group=group, gpus=gpus)
        ports = AgentPorts(*free_ports(len(AgentPorts._fields)))
        write_agent(self._folder, self._tree, self._etcd, settings, ports)

    def start(self, agent: str) -> None:
        """Start an agent that is configured and does not run; it is ALIVE some seconds later."""
        own = self._folder / "agents" / agent
        # One that was killed has left it, and another is not started beside it.
        (own / "agent.pid").unlink(missing_ok=True)
        inside = f"{FOLDER}/agents/{agent}"
        start = f"{FOLDER}/programs/agent_start.py"
        command = (self._tree.python, start, "-f", f"{inside}/agent.toml")
        argv = argv_inside(self._tree, self._folder, command, inside)
        self._processes.start(self.daemon(agent), argv, {NODE: agent})

    def wait(self, agent: str) -> None:
        """Return when an agent that was started does its work. Raises WaitTimeoutError."""
        record_worker(self._processes, self.daemon(agent))

    def kill(self, agent: str) -> None:
        """As a node that loses its power: the agent and all work on it at once."""
        self._processes.signal(self.daemon(agent), signal.SIGKILL)
        self._processes.sweep({NODE: agent})

    def stop(self, agent: str) -> None:
        """As an administrator does: the agent says that it goes."""
        self._processes.signal(self.daemon(agent), signal.SIGTERM)
