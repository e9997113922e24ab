"""The connections of an NFS mount: requests in their slots, and those that wait for one. Pure.

A slot holds a request from before it is sent until its reply has come. The kernel counts at each send
how many requests it finds pending (in a slot, waiting for a reply) and in the backlog (waiting for a
slot): the increase of such a sum, divided by that of the sends, is the mean length of the queue.
Sends minus receives is no such number: a request that was sent twice is answered once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

_MOST_DIGITS = 20


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Positions among the numbers after the transport's name, and the limit on its slots.

    The print_stats functions of net/sunrpc: xs_tcp_print_stats, xs_udp_print_stats,
    xs_local_print_stats (xprtsock.c), xprt_rdma_print_stats (xprtrdma/transport.c), which has
    neither slots nor pending requests.
    """

    sends: int
    backlog: int
    peak: int | None = None
    pending: int | None = None
    # File under /proc/sys/sunrpc with the limit of one connection.
    sysctl: str

    @property
    def receives(self) -> int:
        """Replies stand behind sends."""
        return self.sends + 1


LAYOUTS: Mapping[str, Layout] = {
    "tcp": Layout(sends=5, backlog=9, peak=10, pending=12, sysctl="tcp_max_slot_table_entries"),
    "rdma": Layout(sends=5, backlog=9, sysctl="rdma_slot_table_entries"),
    "local": Layout(sends=4, backlog=8, peak=9, pending=11, sysctl="tcp_max_slot_table_entries"),
    "udp": Layout(sends=2, backlog=6, peak=7, pending=9, sysctl="udp_slot_table_entries"),
}


class Transport(msgspec.Struct, frozen=True, kw_only=True):
    """Sums since connecting; None where the kernel does not report them or a line was damaged."""

    sends: int | None = None
    receives: int | None = None
    backlog: int | None = None
    pending: int | None = None
    peak: int | None = None
    # Of each connection: tcp, udp, rdma, local.
    kinds: tuple[str, ...] = ()

    def limit(self, limit_of: Callable[[str], int | None]) -> int | None:
        """Slots of all connections; `limit_of` answers for a file of /proc/sys/sunrpc."""
        limits = [limit_of(LAYOUTS[kind].sysctl) for kind in self.kinds]
        reported = [limit for limit in limits if limit is not None]
        return sum(reported) if reported and len(reported) == len(limits) else None


def transport(fields: Sequence[str]) -> Transport | None:
    """One `xprt:` line; None for a transport that is not known and for one without its backlog.

    A kernel before statvers 1.1 reports no slots.
    """
    layout = LAYOUTS.get(fields[0]) if fields else None
    if layout is None:
        return None
    numbers = fields[1:]

    def at(position: int | None) -> int | None:
        if position is None or position >= len(numbers):
            return None
        number = numbers[position]
        sound = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
        return int(number) if sound else None

    backlog = at(layout.backlog)
    if backlog is None:
        return None
    return Transport(
        sends=at(layout.sends),
        receives=at(layout.receives),
        backlog=backlog,
        pending=at(layout.pending),
        peak=at(layout.peak),
        kinds=(fields[0],),
    )


def together(transports: Iterable[Transport]) -> Transport:
    """All connections of a mount; what one of them does not report is unknown of all."""
    transports = list(transports)
    if not transports:
        return Transport()

    def total(counts: Iterable[int | None]) -> int | None:
        counts = list(counts)
        reported = [count for count in counts if count is not None]
        return sum(reported) if len(reported) == len(counts) else None

    return Transport(
        sends=total(each.sends for each in transports),
        receives=total(each.receives for each in transports),
        backlog=total(each.backlog for each in transports),
        pending=total(each.pending for each in transports),
        peak=total(each.peak for each in transports),
        kinds=tuple(kind for each in transports for kind in each.kinds),
    )
