"""Where a release of Backend.AI is on this machine: a Debian 13 tree in the user's cache.

`make backendai` builds it. One tree serves all releases, each in a virtual environment of its own.
"""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from accelwatch_lab.cluster.cached_programs import cached

# The newest release, and the oldest that Debian 13's Python can run and the action was tried on.
NEWEST = "26.9.6"
OLDEST = "26.1.0"
# Names the release whose servers are started, where both are there.
VERSION_VARIABLE = "ACCELWATCH_BACKENDAI_VERSION"
# Of the tree without a release.
_SERVERS = ("usr/bin/etcd", "usr/bin/redis-server", "usr/bin/setpriv")
# Packages of Python that a release is installed from.
COMPONENTS = ("manager", "agent", "accelerator-mock", "install")
# What enters the tree; mounts need root besides.
_TOOLS = ("unshare", "mount", "chroot")


class Tree(NamedTuple):
    """A release, all of whose programs are there."""

    version: str
    root: Path

    @property
    def venv(self) -> str:
        """Path of the release's virtual environment, inside the tree."""
        return f"/opt/bai-{self.version}"

    @property
    def python(self) -> str:
        """Path of its Python, inside the tree."""
        return f"{self.venv}/bin/python"

    @property
    def number(self) -> tuple[int, ...]:
        """Of the release, `(26, 9, 6)`, which compares."""
        return tuple(map(int, self.version.split(".")))

    def packages(self) -> Path:
        """The folder of its Python packages, on this machine."""
        (folder,) = (self.root / self.venv[1:] / "lib").glob("python3.*/site-packages")
        return folder


def cache_folder() -> Path:
    """Where tree and prepared data are kept, whether they are there or not."""
    return cached("backendai")


def tree_root() -> Path:
    """The folder of the tree, which may not exist."""
    return cache_folder() / "root"


def requested_version() -> str:
    """The release that the environment names; the newest where it names none."""
    return os.environ.get(VERSION_VARIABLE) or NEWEST


def has_base(root: Path) -> bool:
    """Whether a tree has all servers that every release needs."""
    postgres = any(root.glob("usr/lib/postgresql/*/bin/postgres"))
    return postgres and all(os.access(root / name, os.X_OK) for name in _SERVERS)


def tree(version: str = "") -> Tree | None:
    """A release, the requested one without; None unless all of it is there and can be started."""
    release = Tree(version or requested_version(), tree_root())
    is_complete = has_base(release.root) and _has_packages(release)
    return release if is_complete and not obstacle_to_starting() else None


def _has_packages(release: Tree) -> bool:
    """Whether pip has finished with them: the list of a package's files is the last that it writes."""
    names = (f"backend_ai_{name.replace('-', '_')}-{release.version}" for name in COMPONENTS)
    lib = release.root / release.venv[1:] / "lib"
    return all(any(lib.glob(f"python3.*/site-packages/{name}.dist-info/RECORD")) for name in names)


def obstacle_to_starting() -> str:
    """Why servers of no tree can be started here; empty when they can."""
    if os.geteuid() != 0:
        return "only root can start them: they run in a Debian tree of their own"
    absent = [name for name in _TOOLS if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""


def absence(version: str = "") -> str:
    """Why the servers of a release are not started, and what to do; empty when they are there."""
    if obstacle := obstacle_to_starting():
        return obstacle
    version = version or requested_version()
    if tree(version) is not None:
        return ""
    return f"the servers of {version} are not in {cache_folder()}; `make backendai` builds them"
