"""A real Slurm whose five nodes run jobs, for tests: munged, slurmctld and five slurmd in a folder."""

import contextlib
import getpass
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from slurm_cluster import free_port, installed, munge, process, until_up

CONFIGURATION = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CryptoType=crypto/munge
SlurmUser={user}
SlurmdUser={user}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/backfill
SchedulerParameters={scheduler}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
JobRequeue=1
ReturnToService=1
KillWait=1
MinJobAge=300
InactiveLimit=0
SlurmdTimeout=30
ResumeTimeout=60
RebootProgram=/bin/true
NodeName=n[1-5] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{nodes}] CPUs=1 RealMemory=100 State=UNKNOWN
PartitionName=main Nodes=n[1-5] Default=YES MaxTime=INFINITE State=UP
"""
NODES = ("n1", "n2", "n3", "n4", "n5")
_SIZE = len(NODES)


class WorkingSlurm:
    """The cluster, and what an administrator, a user or a fault does to it."""

    def __init__(self, folder: Path, daemons: contextlib.ExitStack) -> None:
        self.folder = folder
        self._daemons = daemons
        self.conf = folder / "slurm.conf"
        self.environ = {**os.environ, "SLURM_CONF": str(self.conf), "SLURM_TIME_FORMAT": "%s"}

    def run(self, *words: str, check: bool = True) -> str:
        """What a command of Slurm prints."""
        done = subprocess.run(
            words, env=self.environ, capture_output=True, text=True, timeout=30, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"{words}: {done.stderr.strip()}")
        return done.stdout.strip()

    def scontrol(self, *words: str, check: bool = True) -> str:
        """Have something changed or shown."""
        return self.run("scontrol", *words, check=check)

    def submit(self, *options: str, script: str = "sleep 600 & wait") -> str:
        """Id of a batch job."""
        words = ("sbatch", "--parsable", f"--output={self.folder}/job.%j.out", *options)
        return self.run(*words, f"--wrap={script}").partition(";")[0]

    def job(self, job: str) -> str:
        """A job's line."""
        return self.scontrol("-o", "show", "job", job)

    def node(self, node: str) -> str:
        """A node's line."""
        return self.scontrol("-o", "show", "node", node)

    def pid(self, daemon: str) -> int:
        """Of `slurmctld` or `slurmd.n1`."""
        return int((self.folder / f"{daemon}.pid").read_text())

    @contextlib.contextmanager
    def stopped(self, daemon: str) -> Iterator[None]:
        """A daemon that hangs, for a while."""
        pid = self.pid(daemon)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def start_node(self, node: str, *, booted: bool = False) -> None:
        """A slurmd for a node that has none; `booted` makes it say that the machine has booted.

        What the one before it has forked may hold its port for a moment, and the new one then ends.
        """
        words = [installed("slurmd"), "-D", "-f", str(self.conf), "-N", node]
        words += ["-b"] if booted else []
        log, pid = self.folder / f"{node}.out", self.folder / f"slurmd.{node}.pid"
        for _ in range(20):
            daemon = self._daemons.enter_context(process(*words, log=log))
            until(partial(_ended_or_up, daemon, pid), f"slurmd of {node} runs")
            if daemon.poll() is None:
                return
        pytest.fail(f"slurmd of {node} does not run: {log.read_text()[-500:]}")

    def clean(self) -> None:
        """No jobs, no reservations, all nodes at work."""
        whose = f"--user={getpass.getuser()}"
        if self.run("squeue", "-h"):
            self.run("scancel", "--full", "--signal=KILL", "--state=RUNNING", whose, check=False)
            self.run("scancel", whose, check=False)
            until(lambda: not self.run("squeue", "-h"), "all jobs are gone")
        for line in self.scontrol("-o", "show", "reservations").splitlines():
            if line.startswith("ReservationName="):
                self.scontrol("delete", line.split()[0])
        self.scontrol("update", f"node={','.join(NODES)}", "extra=", "comment=")
        for line in self.scontrol("-o", "show", "nodes").splitlines():
            if "DRAIN" in line or "DOWN" in line:
                self.scontrol("update", line.split()[0], "state=resume", check=False)
        until(self.is_idle, "all nodes are idle")

    def is_idle(self) -> bool:
        """Whether every node could take a job."""
        return self.scontrol("-o", "show", "nodes").count(" State=IDLE ") == len(NODES)


def _ended_or_up(daemon: "subprocess.Popen[bytes]", pid: Path) -> bool:
    ended = daemon.poll() is not None
    return ended or (pid.exists() and pid.read_text().strip() == str(daemon.pid))


def until(is_so: Callable[[], object], what: str, seconds: float = 20.0) -> None:
    """Look until it is so; fails when that takes too long."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            pytest.fail(f"not seen within {seconds:g} s: {what}")
        time.sleep(0.05)


@contextlib.contextmanager
def working_slurm(folder: Path, scheduler: str = "batch_sched_delay=1") -> Iterator[WorkingSlurm]:
    """A cluster of idle nodes; skips the test where Slurm is not installed."""
    slurmctld, _ = installed("slurmctld"), installed("slurmd")
    stack = contextlib.ExitStack()
    slurm = WorkingSlurm(folder, stack)
    host = socket.gethostname().partition(".")[0]
    ports = [free_port() for _ in range(_SIZE + 1)]
    slurm.conf.write_text(
        CONFIGURATION.format(
            folder=folder,
            host=host,
            port=ports[0],
            nodes=",".join(map(str, ports[1:])),
            user=getpass.getuser(),
            scheduler=scheduler,
        )
    )
    (folder / "state").mkdir()
    with stack:
        stack.enter_context(munge(folder))
        conf = str(slurm.conf)
        stack.enter_context(process(slurmctld, "-D", "-f", conf, log=folder / "slurmctld.out"))
        for node in NODES:
            (folder / f"spool.{node}").mkdir()
            slurm.start_node(node)
        until_up(conf, folder)
        until(slurm.is_idle, "all nodes are idle")
        try:
            yield slurm
        finally:
            slurm.run(
                "scancel", "--full", "--signal=KILL", f"--user={getpass.getuser()}", check=False
            )
