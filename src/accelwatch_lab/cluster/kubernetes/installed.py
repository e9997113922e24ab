"""Where servers of a Kubernetes version are: in the user's cache, where `make kubernetes` puts them."""

import os
from pathlib import Path
from typing import NamedTuple

from accelwatch_lab.cluster.cached_programs import cached

# The newest release, and the oldest that the action supports.
NEWEST = "1.37.2"
OLDEST = "1.31.13"
# Names the version whose servers are started, where both are there.
VERSION_VARIABLE = "ACCELWATCH_KUBERNETES_VERSION"
ETCD, API_SERVER, CONTROLLER_MANAGER = "etcd", "kube-apiserver", "kube-controller-manager"
NAMES = (ETCD, API_SERVER, CONTROLLER_MANAGER)


class Programs(NamedTuple):
    """The servers of one version, all of them there."""

    version: str
    folder: Path

    def path(self, name: str) -> str:
        """Of a program."""
        return str(self.folder / name)


def cache_folder(version: str) -> Path:
    """Where the servers of a version are kept, `1.37.2`, whether they are there or not."""
    return cached("kubernetes", version)


def requested_version() -> str:
    """The version that the environment names; the newest where it names none."""
    return os.environ.get(VERSION_VARIABLE) or NEWEST


def programs(version: str = "") -> Programs | None:
    """The servers of a version, of the requested one without; None unless all of them are there."""
    version = version or requested_version()
    folder = cache_folder(version)
    present = all(os.access(folder / name, os.X_OK) for name in NAMES)
    return Programs(version, folder) if present else None
