"""Real servers of Backend.AI on loopback: PostgreSQL, Redis, etcd, a manager, and agents.

They run in the tree, each process in mounts of its own: nothing stays mounted when they have ended.
"""

import contextlib
import signal
from pathlib import Path

from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.backendai.access import Account, Keys, keys_of, write_keys
from accelwatch_lab.cluster.backendai.servers.agents import Agents
from accelwatch_lab.cluster.backendai.servers.configuration import (
    ManagerPorts,
    template,
    write_manager,
)
from accelwatch_lab.cluster.backendai.servers.data import copy_data, keep_data, set_up
from accelwatch_lab.cluster.backendai.servers.services import Services
from accelwatch_lab.cluster.backendai.servers.workers import record_worker
from accelwatch_lab.cluster.backendai.tree.inside import FOLDER, argv_inside
from accelwatch_lab.cluster.backendai.tree.installed import Tree
from accelwatch_lab.cluster.http_client import NoAnswerError, page
from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.waiting import until

MANAGER = "manager"
# Variable of the manager's processes, which a supervisor forks.
_COMPONENT = "ACCELWATCH_LAB_COMPONENT"
# A site's usual value: an agent that was silent that long is LOST.
HEARTBEAT_TIMEOUT_S = 40.0
# On two busy cores the manager starts in half a minute.
_READY_S = 240.0


class Servers:
    """They, all of whose files are in `backendai` of the processes' folder."""

    def __init__(self, processes: Processes, tree: Tree) -> None:
        self._processes = processes
        self._tree = tree
        self.folder = processes.folder / "backendai"
        self._ports = ManagerPorts(*free_ports(len(ManagerPorts._fields)))
        self._services = Services(processes, tree, self.folder, self._ports)
        self.agents = Agents(processes, tree, self.folder, self._ports.etcd)

    @property
    def version(self) -> str:
        """Of Backend.AI, `26.9.6`."""
        return self._tree.version

    @property
    def url(self) -> str:
        """Of the API."""
        return f"http://127.0.0.1:{self._ports.service}"

    @property
    def internal_url(self) -> str:
        """Of metrics, and of the page by which Prometheus finds its targets."""
        return f"http://127.0.0.1:{self._ports.internal}"

    def keys(self, account: Account) -> Keys:
        """The keys of an account. Raises AccelwatchError before the start."""
        return keys_of(self.folder, account)

    def start(self, heartbeat_timeout_s: float = HEARTBEAT_TIMEOUT_S) -> None:
        """Start all but agents, and wait until the manager answers. Raises AccelwatchError."""
        self.folder.mkdir(parents=True)
        # The user of the database passes through it; nobody else reaches what is above it.
        self.folder.chmod(0o711)
        write_manager(self.folder, self._ports, heartbeat_timeout_s)
        write_keys(self.folder, self.url)
        if copy_data(self._tree, self.folder):
            self._services.start()
        else:
            self._make_data()
        self._services.put("config/redis/addr", f"127.0.0.1:{self._ports.redis}")
        # Agents say so as well, which the manager does not notice at once.
        self._services.put("config/resource_slots/cuda.device", "count")
        self._services.execute(statements(self.folder))
        self.start_manager()

    def _make_data(self) -> None:
        """Raises AccelwatchError; the services run in the end."""
        self._services.make_database()
        self._services.start()
        set_up(self._tree, self.folder, self._services)
        self._services.stop()
        keep_data(self._tree, self.folder)
        self._services.start()

    def start_manager(self) -> None:
        """Start it, again if it has ended, and wait until it answers. Raises AccelwatchError."""
        (self.folder / MANAGER / "manager.pid").unlink(missing_ok=True)
        start = f"{FOLDER}/programs/manager_start.py"
        command = (self._tree.python, start, "-f", f"{FOLDER}/{MANAGER}/manager.toml")
        argv = argv_inside(self._tree, self.folder, command, f"{FOLDER}/{MANAGER}")
        self._processes.start(MANAGER, argv, {_COMPONENT: MANAGER})
        until(self._is_ready, "the manager answers", _READY_S)
        record_worker(self._processes, MANAGER)

    def kill_manager(self) -> None:
        """End it at once, with its workers."""
        self._processes.signal(MANAGER, signal.SIGKILL)
        self._processes.sweep({_COMPONENT: MANAGER})

    def execute(self, sql: str) -> str:
        """What SQL gives, a line a row. Raises AccelwatchError."""
        return self._services.execute(sql)

    def quit_database(self) -> None:
        """Before it is killed with everything else, which leaves shared memory; raises nothing."""
        with contextlib.suppress(AccelwatchError):
            self._services.quit()

    def stop(self) -> None:
        """End all of it at once: agents and what their sessions run, manager, services."""
        self.quit_database()
        self._processes.stop(grace_s=0)

    def _is_ready(self) -> bool:
        if not self._processes.runs(MANAGER):
            raise AccelwatchError(f"the manager has ended: {self.output_of(MANAGER)}")
        try:
            return bool(page(self.url.removeprefix("http://"), "/").get("manager"))
        except NoAnswerError:
            return False

    def output_of(self, name: str) -> str:
        """The end of what one of them has printed."""
        try:
            text = (self._processes.folder / f"{name}.out").read_text(errors="replace")
        except OSError:
            return ""
        return text[-500:].strip()


def statements(folder: Path) -> str:
    """SQL that has the manager know the secret keys of a folder."""
    rows = (keys_of(folder, account) for account in Account)
    return "".join(
        template("secret_key.sql", access_key=row.access_key, secret_key=row.secret_key)
        for row in rows
    )
