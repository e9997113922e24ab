"""A real Slurm controller without node daemons, for tests: munged and slurmctld in a folder.

One whose nodes run jobs is in `working_slurm`.
"""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

CONFIGURATION = """\
ClusterName=alpha
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmUser={user}
SlurmctldPidFile={folder}/slurmctld.pid
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
GresTypes=gpu
MpiDefault=none
TopologyPlugin=topology/tree
NodeName=n[001-003] NodeAddr=10.0.0.[1-3] Gres=gpu:h100:8 CPUs=64 Feature=ib,rack-r1
NodeName=n004 NodeAddr=10.0.0.4 Gres=gpu:a100:4 CPUs=32 Feature=rack-r2
NodeName=c001 NodeAddr=10.0.1.1 CPUs=8
PartitionName=train Nodes=n[001-002] Default=YES
PartitionName=all Nodes=n[001-004],c001
PartitionName=hidden Nodes=n003 Hidden=YES
"""
TOPOLOGY = """\
SwitchName=s1 Nodes=n[001-002]
SwitchName=s2 Nodes=n[003-004],c001
SwitchName=top Switches=s1,s2
"""


class Slurm:
    """The controller and its command."""

    def __init__(self, folder: Path) -> None:
        self.conf = folder / "slurm.conf"

    def scontrol(self, *words: str) -> None:
        """Have something changed."""
        environ = {**os.environ, "SLURM_CONF": str(self.conf)}
        subprocess.run(["scontrol", *words], env=environ, check=True, timeout=10)


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def process(*words: str, log: Path, **environ: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A daemon, killed at the end."""
    with log.open("wb") as out:
        daemon = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, **environ},
            start_new_session=True,
        )
    try:
        yield daemon
    finally:
        daemon.kill()
        daemon.wait()


def installed(name: str) -> str:
    """Path of a daemon, which is not on every user's PATH."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@contextlib.contextmanager
def munge(folder: Path) -> Iterator[None]:
    """A munged of one's own; its socket is `munge.sock`."""
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    options = [
        f"--{name}={folder}/munge.{end}"
        for name, end in (
            ("socket", "sock"),
            ("key-file", "key"),
            ("log-file", "log"),
            ("pid-file", "pid"),
            ("seed-file", "seed"),
        )
    ]
    words = (installed("munged"), "--foreground", "--force", *options)
    with process(*words, log=folder / "munged.out"):
        yield


@contextlib.contextmanager
def slurm_cluster(folder: Path) -> Iterator[Slurm]:
    """A controller with five nodes; skips the test where Slurm is not installed."""
    slurmctld, _ = installed("slurmctld"), installed("scontrol")
    names = {"host": socket.gethostname().partition(".")[0], "user": getpass.getuser()}
    text = CONFIGURATION.format(folder=folder, port=free_port(), **names)
    slurm = Slurm(folder)
    slurm.conf.write_text(text)
    (folder / "topology.conf").write_text(TOPOLOGY)
    (folder / "gres.conf").write_text("")
    (folder / "state").mkdir()
    with (
        munge(folder),
        process(slurmctld, "-D", "-f", str(slurm.conf), log=folder / "slurmctld.out"),
    ):
        until_up(str(slurm.conf), folder)
        yield slurm


def until_up(conf: str, folder: Path) -> None:
    """Wait until the controller answers; fails the test when it does not."""
    environ = {**os.environ, "SLURM_CONF": conf}
    for _ in range(200):
        ping = subprocess.run(
            ["scontrol", "ping"], env=environ, capture_output=True, timeout=15, check=False
        )
        if b"is UP" in ping.stdout:
            return
        time.sleep(0.05)
    pytest.fail(f"slurmctld does not answer: {(folder / 'slurmctld.out').read_text()[-500:]}")
