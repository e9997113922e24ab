"""Which pods have a cgroup, which is which pods have not ended.

The kubelet's pod resources may still name pods that have completed, while their devices are given to
others (kubernetes#119423, kubernetes#132020).
"""

import re
from pathlib import Path

from accelwatch.node.workloads.sources.cgroup_tree import CgroupTree

_BASE = re.compile(r"(?:.+-)?kubepods(?:\.slice)?")
_POD = re.compile(
    r"(?:.+-)?pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?"
)
_NOT_BELOW = re.compile(r"user\.slice|machine\.slice|.*\.service")
# kind nests it: `docker/<id>/kubelet.slice/kubelet-kubepods.slice`.
_BASE_DEPTH = 4
# Guaranteed pods are right below, others below their class of service.
_POD_DEPTH = 2


def read(root: Path) -> frozenset[str]:
    """Uids of pods that have a cgroup; empty where no pod's can be seen. Never raises."""
    tree = CgroupTree(root)
    uids: set[str] = set()
    for base in tree.matching(tree.top, _BASE, _BASE_DEPTH, _NOT_BELOW):
        for folder in tree.matching(base, _POD, _POD_DEPTH):
            if match := _POD.fullmatch(folder.name):
                uids.add(match[1].replace("_", "-"))
    return frozenset(uids)
