"""Which mounted file systems can be measured without a risk of hanging."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec

_ESCAPE = re.compile(r"\\([0-7]{3})")
LOCAL_TYPES = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs", "bcachefs", "vfat", "ntfs3"}
)
_MEMORY_MOUNTS = frozenset({"/dev/shm", "/tmp"})  # noqa: S108 - names to look for, nothing is written
# Types that no server, user process or automounter stands behind.
HARMLESS_TYPES = LOCAL_TYPES | frozenset(
    {"tmpfs", "ramfs", "devtmpfs", "overlay", "squashfs", "iso9660", "proc", "sysfs", "rootfs"}
    | {"cgroup", "cgroup2", "devpts", "mqueue", "hugetlbfs", "debugfs", "tracefs", "securityfs"}
    | {"pstore", "bpf", "configfs", "efivarfs", "nsfs", "binfmt_misc", "fusectl", "rpc_pipefs"}
    | {"selinuxfs", "resctrl", "nfsd", "none"}
)


class Mount(msgspec.Struct, frozen=True):
    """One line of a mount table."""

    source: str
    mountpoint: str
    type: str


def parse(text: str) -> list[Mount]:
    """Lines of /proc/PID/mounts, fstab(5) form, octal escapes undone."""
    fields = [line.split() for line in text.splitlines()]
    return [
        Mount(_plain(line[0]), _plain(line[1]), line[2])
        for line in fields
        if len(line) >= 4 and line[1].startswith("/")
    ]


def _plain(field: str) -> str:
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 8)), field)


def measurable(mounts: Iterable[Mount], limit: int) -> list[Mount]:
    """Local file systems, each once, that can be reached without passing a mount that could hang.

    Looking up a path under an NFS, FUSE or automounter mount queries that mount, even when the last part
    of the path is local.
    """
    mounts = list(mounts)
    risky = _risky(mounts)
    chosen: dict[str, Mount] = {}
    for mount in mounts:
        memory = mount.type == "tmpfs" and mount.mountpoint in _MEMORY_MOUNTS
        if mount.type not in LOCAL_TYPES and not memory:
            continue
        path = PurePosixPath(mount.mountpoint)
        if path in risky or any(parent in risky for parent in path.parents):
            continue
        chosen.setdefault(mount.mountpoint if memory else mount.source, mount)
    return list(chosen.values())[:limit]


def _risky(mounts: Iterable[Mount]) -> set[PurePosixPath]:
    return {PurePosixPath(mount.mountpoint) for mount in mounts if mount.type not in HARMLESS_TYPES}


# As many as the kernel follows (path_resolution(7)).
_MOST_LINKS = 40


def safe_path(root: Path, path: PurePosixPath, mounts: Iterable[Mount]) -> Path | None:
    """Where a path leads, its links followed under the root; None where the way passes a risky mount.

    Only names are looked up, one after the other, each in a folder that is known to be safe.
    """
    risky = _risky(mounts)
    at, left, links = PurePosixPath("/"), list(path.parts[1:]), 0
    while left:
        name = left.pop(0)
        at = at.parent if name == ".." else at / name
        if at in risky:
            return None
        try:
            target = PurePosixPath((root / at.relative_to("/")).readlink())
        except OSError:
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        if target.is_absolute():
            at, left = PurePosixPath("/"), [*target.parts[1:], *left]
        else:
            at, left = at.parent, [*target.parts, *left]
    return root / at.relative_to("/")
