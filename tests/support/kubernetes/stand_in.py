"""The stand-in API server for tests: the same face as the real servers', and what it alone can do."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from accelwatch_lab.cluster.kubernetes.access import write_access
from accelwatch_lab.cluster.kubernetes.api_server.certificate import context_of
from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.controllers.running import ControllerName
from accelwatch_lab.cluster.kubernetes.api_server.server import serve_on_thread
from accelwatch_lab.cluster.kubernetes.api_server.verbs.discovery import VERSION
from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.thread_server import ThreadServer
from support.kubernetes.served import ServedCluster


class StandInCluster(ServedCluster):
    """A stand-in on a thread of its own, and what administrators do.

    A test may use `server.faults`, `server.log`, `server.access` and `server.clock` as it likes; its
    objects belong to the thread, and are read and written by requests.
    """

    kind = "stand-in"

    def __init__(
        self, folder: Path, controllers: Sequence[ControllerName] = tuple(ControllerName)
    ) -> None:
        super().__init__(folder)
        self._controllers = controllers
        self.server = Cluster()
        self._serving: ThreadServer[str] | None = None

    @property
    def version(self) -> str:
        return VERSION

    def start(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        url = f"https://127.0.0.1:{free_ports(1)[0]}"
        context_of(self.folder / "certificates")
        write_access(self.folder, url, self.folder / "certificates" / "apiserver.crt")
        self.server.access.read(self.folder / "tokens.csv")
        self.start_api_server()

    def end(self) -> None:
        if self._serving is not None:
            self._serving.stop()
            self._serving = None

    def kill_api_server(self) -> None:
        self.end()

    def start_api_server(self) -> None:
        port = int(self.access().url.rpartition(":")[2])
        tls = context_of(self.folder / "certificates")
        self._serving = serve_on_thread(self.server, port, tls, self._controllers)

    def compact(self) -> None:
        """Have every watch and every list in pages begin again: 410."""
        self._running.call(self.server.compact)

    def drop_watches(self) -> None:
        """End every watch."""
        self._running.call(self.server.store.drop_watches)

    @property
    def _running(self) -> ThreadServer[str]:
        assert self._serving is not None, "it does not run"
        return self._serving


@contextlib.contextmanager
def stand_in_cluster(
    folder: Path, controllers: Sequence[ControllerName] = tuple(ControllerName)
) -> Iterator[StandInCluster]:
    """A stand-in that runs, with its files in a folder."""
    cluster = StandInCluster(folder, controllers)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.end()
