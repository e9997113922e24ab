"""Real servers of Kubernetes on loopback: etcd, kube-apiserver, kube-controller-manager.

There is no kubelet and no kube-scheduler: who starts them says what nodes and pods do.
"""

import contextlib
import subprocess

from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch_lab.cluster.kubernetes.access import Access, Account, access_of, write_access
from accelwatch_lab.cluster.kubernetes.api import Api
from accelwatch_lab.cluster.kubernetes.installed import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    Programs,
)
from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.waiting import until

# Sockets in the folder, which is nobody else's: etcd lets everybody in.
_CLIENTS, _PEERS = "unix://etcd-clients:1", "unix://etcd-peers:1"
# Nobody has it (RFC 5737). Without one the server looks for an address of this machine, and ends where
# it has none but loopback's, which is refused.
_NO_ADDRESS = "192.0.2.1"
# On two busy cores it starts in five seconds.
_READY_S = 90.0


class Servers:
    """They, all of whose files are in `kubernetes` of the processes' folder."""

    def __init__(self, processes: Processes, programs: Programs) -> None:
        self._processes = processes
        self._programs = programs
        self.folder = processes.folder / "kubernetes"

    @property
    def version(self) -> str:
        """Of Kubernetes, `1.37.2`."""
        return self._programs.version

    def access(self, account: Account) -> Access:
        """The access of an account. Raises AccelwatchError before the start."""
        return access_of(self.folder, account)

    def start(self, *controller_flags: str) -> None:
        """Start all of them and wait until the API server is ready. Raises AccelwatchError."""
        self.folder.mkdir(mode=0o700, parents=True)
        port = free_ports(1)[0]
        # The API server makes a certificate at its first start, and puts its authority's beside it.
        certificate = self.folder / "certificates" / "apiserver.crt"
        write_access(self.folder, f"https://127.0.0.1:{port}", certificate)
        self._write_account_key()
        self._start_etcd()
        self.start_api_server()
        self.start_controllers(*controller_flags)

    def start_api_server(self) -> None:
        """Start it, again if it has ended, and wait until it is ready. Raises AccelwatchError."""
        key = self.folder / "account.key"
        access = self.access(Account.ADMIN)
        self._start(
            API_SERVER,
            f"--etcd-servers={_CLIENTS}",
            "--bind-address=127.0.0.1",
            f"--advertise-address={_NO_ADDRESS}",
            "--endpoint-reconciler-type=none",
            f"--secure-port={access.url.rpartition(':')[2]}",
            f"--cert-dir={access.ca_file.parent}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.96.0.0/24",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            # As distributions start it: device plug-ins, drivers and agents need such pods.
            "--allow-privileged=true",
            # Pods need no account and no token of one: nothing in them calls the API server.
            "--disable-admission-plugins=ServiceAccount",
        )
        until(self._is_ready, "the API server is ready", _READY_S)

    def start_controllers(self, *flags: str) -> None:
        """Start the controllers: without them no budget allows anything. Raises AccelwatchError."""
        self._start(
            CONTROLLER_MANAGER,
            f"--kubeconfig={self.folder / f'{Account.CONTROLLERS}.kubeconfig'}",
            "--leader-elect=false",
            # It serves nobody.
            "--secure-port=0",
            *flags,
        )

    def _start_etcd(self) -> None:
        self._start(
            ETCD,
            f"--data-dir={self.folder / 'etcd'}",
            # What it keeps goes with the folder.
            "--unsafe-no-fsync",
            *(f"--listen-client-urls={_CLIENTS}", f"--advertise-client-urls={_CLIENTS}"),
            *(f"--listen-peer-urls={_PEERS}", f"--initial-advertise-peer-urls={_PEERS}"),
            f"--initial-cluster=default={_PEERS}",
        )

    def _start(self, name: str, *flags: str) -> None:
        self._processes.start(name, (self._programs.path(name), *flags))

    def _write_account_key(self) -> None:
        """Raises UnmetError."""
        key = self.folder / "account.key"
        argv = ("openssl", "genpkey", "-algorithm", "RSA", "-out", str(key))
        try:
            subprocess.run(argv, check=True, capture_output=True, timeout=60)
        except OSError as error:
            raise UnmetError("openssl is not installed; the API server needs a key") from error
        except subprocess.SubprocessError as error:
            raise AccelwatchError(f"openssl made no key: {error}") from error

    def _is_ready(self) -> bool:
        for name in (ETCD, API_SERVER):
            if not self._processes.runs(name):
                raise AccelwatchError(f"{name} has ended: {self.output_of(name)}")
        with contextlib.closing(Api(self.access(Account.ADMIN))) as api:
            return api.is_ready()

    def output_of(self, name: str) -> str:
        """The end of what one of them has printed."""
        try:
            text = (self._processes.folder / f"{name}.out").read_text(errors="replace")
        except OSError:
            return ""
        return text[-500:].strip()
