"""Names of pods and containers without the Kubernetes API: the kubelet's log folders have them.

`/var/log/pods/<namespace>_<pod>_<uid>/<container>/`, and links
`/var/log/containers/<pod>_<namespace>_<container>-<container id>.log`; only names are read.
"""

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from accelwatch.backend.kit.grpc.failure import SourceError

_MAX_ENTRIES = 4_096
_LINK = re.compile(r"[^_]+_[^_]+_(.+)-([0-9a-f]{64})\.log")


class PodNames(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the folders."""

    # Pod uid to (namespace, pod).
    by_uid: dict[str, tuple[str, str]] = {}
    # (namespace, pod) to its uid; of several, as folders of deleted namesakes stay, the newest.
    uids: dict[tuple[str, str], str] = {}
    # Pod uid to the name of its container, where it has one only.
    only_container: dict[str, str] = {}
    # Container id to container name.
    containers: dict[str, str] = {}


def read(pod_logs: Path, container_logs: Path) -> PodNames:
    """Names in both folders; the second is often not there. Raises SourceError for the first."""
    by_uid: dict[str, tuple[str, str]] = {}
    uids: dict[tuple[str, str], str] = {}
    only: dict[str, str] = {}
    for _, name in sorted((_changed(pod_logs / name), name) for name in _names(pod_logs)):
        fields = name.split("_")
        if len(fields) != 3 or not all(fields):
            continue
        namespace, pod, uid = fields
        by_uid[uid] = (namespace, pod)
        uids[namespace, pod] = uid
        inner = _names_if_any(pod_logs / name)
        if len(inner) == 1:
            only[uid] = inner[0]
    links = (_LINK.fullmatch(name) for name in _names_if_any(container_logs))
    containers = {match[2]: match[1] for match in links if match}
    return PodNames(by_uid=by_uid, uids=uids, only_container=only, containers=containers)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _names(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from [entry.name for entry in islice(entries, _MAX_ENTRIES)]
    except PermissionError as error:
        raise SourceError(
            f"{folder}: permission denied", reason="permission", remedy="run with group root"
        ) from error
    except OSError as error:
        raise SourceError(f"{folder}: {error.strerror}", reason="absent") from error


def _names_if_any(folder: Path) -> list[str]:
    try:
        return list(_names(folder))
    except SourceError:
        return []
