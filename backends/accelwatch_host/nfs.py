"""NFS mounts from /proc/PID/mountstats: pure, and reading that file never queries a server.

Field positions: the print_stats functions of net/sunrpc (xprtsock.c, xprtrdma/transport.c) and
rpc_clnt_show_stats in net/sunrpc/stats.c.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from accelwatch_host.nfs_transport import Transport, together, transport

_MOUNT = re.compile(r"device .+ mounted on (.+) with fstype (\S+)(?: statvers=\S+)?")
# Requests, transmissions, time-outs, bytes sent, bytes received, queue, round trip, execution (ms).
_OPERATION_FIELDS = 8
# Operations that are counted apart, by the kernel's names, the same in NFS 3 and 4; a fixed list, so the
# number of series is bounded.
OPERATIONS = ("GETATTR", "READ", "WRITE")


class Operations(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and seconds over one or all operations of one mount."""

    requests: int
    retransmissions: int
    queue_s: float
    round_trip_s: float
    execution_s: float


class NfsMount(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of one NFS mount since it was mounted."""

    mountpoint: str
    # Over all operations; None where their lines could not all be read.
    operations: Operations | None = None
    # Of OPERATIONS, those whose line could be read.
    by_operation: dict[str, Operations] = {}
    # Over all connections of the mount.
    transport: Transport = Transport()


class _Lines:
    """What was read of one mount so far."""

    def __init__(self, mountpoint: str) -> None:
        self.mountpoint = mountpoint
        self.operations: dict[str, Sequence[int]] = {}
        self.damaged = False
        self.transports: list[Transport] = []

    def transport(self, fields: Sequence[str]) -> None:
        connection = transport(fields)
        if connection is not None:
            self.transports.append(connection)

    def operation(self, name: str, fields: Sequence[str]) -> None:
        numbers = fields[:_OPERATION_FIELDS]
        if len(numbers) < _OPERATION_FIELDS or not all(map(_is_count, numbers)):
            self.damaged = True
        else:
            self.operations[name] = [int(number) for number in numbers]

    def mount(self) -> NfsMount:
        is_complete = self.operations and not self.damaged
        return NfsMount(
            mountpoint=self.mountpoint,
            operations=_sum(self.operations.values()) if is_complete else None,
            by_operation={
                name: _sum([self.operations[name]])
                for name in OPERATIONS
                if name in self.operations
            },
            transport=together(self.transports),
        )


def _sum(lines: Iterable[Sequence[int]]) -> Operations:
    lines = list(lines)
    return Operations(
        requests=sum(line[0] for line in lines),
        retransmissions=sum(max(0, line[1] - line[0]) for line in lines),
        queue_s=sum(line[5] for line in lines) / 1000,
        round_trip_s=sum(line[6] for line in lines) / 1000,
        execution_s=sum(line[7] for line in lines) / 1000,
    )


def _is_count(field: str) -> bool:
    return field.isascii() and field.isdigit()


def mountstats(text: str) -> list[NfsMount]:
    """NFS mounts (versions 3 and 4) with their sums; other file systems are left out."""
    by_mountpoint: dict[str, _Lines] = {}
    current: _Lines | None = None
    for line in text.splitlines():
        if line.startswith("device "):
            head = _MOUNT.fullmatch(line.strip())
            current = _Lines(head[1]) if head and head[2] in ("nfs", "nfs4") else None
            if current is not None:
                by_mountpoint[current.mountpoint] = current
            continue
        name, colon, fields = line.strip().partition(":")
        if current is None or not colon:
            continue
        if name == "xprt":
            current.transport(fields.split())
        elif name.isupper():
            current.operation(name, fields.split())
    return [lines.mount() for lines in by_mountpoint.values()]
