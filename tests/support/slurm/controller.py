"""A real Slurm controller without node daemons, for tests: munged and slurmctld in a folder.

One whose nodes run jobs is in `working_slurm`.
"""

import contextlib
import getpass
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.slurm.installed import missing, program
from accelwatch_lab.cluster.slurm.munge import start_munge
from accelwatch_lab.cluster.waiting import until

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
        subprocess.run(["scontrol", *words], env=environ, check=True, timeout=60)

    def answers(self) -> bool:
        """Whether the controller does."""
        environ = {**os.environ, "SLURM_CONF": str(self.conf)}
        ping = subprocess.run(
            ["scontrol", "ping"], env=environ, capture_output=True, timeout=60, check=False
        )
        return b"is UP" in ping.stdout


# Nodes without a slurmd, which the controller never gives up: to be drained is all that they can.
MANY = """\
ClusterName=many
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmUser={user}
SlurmctldPidFile={folder}/slurmctld.pid
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
MpiDefault=none
SlurmdTimeout=0
NodeName={nodes} NodeAddr=127.0.0.1 CPUs=8
PartitionName=main Nodes=ALL Default=YES
"""


@contextlib.contextmanager
def slurm_of_many(folder: Path, nodes: str) -> Iterator[Slurm]:
    """A controller of the nodes of a host range; skips the test where Slurm is not installed."""
    with _controller(folder, MANY, nodes=nodes) as slurm:
        yield slurm


@contextlib.contextmanager
def slurm_cluster(folder: Path) -> Iterator[Slurm]:
    """A controller with five nodes; skips the test where Slurm is not installed."""
    (folder / "topology.conf").write_text(TOPOLOGY)
    (folder / "gres.conf").write_text("")
    with _controller(folder, CONFIGURATION) as slurm:
        yield slurm


@contextlib.contextmanager
def _controller(folder: Path, configuration: str, **names: str) -> Iterator[Slurm]:
    if absent := missing(("munged", "slurmctld", "scontrol")):
        pytest.skip(f"{', '.join(absent)} not installed")
    names |= {"host": socket.gethostname().partition(".")[0], "user": getpass.getuser()}
    slurm = Slurm(folder)
    port = free_ports(1)[0]
    slurm.conf.write_text(configuration.format(folder=folder, port=port, **names))
    (folder / "state").mkdir()
    processes = Processes(folder)
    try:
        start_munge(folder, processes)
        processes.start("slurmctld", [program("slurmctld"), "-D", "-f", str(slurm.conf)])
        until(slurm.answers, "slurmctld answers")
        yield slurm
    finally:
        processes.stop(grace_s=0.0)
