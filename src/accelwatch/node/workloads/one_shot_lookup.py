"""Owners of devices for a single reading: found beside it, on a thread that is waited for a moment.

What the agent looks up in the background is read once here. A source that hangs (a kubelet, a file
server) costs the owners and not the reading.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from accelwatch.node.workloads.settings import BACKENDAI, CGROUP, SLURM, WorkloadSettings
from accelwatch.node.workloads.workloads import Workloads
from accelwatch.schema.snapshot import Snapshot

# How long owners are waited for when everything else is there.
_PATIENCE_S = 1.0


class OneShotLookup:
    """Starts when built, so that devices can be read meanwhile."""

    def __init__(self, root: str = "/", patience_s: float = _PATIENCE_S) -> None:
        settings = WorkloadSettings()
        if root != "/":  # the kubelet of this machine knows nothing of another one's files
            settings = WorkloadSettings(
                root=Path(root), sources=frozenset({CGROUP, SLURM, BACKENDAI})
            )
        self._workloads = Workloads(settings)
        self._patience_s = patience_s
        self._thread = _started(self._workloads.refresh)

    def annotate(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with its owners; as it is where they cannot be had in time."""
        self._thread.join(self._patience_s)
        if self._thread.is_alive():
            return snapshot
        processes = tuple(snapshot.processes())
        self._thread = _started(lambda: self._workloads.resolve_processes(processes))
        self._thread.join(self._patience_s)
        return snapshot if self._thread.is_alive() else self._workloads.annotate(snapshot)

    def continue_in_background(self) -> None:
        """Read on in the background from now on, for a snapshot each interval."""
        if not self._thread.is_alive():
            self._workloads.start()

    def stop(self) -> None:
        """End what `continue_in_background` began."""
        self._workloads.stop()


def _started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="owners", daemon=True)
    thread.start()
    return thread
