"""NFS mounts from /proc/PID/mountstats: pure, and reading that file never asks a server.

Field positions: the print_stats functions of net/sunrpc (xprtsock.c, xprtrdma/transport.c) and
rpc_clnt_show_stats in net/sunrpc/stats.c.
"""

import re

import msgspec

_MOUNT = re.compile(r"device .+ mounted on (.+) with fstype (\S+)(?: statvers=\S+)?")
_BACKLOG_FIELD = {"tcp": 9, "rdma": 9, "local": 8, "udp": 6}
"""Position of the backlog sum among the numbers after the transport's name."""
_OPERATION_FIELDS = 8
"""Requests, transmissions, time-outs, bytes sent, bytes received, queue, round trip, execution (ms)."""


class NfsMount(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over all operations and transports of one NFS mount since it was mounted."""

    mountpoint: str
    operations: "Operations | None" = None
    """None where the lines of the operations could not all be read."""
    backlog: int | None = None
    """None where no transport line could be read."""


class Operations(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and seconds over all operations of one mount."""

    requests: int
    retransmissions: int
    round_trip_s: float
    execution_s: float


class _Sums:
    def __init__(self, mountpoint: str) -> None:
        self.mountpoint = mountpoint
        self.lines: list[list[int]] = []
        self.damaged = False
        self.backlog: int | None = None

    def transport(self, fields: list[str]) -> None:
        position = _BACKLOG_FIELD.get(fields[0]) if fields else None
        numbers = fields[1:]
        if position is None or len(numbers) <= position or not _is_count(numbers[position]):
            return
        self.backlog = (self.backlog or 0) + int(numbers[position])

    def operation(self, fields: list[str]) -> None:
        if len(fields) < _OPERATION_FIELDS or not all(map(_is_count, fields[:_OPERATION_FIELDS])):
            self.damaged = True
        else:
            self.lines.append([int(field) for field in fields[:_OPERATION_FIELDS]])

    def mount(self) -> NfsMount:
        operations = None
        if self.lines and not self.damaged:
            operations = Operations(
                requests=sum(line[0] for line in self.lines),
                retransmissions=sum(max(0, line[1] - line[0]) for line in self.lines),
                round_trip_s=sum(line[6] for line in self.lines) / 1000,
                execution_s=sum(line[7] for line in self.lines) / 1000,
            )
        return NfsMount(mountpoint=self.mountpoint, operations=operations, backlog=self.backlog)


def _is_count(field: str) -> bool:
    return field.isascii() and field.isdigit()


def mountstats(text: str) -> list[NfsMount]:
    """NFS mounts (versions 3 and 4) with their sums; other file systems are left out."""
    found: dict[str, _Sums] = {}
    current: _Sums | None = None
    for line in text.splitlines():
        if line.startswith("device "):
            head = _MOUNT.fullmatch(line.strip())
            current = _Sums(head[1]) if head and head[2] in ("nfs", "nfs4") else None
            if current is not None:
                found[current.mountpoint] = current
            continue
        name, colon, rest = line.strip().partition(":")
        if current is None or not colon:
            continue
        if name == "xprt":
            current.transport(rest.split())
        elif name.isupper():
            current.operation(rest.split())
    return [sums.mount() for sums in found.values()]
