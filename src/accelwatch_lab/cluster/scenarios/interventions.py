"""What a fault, an administrator or a repair does to a lab, each by its name in the scenarios."""

import contextlib
import signal
import time
from collections.abc import Callable, Mapping

from accelwatch_lab.cluster.lab import Lab, Record
from accelwatch_lab.cluster.scenarios.catalogue import Intervention
from accelwatch_lab.cluster.simulated import Simulated

# Twice as long as a node has to look healthy before it is released.
PAUSE_S = 4.0
# How much longer a controller hangs than its callers wait.
HANG_MORE_S = 2.0
_ADMIN = "swapping the power supply, back at nine"
_GPU = 3


class Interventions:
    """Does to one lab what scenarios say."""

    def __init__(self, lab: Lab, record: Record) -> None:
        self._lab = lab
        self._scheduler = lab.scheduler
        self._simulated: Simulated = lab.simulated(record)
        # Nodes with a fault, the oldest first.
        self.faulty: list[str] = []
        self.controller_hangs = False
        # Nodes whose daemon was stopped.
        self._hanging: list[str] = []

    def apply(self, intervention: Intervention, node: str) -> tuple[str, str]:
        """Do it to a node; a word and a sentence about it. Raises AccelwatchError."""
        return _APPLY[intervention](self, node)

    def restore(self) -> None:
        """Leave nothing of it behind, whatever went wrong."""
        self._start_controller("")
        with contextlib.suppress(OSError):
            self._repair_all()

    def _inject(self, node: str, **fault: object) -> None:
        self._simulated.inject({"nodes": node, **fault})
        self.faulty.append(node)

    def _lose_gpu(self, node: str) -> tuple[str, str]:
        self._inject(node, kind="lost", device=_GPU)
        return "fault", f"GPU {_GPU} of {node} has fallen off the bus"

    def _hang_node(self, node: str) -> tuple[str, str]:
        self._simulated.hang(node)
        self._lab.processes.signal(self._scheduler.daemon(node), signal.SIGSTOP)
        self.faulty.append(node)
        self._hanging.append(node)
        return (
            "fault",
            f"{node} hangs: its agent and its daemon do not respond, and the job keeps running",
        )

    def _cut_links(self, _: str) -> tuple[str, str]:
        names = list(self._scheduler.names)
        faults = [{"nodes": name, "kind": "link_down", "device": "*", "count": 4} for name in names]
        self._simulated.inject(*faults)
        self.faulty += names
        return "fault", f"the links of {names[0]} to {names[-1]} are down"

    def _repair_and_report(self, node: str) -> tuple[str, str]:
        names = self.faulty or [node]
        self._repair_all()
        return "mended", f"{', '.join(names)} {'are' if len(names) > 1 else 'is'} healthy again"

    def _repair_first(self, _: str) -> tuple[str, str]:
        first = self.faulty[0]
        self._repair([first])
        return "mended", f"{first} is healthy again"

    def _repair_all(self) -> None:
        self._repair(list(self.faulty))

    def _repair(self, nodes: list[str]) -> None:
        for node in [hung for hung in self._hanging if hung in nodes]:
            self._hanging.remove(node)
            if not self._lab.processes.signal(self._scheduler.daemon(node), signal.SIGCONT):
                # Its power was cut.
                self._scheduler.start_node(node)
        self._simulated.repair(nodes)
        self.faulty = [name for name in self.faulty if name not in nodes]

    def _stop_controller(self, _: str) -> tuple[str, str]:
        self._lab.processes.signal(self._scheduler.controller, signal.SIGSTOP)
        self.controller_hangs = True
        title = self._scheduler.controller_title
        return "hangs", f"{title} hangs: it accepts connections and does not respond"

    def _start_controller(self, _: str) -> tuple[str, str]:
        self._lab.processes.signal(self._scheduler.controller, signal.SIGCONT)
        self.controller_hangs = False
        return "back", f"{self._scheduler.controller_title} responds again"

    def _drain_as_admin(self, node: str) -> tuple[str, str]:
        self._scheduler.drain(node, _ADMIN)
        return "admin", f'drains {node}: "{_ADMIN}"'

    def _give_back(self, node: str) -> tuple[str, str]:
        self._scheduler.resume(node)
        return "admin", f"resumes {node}"

    def _wait(self, _: str) -> tuple[str, str]:
        hangs = self._scheduler.commands_wait_s + HANG_MORE_S
        pause = hangs if self.controller_hangs else PAUSE_S
        time.sleep(pause)
        return "wait", f"{pause:g} s later"


_APPLY: Mapping[Intervention, Callable[[Interventions, str], tuple[str, str]]] = {
    Intervention.LOSE_GPU: Interventions._lose_gpu,
    Intervention.HANG_NODE: Interventions._hang_node,
    Intervention.CUT_LINKS: Interventions._cut_links,
    Intervention.STOP_CONTROLLER: Interventions._stop_controller,
    Intervention.START_CONTROLLER: Interventions._start_controller,
    Intervention.WAIT: Interventions._wait,
    Intervention.ADMIN_DRAIN: Interventions._drain_as_admin,
    Intervention.GIVE_BACK: Interventions._give_back,
    Intervention.REPAIR: Interventions._repair_and_report,
    Intervention.REPAIR_FIRST: Interventions._repair_first,
}
