"""Starts the real agent of Backend.AI with processes of this machine instead of containers.

Runs in the tree. The dummy backend's own `execute` returns at once, so that a batch session spins the
agent's loop until the agent is lost; its list of containers is empty, so that kernels are swept after a
minute; and it ends nothing. Everything else of the agent is as it is installed.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ai.backend.agent import dummy
from ai.backend.agent.agent import ACTIVE_STATUS_SET
from ai.backend.agent.dummy.agent import DummyAgent
from ai.backend.agent.types import Container
from ai.backend.common.types import ContainerId, ContainerStatus

# Where this machine is mounted in the tree, and its PATH.
MACHINE = "/media"
MACHINE_PATH_VARIABLE = "ACCELWATCH_LAB_MACHINE_PATH"
# How often a batch session is polled, and how long a process has to end by itself.
ROUND_S = 1.0
GRACE_S = 5.0
PAUSE_S = 0.1
_processes: dict[Any, "subprocess.Popen[bytes]"] = {}


class ProcessAgent(DummyAgent):
    """The dummy agent; the startup command of a batch session is a process of this machine."""

    async def execute(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Start the command at the first call, look after it for a while at each.

        Arguments are the ids of session and kernel, and more that only containers need.
        """
        kernel_id = arguments[1]
        # A KeyError of a kernel that is gone ends the session's loop.
        kernel = self.kernel_registry[kernel_id]
        process = _processes.get(kernel_id)
        if process is None:
            process = _processes[kernel_id] = self._started(kernel, options["opts"]["exec"])
        if await _finished(process, ROUND_S):
            _processes.pop(kernel_id, None)
            return {"status": "finished", "exitCode": process.returncode}
        return {"status": "continued"}

    def _started(self, kernel: Any, command: str) -> "subprocess.Popen[bytes]":
        environ = {**os.environ, **{name: str(value) for name, value in kernel.environ.items()}}
        allocated = kernel.resource_spec.allocations.get("cuda", {})
        devices = [str(device) for slots in allocated.values() for device in slots]
        environ["NVIDIA_VISIBLE_DEVICES"] = ",".join(devices)
        environ["PATH"] = os.environ[MACHINE_PATH_VARIABLE]
        with Path(f"kernel-{kernel.kernel_id}.out").open("ab") as file:
            return subprocess.Popen(
                ["chroot", MACHINE, "/bin/sh", "-c", command],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    async def destroy_kernel(self, kernel_id: Any, container_id: Any) -> None:
        """End its process, killed where it does not end by itself."""
        process = _processes.pop(kernel_id, None)
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            if not await _finished(process, GRACE_S):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        await super().destroy_kernel(kernel_id, container_id)

    async def enumerate_containers(
        self, status_filter: Any = ACTIVE_STATUS_SET
    ) -> Sequence[tuple[Any, Any]]:
        """Each kernel that the agent knows is a container that runs."""
        if ContainerStatus.RUNNING not in status_filter:
            return []
        return [(key, self._container(key, kernel)) for key, kernel in self.kernel_registry.items()]

    def _container(self, key: Any, kernel: Any) -> Any:
        labels = {
            "ai.backend.kernel-id": str(key),
            "ai.backend.session-id": str(kernel.session_id),
            "ai.backend.agent-id": str(self.id),
        }
        identity = ContainerId(key.hex)
        return Container(identity, ContainerStatus.RUNNING, str(kernel.image), labels, [], None)


class ProcessDiscovery(dummy.DummyAgentDiscovery):
    """The dummy backend, but for its agent."""

    def get_agent_cls(self) -> Any:
        """The class of the agent."""
        return ProcessAgent


async def _finished(process: "subprocess.Popen[bytes]", limit_s: float) -> bool:
    """Whether it ends within that long."""
    for _ in range(round(limit_s / PAUSE_S)):
        if process.poll() is not None:
            return True
        await asyncio.sleep(PAUSE_S)
    return process.poll() is not None


if __name__ == "__main__":
    from ai.backend.agent.server import main

    dummy.get_agent_discovery = ProcessDiscovery
    sys.exit(main())
