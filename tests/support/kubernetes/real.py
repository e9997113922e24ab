"""Real servers of Kubernetes for tests."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch_lab.cluster.kubernetes.installed import (
    API_SERVER,
    NAMES,
    Programs,
    programs,
    requested_version,
)
from accelwatch_lab.cluster.kubernetes.servers import Servers
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.waiting import until
from support.kubernetes.served import ServedCluster


class RealCluster(ServedCluster):
    """Servers that run, and what administrators do."""

    kind = "real"

    def __init__(self, processes: Processes, found: Programs) -> None:
        self._processes = processes
        self.servers = Servers(processes, found)
        super().__init__(self.servers.folder)

    @property
    def version(self) -> str:
        return self.servers.version

    def start(self) -> None:
        # Nodes of tests send no heartbeats; those of one that takes long must not become NotReady, nor
        # their pods unhealthy, which a budget does not protect.
        self.servers.start("--node-monitor-grace-period=1h")

    def end(self) -> None:
        self._processes.stop(grace_s=0)

    def kill_api_server(self) -> None:
        assert self._processes.signal(API_SERVER, signal.SIGKILL)
        until(lambda: not self._processes.runs(API_SERVER), "the API server has ended")

    def start_api_server(self) -> None:
        self.servers.start_api_server()


@contextlib.contextmanager
def real_cluster(folder: Path) -> Iterator[RealCluster]:
    """Servers that run in a folder; skips the test where they are not in the cache."""
    found = programs()
    if found is None:
        pytest.skip(f"the servers {', '.join(NAMES)} of {requested_version()} are not in the cache")
    cluster = RealCluster(Processes(folder), found)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.end()
