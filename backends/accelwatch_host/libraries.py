"""Versions of communication libraries, read from the names of their files; none is loaded or opened."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.system.kernel.sysfs import read_bytes
from accelwatch_host.mounts import Mount, parse, safe_path
from accelwatch_host.procfs import read_process_table


class Library(msgspec.Struct, frozen=True):
    """A library: what it is called, and the name by which programs are linked with it."""

    name: str
    soname: str


LIBRARIES = (Library("nccl", "libnccl.so.2"), Library("rccl", "librccl.so.1"))
# Where a library is that ldconfig's cache does not have.
_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/opt/rocm/lib",
)
_CACHE = "etc/ld.so.cache"
_MOST_PATHS = 8
_VERSION = re.compile(r"\.so\.(\d{1,6}(?:\.\d{1,6}){2,3})")


def versions(root: Path) -> Iterator[tuple[str, str | Absence]]:
    """Every library with the version of the file that a program would be given.

    Files on a network file system are skipped: a stat could hang.
    """
    text = read_process_table(root, "mounts")
    cache = read_bytes(root / _CACHE)
    for library in LIBRARIES:
        if isinstance(text, Absence):
            yield library.name, text
            continue
        paths = _cached(library, b"" if isinstance(cache, Absence) else cache)
        paths += [f"{folder}/{library.soname}" for folder in _FOLDERS]
        yield library.name, _version(root, paths, parse(text))


def _cached(library: Library, cache: bytes) -> list[str]:
    """Paths of the library in ldconfig's cache, which holds them as text that ends with a zero."""
    matches = re.finditer(
        rb"/[^\0]{0,500}/" + re.escape(library.soname.encode()) + rb"(?=\0)", cache
    )
    return [match[0].decode("utf-8", "replace") for match in matches][:_MOST_PATHS]


def _version(root: Path, paths: Sequence[str], mounts: Sequence[Mount]) -> str | Absence:
    """That of the first path with a file; its links lead to a file that has the version in its name."""
    for candidate in paths:
        path = safe_path(root, PurePosixPath(candidate), mounts)
        if path is None:
            # The loader would open this one if it is there: a version from a later path may be wrong.
            return Absence.NOT_COLLECTED
        if path.exists():
            match = _VERSION.search(path.name)
            return match[1] if match else Absence.UNSUPPORTED
    return Absence.UNSUPPORTED
