"""Finds the open DRM files of all processes, and remembers where they were."""

import os
from pathlib import Path
from threading import Lock

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.clock import Clock
from accelwatch.system.kernel.drm_fdinfo.client import DrmClient, parse_fdinfo
from accelwatch.system.kernel.proc import pids
from accelwatch.system.kernel.sysfs import link_name, reason_of

# Between two searches through all processes only the known holders are read: a search is dear.
RESCAN_S = 5.0

_NODES = ("/dev/dri/", "/dev/accel/")
_MAX_BYTES = 1 << 20


class FdinfoScan(msgspec.Struct, frozen=True, kw_only=True):
    """The clients found, and how much of the machine could be read."""

    # Each client once, under the lowest pid that holds it.
    clients: tuple[DrmClient, ...]
    processes_visited: int
    # Processes of other users; reading them needs root or CAP_SYS_PTRACE.
    processes_unreadable: int
    # Why an open file of the device did not describe its client; None when all did.
    #
    # Drivers without fdinfo, such as i915 before Linux 5.19, are `unsupported`.
    absence: Absence | None = None


class _Holder:
    """A process with open DRM files: fd to the path of its node, and fd to its device once known."""

    def __init__(self, start: bytes, nodes: dict[str, str]) -> None:
        self.start = start
        self.nodes = nodes
        self.pdevs: dict[str, str] = {}


class FdinfoScanner:
    """Reads DRM clients under a root. May be shared by several threads.

    Only the search through /proc is done under the lock; the reads of fdinfo, which reach into a
    driver and may hang there, are not.
    """

    def __init__(self, root: Path, clock: Clock) -> None:
        self._root = root
        self._clock = clock
        # Guards the result of the search in /proc. Workers of several cards call at once; the first
        # searches, the others use its result.
        self._lock = Lock()
        self._holders: dict[int, _Holder] = {}
        self._visited = 0
        self._unreadable = 0
        self._due: float | None = None

    def scan(self, pdev: str | None = None) -> FdinfoScan:
        """Clients of one device, or of all; never raises."""
        with self._lock:
            now = self._clock.monotonic()
            if self._due is None or now >= self._due:
                self._search()
                self._due = now + RESCAN_S
            holders = list(self._holders.items())
            visited, unreadable = self._visited, self._unreadable
        clients: dict[tuple[str, int | str], DrmClient] = {}
        absence: Absence | None = None
        for pid, holder in holders:
            for client in self._clients(pid, holder, pdev):
                if isinstance(client, Absence):
                    absence = absence or client
                else:
                    clients.setdefault(client.key(), client)
        return FdinfoScan(
            clients=tuple(clients.values()),
            processes_visited=visited,
            processes_unreadable=unreadable,
            absence=absence,
        )

    def _search(self) -> None:
        holders: dict[int, _Holder] = {}
        everyone = pids(self._root)
        unreadable = 0
        for pid in everyone:
            nodes = _open_nodes(self._root / "proc" / str(pid) / "fd")
            if nodes is None:
                unreadable += 1
            elif nodes:
                holders[pid] = self._holder(pid, nodes)
        self._holders, self._visited, self._unreadable = holders, len(everyone), unreadable

    def _holder(self, pid: int, nodes: dict[str, str]) -> _Holder:
        start = _start(self._root, pid)
        cached = self._holders.get(pid)
        if cached is not None and cached.start == start and cached.nodes == nodes:
            return cached
        return _Holder(start, nodes)

    def _clients(self, pid: int, holder: _Holder, pdev: str | None) -> list[DrmClient | Absence]:
        if _start(self._root, pid) != holder.start:
            return []
        clients: list[DrmClient | Absence] = []
        for fd, node in holder.nodes.items():
            if pdev is not None and holder.pdevs.get(fd, pdev) != pdev:
                continue
            client = self._client(pid, fd, node)
            if isinstance(client, Absence):
                device = self._device_of(node)
                mine = pdev is None or device in ("", pdev)
                if mine and self._still_open(pid, fd, node):
                    clients.append(client)
                continue
            holder.pdevs[fd] = client.pdev
            if pdev in (None, client.pdev):
                clients.append(client)
        return clients

    def _still_open(self, pid: int, fd: str, node: str) -> bool:
        return _target(str(self._root / "proc" / str(pid) / "fd" / fd)) == node

    def _client(self, pid: int, fd: str, node: str) -> DrmClient | Absence:
        folder = self._root / "proc" / str(pid)
        try:
            with (folder / "fdinfo" / fd).open("rb", buffering=0) as file:
                text = file.read(_MAX_BYTES).decode("utf-8", "replace")
        except OSError as error:
            return reason_of(error)
        client = parse_fdinfo(text)
        if client is None:
            return Absence.UNSUPPORTED
        return msgspec.structs.replace(
            client,
            pid=pid,
            pdev=client.pdev or self._device_of(node),
            file_key=_file_key(pid, folder / "fd" / fd) if client.client_id is None else "",
        )

    def _device_of(self, node: str) -> str:
        """Name of the device behind a node, for drivers that do not say `drm-pdev`."""
        kind = "accel" if node.startswith("/dev/accel/") else "drm"
        name = node.rpartition("/")[2]
        return link_name(self._root / "sys/class" / kind / name / "device") or ""


def _open_nodes(folder: Path) -> dict[str, str] | None:
    """fd to device node of a process; None when it may not be read, empty when it is gone."""
    nodes: dict[str, str] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                target = _target(entry.path)
                if target.startswith(_NODES):
                    nodes[entry.name] = target
    except PermissionError:
        return None
    except OSError:
        return nodes
    return nodes


def _target(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - hot loop over every fd of the machine
    except OSError:
        return ""


def _start(root: Path, pid: int) -> bytes:
    """Start time of a process in clock ticks, as /proc writes it; empty when it is gone."""
    try:
        stat = (root / "proc" / str(pid) / "stat").read_bytes()
    except OSError:
        return b""
    fields = stat[stat.rfind(b")") + 1 :].split()
    return fields[19] if len(fields) > 19 else b""


def _file_key(pid: int, path: Path) -> str:
    """The open file of one process. The node's inode alone would merge all who opened that node."""
    try:
        status = path.stat()
    except OSError:
        return f"{pid}:{path.name}"
    return f"{pid}:{status.st_dev}:{status.st_ino}"
