"""What is looked up, and where. Paths are used as they are; `root` moves /proc, /sys and the rest."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

PODRESOURCES, CGROUP, SLURM = "podresources", "cgroup", "slurm"
BACKENDAI = "backendai"
SOURCES = frozenset({PODRESOURCES, CGROUP, SLURM, BACKENDAI})


def source_of(scheduler: str) -> str:
    """The source of this scheduler's jobs: Backend.AI's sessions can be left out by themselves."""
    return BACKENDAI if scheduler == BACKENDAI else SLURM


class WorkloadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `Workloads`; the defaults suit a host that mounts nothing elsewhere."""

    # `podresources`: the kubelet; `cgroup`: containers of processes; `slurm`: batch jobs;
    # `backendai`: sessions.
    sources: frozenset[str] = SOURCES
    # Prefix of /proc, /sys, /var/log/containers and /var/lib/docker.
    root: Path = Path("/")
    kubelet_socket: Path = Path("/var/lib/kubelet/pod-resources/kubelet.sock")
    pod_logs: Path = Path("/var/log/pods")
    # Folders a Slurm prolog writes: a file per device, with job ids or a JSON object.
    job_dirs: tuple[Path, ...] = ()
    # Folder of Backend.AI's scratch folders; that of its agent's configuration when None.
    scratch_root: Path | None = None
    # A scheduler's index of a GPU to a uuid, serial, PCI id, device node or name, where the order
    # differs.
    gpu_order: Mapping[str, str] = {}
    interval_s: float = 10.0
    kubelet_timeout_s: float = 5.0
    # How long the kubelet's last good answer stands when it does not answer any more.
    keep_s: float = 600.0
