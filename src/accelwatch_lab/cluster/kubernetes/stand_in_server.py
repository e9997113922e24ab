"""The stand-in API server with its controllers as a process, where no real servers are."""

import sys

from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.kubernetes.access import Access, Account, access_of, write_access
from accelwatch_lab.cluster.kubernetes.api import Api
from accelwatch_lab.cluster.kubernetes.installed import API_SERVER
from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.waiting import until

_MODULE = "accelwatch_lab.cluster.kubernetes.api_server"


class StandInServer:
    """It; its files are where those of the real servers would be."""

    version = "stand-in"

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self.folder = processes.folder / "kubernetes"

    def access(self, account: Account) -> Access:
        """The access of an account. Raises AccelwatchError before the start."""
        return access_of(self.folder, account)

    def start(self, *flags: str) -> None:
        """Start it and wait until it is ready. Raises AccelwatchError."""
        self.folder.mkdir(mode=0o700, parents=True)
        port = free_ports(1)[0]
        certificate = self.folder / "certificates" / "apiserver.crt"
        write_access(self.folder, f"https://127.0.0.1:{port}", certificate)
        argv = (sys.executable, "-m", _MODULE, str(port), str(self.folder), *flags)
        self._processes.start(API_SERVER, argv)
        until(self._is_ready, "the stand-in API server is ready")

    def _is_ready(self) -> bool:
        if not self._processes.runs(API_SERVER):
            raise AccelwatchError("the stand-in API server has ended")
        return Api(self.access(Account.ADMIN)).is_ready()
