"""A real Slurm in a folder: munged, slurmctld and a slurmd a node, all on loopback."""

import contextlib
import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.processes import FOLDER_VARIABLE, Processes
from accelwatch_lab.cluster.slurm.configuration import CGROUP_CONF, NEEDS_CGROUP_CONF, slurm_conf
from accelwatch_lab.cluster.slurm.installed import plugin_folder, program, slurm_version
from accelwatch_lab.cluster.slurm.munge import start_munge
from accelwatch_lab.cluster.waiting import until

# Variable of a slurmd, and of what it begins.
NODE = "ACCELWATCH_LAB_NODE"
_COMMAND_S = 30.0
# Nodes register one after another, which is slow beside other work.
_IDLE_S = 60.0
_STARTS = 20


class SlurmError(AccelwatchError):
    """A command of Slurm has failed; the message has what it said."""


class Slurm:
    """The cluster, and what an administrator, a user or a fault does to it."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder = folder
        self.names = tuple(names)
        self.conf = folder / "slurm.conf"
        self.processes = Processes(folder)
        self.environ = {**os.environ, "SLURM_CONF": str(self.conf), "SLURM_TIME_FORMAT": "%s"}

    def start(
        self,
        scheduler: str = "batch_sched_delay=1",
        *,
        slurmd_timeout_s: int = 30,
        message_timeout_s: int = 10,
        reboot_program: str = "/bin/true",
    ) -> None:
        """Start all of it and wait until its nodes are idle. Raises AccelwatchError."""
        slurmctld = program("slurmctld")
        program("slurmd")
        ports = free_ports(len(self.names) + 1)
        text = slurm_conf(
            self.folder,
            self.names,
            ports,
            scheduler=scheduler,
            slurmd_timeout_s=slurmd_timeout_s,
            message_timeout_s=message_timeout_s,
            reboot_program=reboot_program,
            plugins=plugin_folder(),
        )
        self.conf.write_text(text)
        if slurm_version() >= NEEDS_CGROUP_CONF:
            self.conf.with_name("cgroup.conf").write_text(CGROUP_CONF)
        (self.folder / "state").mkdir(exist_ok=True)
        start_munge(self.folder, self.processes)
        self.processes.start("slurmctld", [slurmctld, "-D", "-f", str(self.conf)])
        for name in self.names:
            (self.folder / f"spool.{name}").mkdir(exist_ok=True)
            self.start_node(name)
        until(self.answers, f"slurmctld answers; it says: {self.output_of('slurmctld')}")
        until(self.is_idle, "all nodes are idle", _IDLE_S)

    def stop(self, grace_s: float = 0.0) -> None:
        """End all of it, jobs first."""
        self.kill_jobs_if_it_answers()
        self.processes.stop(grace_s)

    def run(self, *argv: str, check: bool = True) -> str:
        """What a command of Slurm prints. Raises SlurmError."""
        environ = {**self.environ, FOLDER_VARIABLE: str(self.folder)}
        completed = subprocess.run(
            argv, env=environ, capture_output=True, text=True, timeout=_COMMAND_S, check=False
        )
        if check and completed.returncode:
            raise SlurmError(f"{' '.join(argv)}: {completed.stderr.strip()}")
        return completed.stdout.strip()

    def scontrol(self, *arguments: str, check: bool = True) -> str:
        """Have something changed or shown. Raises SlurmError."""
        return self.run("scontrol", *arguments, check=check)

    def submit(self, *options: str, script: str = "sleep 600 & wait") -> str:
        """Id of a batch job."""
        argv = ("sbatch", "--parsable", f"--output={self.folder}/job.%j.out", *options)
        return self.run(*argv, f"--wrap={script}").partition(";")[0]

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
        """Stop a daemon for the time of this context."""
        pid = self.pid(daemon)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def start_node(self, node: str, *, booted: bool = False) -> None:
        """A slurmd for a node that has none; `booted` makes it say that the machine has booted.

        What the one before it has forked may hold its port for a moment, and the new one then ends.
        Raises SlurmError.
        """
        argv = [program("slurmd"), "-D", "-f", str(self.conf), "-N", node]
        argv += ["-d", program("slurmstepd")]  # the one beside it, not the one it was built for
        argv += ["-b"] if booted else []
        pid = self.folder / f"slurmd.{node}.pid"
        for _ in range(_STARTS):
            daemon = self.processes.start(f"slurmd.{node}", argv, {NODE: node})
            until(partial(_exited_or_up, daemon, pid), f"slurmd of {node} runs")
            if daemon.poll() is None:
                return
        raise SlurmError(f"slurmd of {node} does not run: {self.output_of(f'slurmd.{node}')}")

    def restart_controller(self, *, lose_state: bool = False) -> None:
        """Restart the controller, with its state or without. Raises AccelwatchError.

        A killed one loses what it received in the last seconds; one that is stopped saves all.
        """
        self.processes.signal("slurmctld", signal.SIGKILL if lose_state else signal.SIGTERM)
        until(lambda: not self.processes.runs("slurmctld"), "slurmctld has ended")
        if lose_state:
            shutil.rmtree(self.folder / "state")
            (self.folder / "state").mkdir()
        argv = [program("slurmctld"), "-D", "-f", str(self.conf)]
        self.processes.start("slurmctld", argv)
        until(self.answers, f"slurmctld answers; it says: {self.output_of('slurmctld')}")

    def kill_jobs(self) -> None:
        """End all jobs of this user at once."""
        whose = f"--user={getpass.getuser()}"
        self.run("scancel", "--full", "--signal=KILL", "--state=RUNNING", whose, check=False)
        self.run("scancel", whose, check=False)

    def kill_jobs_if_it_answers(self) -> None:
        """The same, before it is ended; a controller that hangs is woken for it."""
        if self.processes.signal("slurmctld", signal.SIGCONT):
            with contextlib.suppress(subprocess.TimeoutExpired, OSError):
                self.kill_jobs()

    def clean(self) -> None:
        """No jobs, no reservations, all nodes at work. Raises AccelwatchError."""
        if self.run("squeue", "-h"):
            self.kill_jobs()
            until(lambda: not self.run("squeue", "-h"), "all jobs are gone")
        for line in self.scontrol("-o", "show", "reservations").splitlines():
            if line.startswith("ReservationName="):
                self.scontrol("delete", line.split()[0])
        self.scontrol("update", f"node={','.join(self.names)}", "extra=", "comment=")
        until(self._resumed, "all nodes are idle", _IDLE_S)

    def _resumed(self) -> bool:
        """Whether every node could run a job; those that could not are resumed.

        Again and again: a daemon started lately may report a boot after it was resumed, for which
        the controller sets its node down.
        """
        for line in self.scontrol("-o", "show", "nodes").splitlines():
            if "DRAIN" in line or "DOWN" in line:
                self.scontrol("update", line.split()[0], "state=resume", check=False)
        return self.is_idle()

    def is_idle(self) -> bool:
        """Whether every node could run a job."""
        return self.scontrol("-o", "show", "nodes").count(" State=IDLE ") == len(self.names)

    def answers(self) -> bool:
        """Whether the controller answers."""
        return "is UP" in self.scontrol("ping", check=False)

    def output_of(self, name: str) -> str:
        """The end of what a daemon has printed."""
        try:
            return (self.folder / f"{name}.out").read_text(errors="replace")[-500:].strip()
        except OSError:
            return ""


def _exited_or_up(daemon: "subprocess.Popen[bytes]", pid: Path) -> bool:
    exited = daemon.poll() is not None
    return exited or (pid.exists() and pid.read_text().strip() == str(daemon.pid))
