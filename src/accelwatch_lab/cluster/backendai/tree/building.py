"""Builds a release's tree: Debian 13 by debootstrap, Backend.AI in a virtual environment in it.

Needs root, debootstrap, a mirror of Debian and one of Python packages, and 2 GB.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch_lab.cluster.backendai.tree.installed import (
    COMPONENTS,
    Tree,
    cache_folder,
    has_base,
    obstacle_to_starting,
    tree,
    tree_root,
)

_SUITE = "trixie"
_PACKAGES = (
    "python3-venv",
    "ca-certificates",
    "redis-server",
    "etcd-server",
    "postgresql",
    "procps",
)
# The releases import pkg_resources, which newer ones no longer have.
_SETUPTOOLS = "setuptools<81"
_MIRROR_FILES = (Path("/etc/apt/sources.list.d/debian.sources"),)
_USUAL_MIRROR = "https://deb.debian.org/debian"
# The base has 0.7 GB, each release 0.7 GB; the data of a lab and what pip unpacks come on top.
ROOM_BYTES = 3_000_000_000


def obstacle_to_building(room_bytes: int = ROOM_BYTES) -> str:
    """Why no tree can be built here; empty when it can, as far as that shows before."""
    if obstacle := obstacle_to_starting():
        return obstacle
    if not has_base(tree_root()) and shutil.which("debootstrap") is None:
        return "debootstrap is not installed (on Debian and Ubuntu: apt-get install debootstrap)"
    free = shutil.disk_usage(_existing(cache_folder())).free
    if free < room_bytes:
        return f"{cache_folder()} needs {room_bytes / 1e9:.0f} GB, {free / 1e9:.1f} GB are free"
    return ""


def built(version: str, on_progress: Callable[[str], None] = lambda _: None) -> Tree:
    """A release, built now unless it is there. Raises UnmetError, AccelwatchError.

    What is half built is never used: Debian's tree is made in a folder beside it, and what pip has not
    finished is no release.
    """
    release = tree(version)
    if release is not None:
        return release
    if obstacle := obstacle_to_building():
        raise UnmetError(obstacle)
    root = tree_root()
    if not has_base(root):
        on_progress(f"Debian 13 with PostgreSQL, Redis and etcd in {root}")
        _build_base(root)
    on_progress(f"Backend.AI {version}")
    _install(Tree(version, root))
    release = tree(version)
    if release is None:
        raise AccelwatchError(f"{root} has no complete Backend.AI {version}")
    return release


def _build_base(root: Path) -> None:
    new = root.with_name(f"{root.name}.{os.getpid()}")
    new.parent.mkdir(parents=True, exist_ok=True)
    include = f"--include={','.join(_PACKAGES)}"
    try:
        _run(("debootstrap", "--variant=minbase", include, _SUITE, str(new), _mirror()))
        new.replace(root)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _install(release: Tree) -> None:
    """Into a virtual environment in the tree, over the network of this machine."""
    root = release.root
    for file in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        if Path("/", file).exists():
            shutil.copyfile(Path("/", file), root / file)
    chroot = ("chroot", str(root))
    _run((*chroot, "python3", "-m", "venv", release.venv))
    packages = [f"backend-ai-{component}=={release.version}" for component in COMPONENTS]
    # One of the dependencies exists as source only: no --only-binary.
    pip = ("-m", "pip", "install", "-q", "--prefer-binary", *packages, _SETUPTOOLS)
    # A folder of wheels that the environment names is not in the tree.
    _run((*chroot, "env", "-u", "PIP_FIND_LINKS", release.python, *pip))


def _mirror() -> str:
    """That of this machine's package sources, else Debian's own."""
    for file in _MIRROR_FILES:
        for line in file.read_text().splitlines() if file.exists() else ():
            if line.startswith("URIs:"):
                return line.split()[1]
    return _USUAL_MIRROR


def _run(argv: Sequence[str]) -> None:
    try:
        completed = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UnmetError(f"{argv[0]} cannot be run: {error.strerror}") from error
    if completed.returncode:
        text = (completed.stderr or completed.stdout).strip()[-500:]
        raise AccelwatchError(f"{argv[0]} failed: {text}")


def _existing(folder: Path) -> Path:
    """A folder, or the nearest above it that there is."""
    while not folder.exists():
        folder = folder.parent
    return folder
