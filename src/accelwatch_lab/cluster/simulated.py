"""The lab's agents: a simulator whose scenario is changed while it runs."""

import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from accelwatch_lab.cluster.http_client import NoAnswerError, page
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.slurm.step_counter import faulty_file
from accelwatch_lab.cluster.waiting import until
from accelwatch_lab.simulator.nodes import FleetSize, Node, build

_NAME = "simulator"
_VENDOR = "nvidia"
Fault = Mapping[str, object]


def machines(count: int) -> tuple[Node, ...]:
    """The machines that the agents of a lab with so many nodes report."""
    return build(FleetSize(nodes=count, vendor=_VENDOR))


class Simulated:
    """Agents of some nodes with eight GPUs each."""

    def __init__(self, folder: Path, processes: Processes, address: str) -> None:
        """`address` is where they are served."""
        self._folder = folder
        self._processes = processes
        self.address = address
        self._file = folder / "scenario.json"

    def start(self, count: int) -> None:
        """Serve so many nodes, n001 and so on. Raises AccelwatchError."""
        self._write([])
        targets = self._folder / "targets.json"
        argv = [sys.executable, "-m", "accelwatch", "sim", "--nodes", str(count)]
        argv += ["--vendor", _VENDOR, "--ports", "one", "--listen", self.address]
        argv += ["--scenario", str(self._file), "--print-targets", str(targets)]
        self._processes.start(_NAME, argv)
        until(lambda: targets.exists() and self._seconds() is not None, "the simulator answers")

    def inject(self, *faults: Fault) -> None:
        """Have faults begin now; jobs on their nodes stand still. Raises AccelwatchError."""
        self._add(faults)
        for fault in faults:
            marker = faulty_file(self._folder, str(fault["nodes"]))
            marker.parent.mkdir(exist_ok=True)
            marker.touch()

    def hang(self, node: str) -> None:
        """Have an agent answer nobody; what runs on its node goes on. Raises AccelwatchError."""
        self._add([{"nodes": node, "kind": "node_hung"}])

    def _add(self, faults: Sequence[Fault]) -> None:
        now = self._now()
        self._change([*self._faults(), *({**fault, "at": f"{now:.3f}s"} for fault in faults)])

    def repair(self, nodes: Sequence[str]) -> None:
        """End every fault of some nodes. Raises AccelwatchError."""
        back = f"{self._now():.3f}s"
        repaired = [
            {**fault, "back": back} if fault["nodes"] in nodes and "back" not in fault else fault
            for fault in self._faults()
        ]
        for node in nodes:
            faulty_file(self._folder, node).unlink(missing_ok=True)
        self._change(repaired)

    def _change(self, faults: Sequence[Fault]) -> None:
        self._write(faults)
        self._processes.signal(_NAME, signal.SIGHUP)

    def _faults(self) -> list[dict[str, Any]]:
        faults: list[dict[str, Any]] = msgspec.json.decode(self._file.read_bytes())["faults"]
        return faults

    def _write(self, faults: Sequence[Fault]) -> None:
        """YAML that is JSON as well."""
        new = self._file.with_suffix(".new")
        new.write_bytes(msgspec.json.encode({"scenario": 1, "faults": faults}))
        new.replace(self._file)

    def _now(self) -> float:
        """Seconds since the simulator began. Raises NoAnswerError."""
        return float(page(self.address, "/sim/jobs")["time_s"])

    def _seconds(self) -> float | None:
        try:
            return self._now()
        except NoAnswerError:
            return None
