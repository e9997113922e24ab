"""Which devices belong together: by node, rack, model, job, user or stage, as numbers by row.

A model is one of a vendor, a stage one of a job; `job_model` and `stage_model` are the devices of one
model within them. All else is a field, an owner's name or a label.

Recomputed only for nodes whose devices, labels or owners have changed; a repeated call without a
change gets the same arrays, so that results made of them can be cached as well.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.fleet.state.nodes.usage import Occupancy
from accelwatch.fleet.state.rows.node_slots import NodeSlots
from accelwatch.fleet.state.rows.table import Indices, Table
from accelwatch.fleet.table.jobs import Jobs, RowJobs
from accelwatch.schema.device import Device
from accelwatch.schema.snapshot import OWNER_NAMES

# The stage of a job's pipeline, by a label of the node's targets: no scheduler reports it.
STAGE = "stage"
NO_GROUP = -1
# What a device belongs to by its job, beside its owner's names.
_OF_JOB = frozenset({STAGE, "job_model", "stage_model"})

Names = tuple[str, ...]
Numbers = npt.NDArray[np.int32]


class Groups(NamedTuple):
    """Devices by what they have in common; a device that several own is in several groups."""

    # By number, sorted.
    names: Names
    # The group of each row, NO_GROUP of one without; of several the first by name.
    of_row: Numbers
    # Every membership: its row ...
    rows: Indices
    # ... and its group. Sorted by group, then row.
    groups: Indices

    def counts(self) -> Indices:
        """Members of each group."""
        return np.bincount(self.groups, minlength=len(self.names))

    def shared(self) -> dict[int, list[str]]:
        """The names of the groups of each row that is in several, sorted."""
        several = np.bincount(self.rows, minlength=len(self.of_row)) > 1
        names: dict[int, list[str]] = {}
        for at in np.flatnonzero(several[self.rows]):  # sorted by group, and so by name
            names.setdefault(int(self.rows[at]), []).append(self.names[self.groups[at]])
        return names


class GroupIndex:
    """The groups of all rows by name of what they have in common; the loop's thread only."""

    def __init__(self, table: Table) -> None:
        self._table = table
        # By key; each compares the table's change counters itself and renews the nodes that
        # changed.
        self._kept: dict[str, _Memberships] = {}
        self._row_jobs = RowJobs()

    def jobs(self) -> Jobs:
        """The jobs of all rows, as numbers that change when another job has started there."""
        belonging = self.by("job")
        return self._row_jobs.refresh(
            belonging, belonging.of_row, belonging.names, belonging.shared
        )

    def by(self, key: str) -> Groups:
        """The groups by a name, as of when nodes were last brought up to date.

        Missing devices are members as well.
        """
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Memberships(key)
        return kept.of(self._table)


class _Memberships:
    """What rows are called by one name."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._stamp = -1, -1
        self._names: dict[int, Names] = {}
        # Rows of each node, by its number.
        self._rows: dict[int, list[int]] = {}
        self._groups: Groups | None = None

    def of(self, table: Table) -> Groups:
        before, self._stamp = self._stamp, (table.changes, table.shape)
        if before != self._stamp:
            fresh = np.flatnonzero(table.changed > before[0])
            numbers = set(table.node[fresh].tolist())
            if before[1] != table.shape:
                numbers |= self._moved(table)
            if self._renew(table, numbers):
                self._groups = None
        if self._groups is None or len(self._groups.of_row) != table.rows.size:
            self._groups = _grouped(self._names, table.rows.size)
        return self._groups

    def _moved(self, table: Table) -> set[int]:
        """Nodes whose devices stand in other rows than before, and those that have gone."""
        current = {slots.number: slots.rows for slots in table.all_slots()}
        numbers = current.keys() | self._rows.keys()
        return {at for at in numbers if current.get(at) != self._rows.get(at)}

    def _renew(self, table: Table, numbers: Iterable[int]) -> bool:
        """Read nodes again; whether anything has another name than before."""
        current = {slots.number: slots for slots in table.all_slots()}
        before: dict[int, Names] = {}
        now: dict[int, Names] = {}
        for number in numbers:
            for row in self._rows.pop(number, ()):
                before[row] = self._names.pop(row)
            slots = current.get(number)
            if slots is not None:
                self._rows[number] = list(slots.rows)
                now.update(_names(self._key, table, slots))
        self._names.update(now)
        return before != now


def _names(key: str, table: Table, slots: NodeSlots) -> dict[int, Names]:
    """What the devices of a node are called; a partition without an owner has that of its device."""
    calls = _CALLS.get(key)
    names: list[Names] = [
        belonging(key, device, table.occupancy[row], slots.labels)
        if calls is None
        else calls(device, table.occupancy[row], slots)
        for row, device in zip(slots.rows, slots.devices, strict=True)
    ]
    if key in OWNER_NAMES or key in _OF_JOB:
        by_id = {device.id: some for device, some in zip(slots.devices, names, strict=True)}
        parents = [device.parent_id or "" for device in slots.devices]
        names = [some or by_id.get(parent, ()) for some, parent in zip(names, parents, strict=True)]
    return dict(zip(slots.rows, names, strict=True))


def _by_node(_device: Device, _occupancy: Occupancy, slots: NodeSlots) -> Names:
    return (slots.node,)


def _by_model(device: Device, _occupancy: Occupancy, _slots: NodeSlots) -> Names:
    return (f"{device.vendor} {device.model}",) if device.model else ()


def _by_stage(_device: Device, occupancy: Occupancy, slots: NodeSlots) -> Names:
    stage = slots.labels.get(STAGE)
    return () if not stage else tuple(f"{job}/{stage}" for job in occupancy.names.get("job", ()))


def _by_job_model(device: Device, occupancy: Occupancy, _slots: NodeSlots) -> Names:
    return _of_model(occupancy.names.get("job", ()), device)


def _by_stage_model(device: Device, occupancy: Occupancy, slots: NodeSlots) -> Names:
    return _of_model(_by_stage(device, occupancy, slots), device)


def _of_model(names: Names, device: Device) -> Names:
    """Groups split by model; devices without a model are a model as well."""
    return tuple(f"{name}/{device.vendor} {device.model or ''}".rstrip() for name in names)


# How devices are called by what is no single field of theirs.
_CALLS: dict[str, Callable[[Device, Occupancy, NodeSlots], Names]] = {
    "node": _by_node,
    "model": _by_model,
    STAGE: _by_stage,
    "job_model": _by_job_model,
    "stage_model": _by_stage_model,
}


def _grouped(names: dict[int, Names], size: int) -> Groups:
    pairs = [(row, name) for row, some in names.items() for name in some]
    sorted_names = tuple(sorted({name for _, name in pairs}))
    number = {name: index for index, name in enumerate(sorted_names)}
    rows: Indices = np.array([row for row, _ in pairs], dtype=np.intp)
    groups: Indices = np.array([number[name] for _, name in pairs], dtype=np.intp)
    order = np.lexsort((rows, groups))
    rows, groups = rows[order], groups[order]
    of_row: Numbers = np.full(size, NO_GROUP, dtype=np.int32)
    of_row[rows[::-1]] = groups[::-1]
    return Groups(sorted_names, of_row, rows, groups)


def belonging(key: str, device: Device, occupancy: Occupancy, labels: dict[str, str]) -> Names:
    """What a device is grouped by: a field as texts, each owner's by itself; empty where there is none.

    What a device or its owners do not say, a label of its node may. `partition` is the scheduler's: the
    label of the node, else the queue of the job.
    """
    if key == "partition":
        label = labels.get(key)
        return occupancy.names.get("queue", ()) if label is None else (label,)
    if key in occupancy.names:
        return occupancy.names[key]
    value = getattr(device, key, None)
    if value is None:
        value = labels.get(key)
    return () if value is None else (str(value),)
