"""Backend.AI as a lab's scheduler: real servers of the newest release, where they can be started."""

import contextlib
import itertools
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import yaml

from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch_lab.cluster.backendai import requests
from accelwatch_lab.cluster.backendai.access import ACCESS_KEYS, Account, secret_file
from accelwatch_lab.cluster.backendai.api import Api
from accelwatch_lab.cluster.backendai.requests import GROUP, SPARES, is_closed
from accelwatch_lab.cluster.backendai.servers.servers import MANAGER, Servers
from accelwatch_lab.cluster.backendai.servers.workers import worker_of
from accelwatch_lab.cluster.backendai.showing import job_shown, node_shown
from accelwatch_lab.cluster.backendai.specifications import JOB, write_specifications
from accelwatch_lab.cluster.backendai.tree.installed import (
    Tree,
    absence,
    requested_version,
    tree,
    tree_root,
)
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.scheduler import JobNow, NodeNow
from accelwatch_lab.cluster.slurm.step_counter import job_folder
from accelwatch_lab.cluster.starts import starts_of
from accelwatch_lab.cluster.waiting import until

# Five heartbeats; the usual 40 s would be most of the scenario of a hung node.
_HEARTBEAT_TIMEOUT_S = 15.0
# A lab's sessions end within a second or never.
_FORCE_AFTER_S = 5.0
# Four agents on two busy cores.
_ALIVE_S = 180.0
_SESSION_S = 120.0
_WORKER = "accelwatch_lab.cluster.backendai.worker"
_SHOWING = "accelwatch_lab.cluster.backendai.showing"
# Another user's, so that the session has no room but on the spare.
_NOTEBOOK = "notebook"
_NO_HOLDER = (
    "Backend.AI does not record who made an agent unschedulable, so nobody can see that an"
    " administrator has taken over an agent that the hub holds"
)


class BackendAiScheduler:
    """It."""

    controller = worker_of(MANAGER)
    controller_title = "the manager"
    # All its agents are this machine.
    shows_boots = False
    commands_wait_s = 5.0
    unplayable: Mapping[str, str] = MappingProxyType({"admin-in-between": _NO_HOLDER})

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._folder = folder
        self.names: Sequence[str] = tuple(names)
        self.processes = Processes(folder)
        self._version = requested_version()
        self.title = f"Backend.AI {self._version}"
        self._servers = Servers(self.processes, tree() or Tree(self._version, tree_root()))

    @property
    def shown_by(self) -> str:
        """A program that prints what the manager has of its agents."""
        return shlex.join((sys.executable, "-m", _SHOWING, str(self._folder)))

    def start(self, spares: Sequence[str]) -> None:
        """All of it. Raises AccelwatchError, UnmetError where it cannot be started."""
        if reason := absence():
            raise UnmetError(f"Backend.AI cannot be started: {reason}")
        self._servers.start(_HEARTBEAT_TIMEOUT_S)
        requests.make_group(self._admin, SPARES)
        for number, name in enumerate(self.names, 1):
            group = SPARES if name in spares else GROUP
            self._servers.agents.configure(name, host=f"127.0.0.{number}", group=group)
            self._servers.agents.start(name)
        for name in self.names:
            self._servers.agents.wait(name)
        until(self._is_up, "all agents are ALIVE", _ALIVE_S)
        others = [name for name in self.names if name not in spares]
        where = [others[-1]]
        requests.create_session(self._admin, _NOTEBOOK, "sleep infinity", gpus=1, agent_list=where)
        until(self._has_notebook, f"the notebook runs on {others[-1]}", _SESSION_S)

    @property
    def _admin(self) -> Api:
        """Raises AccelwatchError before the start."""
        return Api(self._servers.keys(Account.SUPERADMIN))

    def _is_up(self) -> bool:
        alive = [row["id"] for row in requests.agents(self._admin) if row["status"] == "ALIVE"]
        return set(alive) >= set(self.names)

    def _has_notebook(self) -> bool:
        return requests.is_running(requests.sessions(self._admin, _NOTEBOOK))

    def cancel_jobs(self) -> None:
        """They end with their agents; a database that is killed would leave shared memory."""
        self._servers.quit_database()

    def actions(self) -> str:
        """The action `backendai`."""
        power = [sys.executable, "-m", "accelwatch_lab.cluster.power", str(self._folder)]
        server = {
            "url": self._servers.keys(Account.SUPERADMIN).url,
            "access_key": ACCESS_KEYS[Account.SUPERADMIN],
            "secret_key_file": str(secret_file(self._servers.folder, Account.SUPERADMIN)),
            "timeout_s": self.commands_wait_s,
        }
        options = {
            "server": server,
            "groups": {GROUP: {"spares": SPARES}},
            "power_off": [*power, "off", "{node}"],
            "power_state": [*power, "is_off", "{node}"],
            "force_after_s": _FORCE_AFTER_S,
            "specifications": write_specifications(self._version, self._folder),
        }
        entry = {"name": "backendai", "type": "backendai", "options": options}
        text: str = yaml.safe_dump([entry], sort_keys=False, width=1000)
        return "".join(f"  {line}\n" for line in text.splitlines())

    def sinks(self) -> str:
        """None."""
        return ""

    def submit(self, count: int) -> str:
        """Name of a batch session over so many agents."""
        # A checkpoint stays when its session has ended: another one is not to go on from it.
        numbers = (number for number in itertools.count(1) if not self._was_job(f"{JOB}{number}"))
        name = f"{JOB}{next(numbers)}"
        argv = (sys.executable, "-m", _WORKER, str(self._folder), name)
        requests.create_session(self._admin, name, f"exec {shlex.join(argv)}", nodes=count)
        return name

    def _was_job(self, name: str) -> bool:
        return job_folder(self._folder, name).exists() or self.job_now(name) is not None

    def cancel(self, job: str) -> None:
        """End it."""
        with contextlib.suppress(AccelwatchError):
            for session in requests.sessions(self._admin, job) if job else ():
                if not is_closed(session):
                    requests.end_session(self._admin, session["session_id"])

    def nodes_now(self) -> dict[str, NodeNow]:
        """Every agent, in Slurm's words."""
        running = {record.name for record in self.processes.running()}
        return {
            row["id"]: node_shown(
                row, busy=_is_busy(row["occupied_slots"]), off=self.daemon(row["id"]) not in running
            )
            for row in requests.agents(self._admin)
        }

    def job_now(self, job: str) -> JobNow | None:
        """A session with its successors; None when there is none."""
        rows = requests.sessions(self._admin, job) if job else []
        return job_shown(rows, starts_of(self._folder, job)) if rows else None

    def drain(self, node: str, reason: str) -> None:
        """As an administrator does; the reason is written nowhere."""
        del reason
        requests.modify_agent(self._admin, node, schedulable=False)

    def resume(self, node: str) -> None:
        """As an administrator does."""
        requests.modify_agent(self._admin, node, schedulable=True)

    def daemon(self, node: str) -> str:
        """Name of the process that answers for its agent."""
        return worker_of(self._servers.agents.daemon(node))

    def start_node(self, node: str) -> None:
        """Its agent, where none runs."""
        self._servers.agents.start(node)
        self._servers.agents.wait(node)

    def output_of(self, name: str) -> str:
        """The end of what a process has printed."""
        return self._servers.output_of(name)


def _is_busy(occupied_slots: str) -> bool:
    """Whether anything is used, as the manager writes it."""
    return any(float(amount) for amount in json.loads(occupied_slots).values())
