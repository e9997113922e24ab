"""From what was read of NFS mounts to quantities of the catalogue."""

from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel.sysfs import read_int
from accelwatch_host import nfs
from accelwatch_host.mapping import LIMIT
from accelwatch_host.procfs import read_process_table

_NFS_KEYS = {
    "host_nfs_requests_total": "requests",
    "host_nfs_retransmissions_total": "retransmissions",
    "host_nfs_round_trip_seconds_total": "round_trip_s",
    "host_nfs_execution_seconds_total": "execution_s",
    "host_nfs_queue_seconds_total": "queue_s",
}
_NFS_OPERATION_KEYS = {
    "host_nfs_operation_requests_total": "requests",
    "host_nfs_operation_queue_seconds_total": "queue_s",
    "host_nfs_operation_round_trip_seconds_total": "round_trip_s",
    "host_nfs_operation_execution_seconds_total": "execution_s",
}
_NFS_TRANSPORT_KEYS = {
    "host_nfs_backlog_total": "backlog",
    "host_nfs_sends_total": "sends",
    "host_nfs_receives_total": "receives",
    "host_nfs_pending_total": "pending",
    "host_nfs_slots_peak": "peak",
}
_NFS_LIMIT = "host_nfs_slots_limit"
_KEYS = (*_NFS_KEYS, *_NFS_OPERATION_KEYS, *_NFS_TRANSPORT_KEYS, _NFS_LIMIT)


def collect_nfs(root: Path, out: Collected) -> None:
    """NFS mounts; none mounted is `unsupported`."""
    text = read_process_table(root, "mountstats")
    if isinstance(text, Absence):
        for key in _KEYS:
            out.miss(key, text)
        return
    limits: dict[str, int | None] = {}
    for mount in nfs.mountstats(text)[:LIMIT]:
        _nfs_operations(out, mount)
        _nfs_transport(root, out, mount, limits)


def _nfs_operations(out: Collected, mount: nfs.NfsMount) -> None:
    where = mount.mountpoint
    for key, field in _NFS_KEYS.items():
        out.put_or_miss(key, getattr(mount.operations, field, Absence.ERROR), where)
    lacking = Absence.ERROR if mount.operations is None else Absence.UNSUPPORTED
    for name in nfs.OPERATIONS:
        operation = mount.by_operation.get(name)
        for key, field in _NFS_OPERATION_KEYS.items():
            out.put_or_miss(key, getattr(operation, field, lacking), where, name)


def _nfs_transport(
    root: Path, out: Collected, mount: nfs.NfsMount, limits: dict[str, int | None]
) -> None:
    """`limits` keeps what was read of /proc/sys/sunrpc, which is the same for all mounts."""
    where, transport = mount.mountpoint, mount.transport

    def limit_of(name: str) -> int | None:
        if name not in limits:
            limit = read_int(root / "proc/sys/sunrpc" / name)
            limits[name] = limit if isinstance(limit, int) and limit > 0 else None
        return limits[name]

    lacking = Absence.ERROR if transport.backlog is None else Absence.UNSUPPORTED
    for key, field in _NFS_TRANSPORT_KEYS.items():
        count = getattr(transport, field)
        out.put_or_miss(key, lacking if count is None else count, where)
    limit = transport.limit(limit_of)
    out.put_or_miss(_NFS_LIMIT, lacking if limit is None else limit, where)
