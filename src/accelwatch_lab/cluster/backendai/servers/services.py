"""What manager and agents need: PostgreSQL, Redis and etcd, each with its data in the lab's folder."""

import base64
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.backendai.servers.configuration import ManagerPorts
from accelwatch_lab.cluster.backendai.tree.inside import (
    FOLDER,
    argv_inside,
    as_postgres,
    run_inside,
)
from accelwatch_lab.cluster.backendai.tree.installed import Tree
from accelwatch_lab.cluster.http_client import page, post
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.waiting import until

POSTGRES, REDIS, ETCD = "postgres", "redis", "etcd"
_DATABASE = "backend"
# On two busy cores.
_READY_S = 90.0
_END_S = 30.0
# A manager's pool and an agent's are small, but several tests' clients come on top.
_CONNECTIONS = 256


class Services:
    """They, in `backendai` of the processes' folder."""

    def __init__(self, processes: Processes, tree: Tree, folder: Path, ports: ManagerPorts) -> None:
        self._processes = processes
        self._tree = tree
        self._folder = folder
        self._ports = ports

    def make_database(self) -> None:
        """An empty one. Raises AccelwatchError."""
        data = self._folder / POSTGRES
        data.mkdir(mode=0o700)
        os.chown(data, *self._postgres_ids())
        options = ("--username=postgres", "--auth=trust", "--encoding=UTF8")
        self._as_postgres("initdb", f"--pgdata={FOLDER}/{POSTGRES}", *options)

    def start(self) -> None:
        """Start all three over the data that there is, and wait for them. Raises AccelwatchError."""
        ports = self._ports
        self._start(
            POSTGRES,
            *as_postgres([self._program("postgres"), "-D", f"{FOLDER}/{POSTGRES}"]),
            *("-p", str(ports.postgres), "-c", "listen_addresses=127.0.0.1"),
            *("-c", "unix_socket_directories=", "-c", f"max_connections={_CONNECTIONS}"),
            # The data goes with the folder, and nothing of it is kept elsewhere.
            *("-c", "fsync=off", "-c", "dynamic_shared_memory_type=mmap"),
        )
        flags = ("--bind", "127.0.0.1", "--save", "", "--set-proc-title", "no")
        self._start(REDIS, "redis-server", "--port", str(ports.redis), *flags)
        clients, peers = (f"http://127.0.0.1:{port}" for port in (ports.etcd, ports.etcd_peers))
        self._start(
            ETCD,
            *("etcd", "--name=lab", f"--data-dir={FOLDER}/{ETCD}", "--unsafe-no-fsync"),
            *(f"--listen-client-urls={clients}", f"--advertise-client-urls={clients}"),
            *(f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}"),
            f"--initial-cluster=lab={peers}",
        )
        until(self._are_ready, "PostgreSQL and etcd are ready", _READY_S)

    def stop(self) -> None:
        """End all three so that their data is whole. Raises AccelwatchError."""
        # PostgreSQL waits for nobody then.
        self._processes.signal(POSTGRES, signal.SIGINT)
        self._processes.signal(ETCD, signal.SIGTERM)
        self._processes.signal(REDIS, signal.SIGTERM)
        until(lambda: not any(map(self._processes.runs, (POSTGRES, ETCD, REDIS))), "ended", _END_S)

    def quit(self) -> None:
        """Have the database end at once. Raises AccelwatchError.

        One that is killed leaves shared memory to the machine.
        """
        if self._processes.signal(POSTGRES, signal.SIGQUIT):
            until(lambda: not self._processes.runs(POSTGRES), "PostgreSQL has ended", _END_S)

    def create_database(self) -> None:
        """The manager's, with nothing in it. Raises AccelwatchError."""
        self._as_postgres("createdb", *self._where(), _DATABASE)

    def execute(self, statements: str) -> str:
        """What SQL gives, a line a row, columns apart by `|`. Raises AccelwatchError."""
        options = ("--quiet", "--no-psqlrc", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1")
        return self._as_postgres("psql", *self._where(), *options, _DATABASE, text=statements)

    def put(self, key: str, value: str) -> None:
        """A key of etcd below those of Backend.AI. Raises NoAnswerError."""
        pair = {"key": f"/sorna/local/{key}", "value": value}
        body = {name: base64.b64encode(text.encode()).decode() for name, text in pair.items()}
        post(self._etcd, "/v3/kv/put", body)

    @property
    def _etcd(self) -> str:
        return f"127.0.0.1:{self._ports.etcd}"

    def _start(self, name: str, *command: str) -> None:
        self._processes.start(name, argv_inside(self._tree, self._folder, command))

    def _where(self) -> Sequence[str]:
        return ("--host=127.0.0.1", f"--port={self._ports.postgres}", "--username=postgres")

    def _as_postgres(self, name: str, *arguments: str, text: str = "") -> str:
        command = as_postgres([self._program(name), *arguments])
        return run_inside(self._tree, self._folder, command, text=text)

    def _program(self, name: str) -> str:
        """Path of a program of PostgreSQL's, inside."""
        (path,) = self._tree.root.glob(f"usr/lib/postgresql/*/bin/{name}")
        return f"/{path.relative_to(self._tree.root)}"

    def _postgres_ids(self) -> tuple[int, int]:
        """User and group, as they are numbered in the tree."""
        for line in (self._tree.root / "etc/passwd").read_text().splitlines():
            name, _, user, group, *_ = line.split(":")
            if name == POSTGRES:
                return int(user), int(group)
        raise AccelwatchError(f"{self._tree.root} has no user {POSTGRES}")

    def _are_ready(self) -> bool:
        for name in (POSTGRES, REDIS, ETCD):
            if not self._processes.runs(name):
                raise AccelwatchError(f"{name} has ended; see {name}.out in the lab's folder")
        with contextlib.suppress(AccelwatchError):
            page(self._etcd, "/health")
            self._as_postgres("pg_isready", *self._where())
            return True
        return False
