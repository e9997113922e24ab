"""Which of Docker's containers have a cgroup, which is which are running.

By the systemd driver `system.slice/docker-<id>.scope`, by the cgroupfs driver `docker/<id>` (Docker's
manual, chapter on runtime metrics).
"""

import re
from pathlib import Path

from accelwatch.node.workloads.sources.cgroup_tree import CgroupTree

_DAEMON = re.compile(r"docker|docker\.service")
_CONTAINER = re.compile(r"(?:docker-)?([0-9a-f]{64})(?:\.scope)?")
_NOT_BELOW = re.compile(r"kubepods.*|user\.slice|machine\.slice|init\.scope|.*\.service")
# `system.slice/docker.service`, or v1's `<controller>/docker`.
_DEPTH = 2
# v1 has a tree for each controller, and the systemd driver one level more than the other.
_CONTAINER_DEPTH = 3


def read(root: Path) -> frozenset[str] | None:
    """Ids of running containers; None where not all of Docker's cgroups can be seen. Never raises."""
    tree = CgroupTree(root)
    if not tree.matching(tree.top, _DAEMON, _DEPTH):
        return None
    folders = tree.matching(tree.top, _CONTAINER, _CONTAINER_DEPTH, _NOT_BELOW)
    if tree.is_used_up:
        return None
    matches = (_CONTAINER.fullmatch(folder.name) for folder in folders)
    return frozenset(match[1] for match in matches if match)
