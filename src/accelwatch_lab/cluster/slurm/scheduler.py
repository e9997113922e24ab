"""A real Slurm as a lab's scheduler."""

import contextlib
import getpass
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from accelwatch.api_client.slurm.scontrol_text import pairs_of, states_of
from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch.base.names.host_ranges import expand, listed
from accelwatch_lab.cluster.scheduler import SPARES, JobNow, NodeNow
from accelwatch_lab.cluster.slurm.controller import Slurm, SlurmError
from accelwatch_lab.cluster.slurm.installed import INSTALL_HINT, missing, program
from accelwatch_lab.cluster.slurm.step_counter import script_of

# After which it sets a node down by itself; it looks for silent ones three times as often.
_SLURMD_TIMEOUT_S = 120
_ACTIONS = """\
  - name: slurm
    type: slurm
    options:
      slurm_conf: {folder}/slurm.conf
      commands: {commands}
      spares: {spares}
      probe_silent: true
      power_off: [{power}, "off", "{{node}}"]
      power_state: [{power}, "is_off", "{{node}}"]
"""


class SlurmScheduler:
    """It."""

    title = "Slurm"
    controller = controller_title = "slurmctld"
    # All its nodes are this machine.
    shows_boots = False
    commands_wait_s = 10.0
    unplayable: Mapping[str, str] = MappingProxyType({})

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.slurm = Slurm(folder, names)
        self.names: Sequence[str] = self.slurm.names
        self.processes = self.slurm.processes

    @property
    def shown_by(self) -> str:
        """A command of Slurm's."""
        return f"SLURM_CONF={self.slurm.conf} sinfo -R"

    def start(self, spares: Sequence[str]) -> None:
        """All of it. Raises AccelwatchError, UnmetError where it is not installed."""
        if absent := missing():
            raise UnmetError(
                f"Slurm is incomplete here: {', '.join(absent)} cannot be found ({INSTALL_HINT});"
                " --scheduler stand-in does without it"
            )
        self.slurm.start(slurmd_timeout_s=_SLURMD_TIMEOUT_S)
        made = ("create", "reservation", f"users={getpass.getuser()}", "flags=ignore_jobs")
        when = ("starttime=now", "duration=infinite")
        nodes = f"nodes={','.join(spares)}"
        self.slurm.scontrol(*made, *when, f"ReservationName={SPARES}", nodes)

    def cancel_jobs(self) -> None:
        """A controller that hangs is woken for it."""
        self.slurm.kill_jobs_if_it_answers()

    def actions(self) -> str:
        """The action `slurm`."""
        folder = self.slurm.folder
        return _ACTIONS.format(
            folder=folder,
            commands=Path(program("scontrol")).parent,
            spares=SPARES,
            power=f"{sys.executable}, -m, accelwatch_lab.cluster.power, {folder}",
        )

    def sinks(self) -> str:
        """None."""
        return ""

    def submit(self, count: int) -> str:
        """Id of a batch job that counts."""
        return self.slurm.submit(f"-N{count}", script=script_of(self.slurm.folder))

    def cancel(self, job: str) -> None:
        """End it."""
        with contextlib.suppress(AccelwatchError, OSError, subprocess.TimeoutExpired):
            self.slurm.run("scancel", job, check=False)

    def nodes_now(self) -> dict[str, NodeNow]:
        """Every node."""
        lines = map(pairs_of, self.slurm.scontrol("-o", "show", "nodes").splitlines())
        return {
            line["NodeName"]: NodeNow(states_of(line["State"]), line.get("Reason", ""))
            for line in lines
            if "NodeName" in line
        }

    def job_now(self, job: str) -> JobNow | None:
        """A job; None when Slurm does not know it."""
        try:
            line = pairs_of(self.slurm.job(job))
        except SlurmError:
            return None
        text = line.get("NodeList", "")
        nodes = () if text in ("", "(null)") else listed(text)
        return JobNow(
            state=line.get("JobState", ""),
            nodes=tuple(name for expression in nodes for name in expand(expression)),
            restarts=int(line.get("Restarts", "0")),
        )

    def drain(self, node: str, reason: str) -> None:
        """As an administrator does."""
        self.slurm.scontrol("update", f"node={node}", "state=drain", f"reason={reason}")

    def resume(self, node: str) -> None:
        """As an administrator does."""
        self.slurm.scontrol("update", f"node={node}", "state=resume")

    def daemon(self, node: str) -> str:
        """Its slurmd."""
        return f"slurmd.{node}"

    def start_node(self, node: str) -> None:
        """It says that it has booted."""
        self.slurm.start_node(node, booted=True)

    def output_of(self, name: str) -> str:
        """The end of what a process has printed."""
        return self.slurm.output_of(name)
