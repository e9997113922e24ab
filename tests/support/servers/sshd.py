"""A real sshd on loopback, without root and with keys of its own: one port for each kind of host."""

import contextlib
import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.processes.waiting import wait_until
from support.servers.ports import free_port

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
SSH = shutil.which("ssh")
MISSING = "needs openssh-server and openssh-client"
_COMMON = """\
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile {folder}/sshd.pid
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
MaxStartups {startups}
"""


class SshSite:
    """A running sshd, and the configuration of ssh in which its hosts have names."""

    def __init__(self, folder: Path, ports: Mapping[str, int]) -> None:
        self.folder = folder
        self.config = folder / "ssh_config"
        self.ports = dict(ports)

    def name(self, name: str, port: int, *options: str) -> None:
        """Another host for ssh, with options of its own."""
        lines = [f"Host {name}", "HostName 127.0.0.1", f"Port {port}", *options]
        with self.config.open("a") as file:
            file.write("\n  ".join(lines) + "\n")

    def settle(self) -> None:
        """No more names; what all have in common comes last, since ssh takes what it reads first."""
        with self.config.open("a") as file:
            file.write(
                f"Host *\n  User {getpass.getuser()}\n  IdentityFile {self.folder}/key\n"
                f"  IdentitiesOnly yes\n  IdentityAgent none\n  GlobalKnownHostsFile none\n"
                f"  UserKnownHostsFile {self.folder}/known_hosts\n"
            )

    def sessions(self) -> list[int]:
        """Processes of sshd beside the one that listens."""
        listening = int((self.folder / "sshd.pid").read_text())
        return [pid for pid in _group(listening) if pid != listening]


@contextmanager
def ssh_site(folder: Path, hosts: Mapping[str, str], startups: str = "100") -> Iterator[SshSite]:
    """Hosts by name, each with what sshd_config says of it (`ForceCommand ...`).

    `startups` are the connections that may be open before a login (`MaxStartups`).
    """
    assert SSHD is not None
    for name in ("host_key", "key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", folder / name],
            check=True,
        )
    (folder / "authorized_keys").write_bytes((folder / "key.pub").read_bytes())
    ports = {name: free_port() for name in hosts}
    lines = [
        _COMMON.format(folder=folder, startups=startups),
        *(f"Port {port}" for port in ports.values()),
    ]
    for name, options in hosts.items():
        lines += [f"Match LocalPort {ports[name]}", *(f"  {line}" for line in options.splitlines())]
    (folder / "sshd_config").write_text("\n".join(lines) + "\n")
    site = SshSite(folder, ports)
    public = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(
        "".join(f"[127.0.0.1]:{port} {public}" for port in ports.values())
    )
    for name, port in ports.items():
        site.name(name, port)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=log, start_new_session=True
        )
    try:
        wait_until(lambda: _listens(site) or process.poll() is not None)
        assert process.poll() is None, (folder / "sshd.log").read_text()
        yield site
    finally:
        for pid in _group(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def _listens(site: SshSite) -> bool:
    pid = site.folder / "sshd.pid"
    return pid.exists() and bool(pid.read_text().strip())


def _group(leader: int) -> list[int]:
    """A process and all below it."""
    pids = [leader]
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # it has just ended
                pids += map(int, task.read_text().split())
    return pids
