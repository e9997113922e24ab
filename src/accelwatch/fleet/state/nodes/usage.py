"""Who uses a device and what was found about it: kept small, because a fleet has many devices.

Names are worked out once for all devices of the same owners; processes stay bytes until they are shown.
"""

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.schema.reading import Process, Reading
from accelwatch.schema.snapshot import OWNER_NAMES, DeviceView, EventCount, Owner
from accelwatch.schema.stream.context import MAX_OWNERS, MAX_USERS, ProcessRow, process_of

_FIELDS = {"job": "job_id"}
_CACHE_SIZE = 8192
_rows = msgspec.msgpack.Decoder(tuple[ProcessRow, ...]).decode


class Occupancy(msgspec.Struct, frozen=True):
    """Owners of a device and what they are called, each part by name; shared between devices."""

    owners: tuple[Owner, ...] = ()
    # The different values of each of OWNER_NAMES that has any, sorted.
    names: dict[str, tuple[str, ...]] = {}
    # The same with several values joined by `+`.
    shown: dict[str, str] = {}


NOBODY = Occupancy()


# All devices of a job have the same owners, and a job lasts hours: one object for all of them.
@lru_cache(maxsize=_CACHE_SIZE)
def _occupancy(owners: tuple[Owner, ...], users: tuple[str, ...]) -> Occupancy:
    names: dict[str, tuple[str, ...]] = {}
    for name in OWNER_NAMES:
        distinct = {getattr(owner, _FIELDS.get(name, name)) for owner in owners} - {""}
        if distinct:
            names[name] = tuple(sorted(distinct))
    if users and "user" not in names:
        names["user"] = users
    return Occupancy(owners, names, {name: "+".join(values) for name, values in names.items()})


def occupancy(owners: tuple[Owner, ...], users: Iterable[str]) -> Occupancy:
    """Who has a device: its owners, and where no job names a user, those who run processes on it."""
    some = tuple(users)
    return _occupancy(owners[:MAX_OWNERS], some[:MAX_USERS]) if owners or some else NOBODY


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a device beside its numbers."""

    occupancy: Occupancy = NOBODY
    # Owners of processes.
    users: tuple[str, ...] = ()
    # Processes as MessagePack; None when they were not sent.
    rows: bytes | None = None
    processes_total: int = 0
    health_reasons: tuple[str, ...] = ()
    event_counts: tuple[EventCount, ...] = ()

    def with_owners(self, owners: tuple[Owner, ...]) -> "Usage":
        """The same with other owners."""
        return msgspec.structs.replace(self, occupancy=occupancy(owners, self.users))

    def with_processes(self, rows: bytes, total: int, users: tuple[str, ...]) -> "Usage":
        """The same with other processes."""
        if users == self.users:
            return msgspec.structs.replace(self, rows=rows, processes_total=total)
        return msgspec.structs.replace(
            self,
            rows=rows,
            processes_total=total,
            users=users,
            occupancy=occupancy(self.occupancy.owners, users),
        )

    def reading(self, reading: Reading) -> Reading:
        """A reading of the device with its processes."""
        unread = ("processes",) in reading.absent or ("*",) in reading.absent
        if self.rows is None or unread:
            return reading
        processes = self._processes(reading.device_id)
        notes = reading.notes
        if self.processes_total > len(processes):
            note = f"{len(processes)} of {self.processes_total} processes are sent to the hub"
            notes = (*notes, note)
        return msgspec.structs.replace(reading, processes=processes, notes=notes)

    def _processes(self, device_id: str) -> tuple[Process, ...]:
        try:
            rows = _rows(self.rows or b"\x90")
        except DECODE_ERRORS:
            return ()
        return tuple(process_of(row, device_id) for row in rows)


UNUSED = Usage()


def usage_of(view: DeviceView) -> Usage:
    """The same of a device that was read whole; its processes stay in its reading."""
    users = {process.user for process in view.reading.processes or () if process.user}
    if not (view.owners or users or view.health_reasons or view.event_counts):
        return UNUSED
    return Usage(
        occupancy=occupancy(view.owners, sorted(users)),
        users=tuple(sorted(users)[:MAX_USERS]),
        processes_total=len(view.reading.processes or ()),
        health_reasons=view.health_reasons,
        event_counts=view.event_counts,
    )
