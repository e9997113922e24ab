"""A made-up node below a folder: processes with cgroups and environments, pods' log folders, jobs."""

import os
from collections.abc import Mapping
from pathlib import Path

BOOT = 1_700_000_000
TICKS = os.sysconf("SC_CLK_TCK")
UID = "0b1c2d3e-1111-2222-3333-444455556666"
UID_ = UID.replace("-", "_")
CONTAINER = "4f" * 32


class FakeNode:
    """Writes what the kernel, the kubelet and Slurm would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "proc").mkdir(parents=True)
        (root / "proc/stat").write_text(f"cpu 1 2 3\nbtime {BOOT}\n")

    def process(
        self,
        pid: int,
        cgroup: str = "0::/\n",
        environ: Mapping[str, str] | None = None,
        *,
        uid: int = 4242,
        age: int = 100,
    ) -> float:
        """Start a process; returns its start time in Unix seconds."""
        folder = self.root / "proc" / str(pid)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "comm").write_text("python3\n")
        (folder / "status").write_text(f"Name:\tpython3\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        (folder / "stat").write_text(f"{pid} (py) S {'0 ' * 18}{age * TICKS} 0 0\n")
        (folder / "cgroup").write_text(cgroup)
        content = "".join(f"{name}={value}\0" for name, value in (environ or {}).items())
        (folder / "environ").write_bytes(content.encode())
        return float(BOOT + age)

    def pod(self, namespace: str, name: str, uid: str, *containers: str) -> None:
        """Log folders of a pod."""
        folder = self.root / "var/log/pods" / f"{namespace}_{name}_{uid}"
        folder.mkdir(parents=True)
        for container in containers:
            (folder / container).mkdir()

    def container_log(self, namespace: str, pod: str, name: str, container: str) -> None:
        """Link to a container's log."""
        folder = self.root / "var/log/containers"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{pod}_{namespace}_{name}-{container}.log").symlink_to("/nowhere")

    def cgroup(self, path: str, *pids: int) -> None:
        """A cgroup and its processes."""
        folder = self.root / "sys/fs/cgroup" / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))

    def file(self, path: str, content: str | bytes) -> Path:
        """Any file."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return target
