"""The machine that the benchmarks measure on: the stand-in library with devices and processes."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))

from support.machines.nvml_stand_ins import NvmlScenario  # noqa: E402 - the tests' builder lives beside the tests
from support.processes.terminated import end_children_when_terminated  # noqa: E402 - the same

GIB = 1 << 30
PEERS = ROOT / ".peers" / "bin"


class Node:
    """A stand-in node with live processes of this user, so that peers can look them up."""

    def __init__(self, devices: int = 8, processes: int = 16) -> None:
        end_children_when_terminated()
        self._folder = tempfile.TemporaryDirectory(prefix="accelwatch-bench-")
        self._sleepers = [
            subprocess.Popen(["sleep", "3600"], stdout=subprocess.DEVNULL) for _ in range(processes)
        ]
        self.scenario = NvmlScenario(Path(self._folder.name) / "node.scenario")
        self.scenario.devices(devices, "h100")
        for device in range(devices):
            self.scenario.processes(
                device,
                [
                    {"pid": sleeper.pid, "kind": "c", "memory": GIB + number, "sm": 5, "mem": 2}
                    for number, sleeper in enumerate(self._sleepers)
                ],
            )
        self.scenario.write()

    def environ(self) -> dict[str, str]:
        """The environment in which commands see the node, and share no state with other agents."""
        state = {"ACCELWATCH_STATE_DIR": str(Path(self._folder.name) / "state")}
        return {**os.environ, **self.scenario.environment(), **state}

    def close(self) -> None:
        """End the processes and remove the files."""
        for sleeper in self._sleepers:
            sleeper.kill()
            sleeper.wait()
        self._folder.cleanup()


def accelwatch(*words: str) -> list[str]:
    """The installed command's words."""
    return [str(Path(sys.executable).with_name("accelwatch")), *words]


def peer(name: str, *words: str) -> list[str] | None:
    """A peer's words, or None where `make peers` was not run."""
    path = PEERS / name
    return [str(path), *words] if path.exists() else None
