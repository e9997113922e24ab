"""What an archive keeps of a node: the numbers of an exposition, by device and for the host."""

from collections.abc import Iterable
from typing import NamedTuple

from accelwatch.archive.history.names import KINDS, TEXT_FAMILIES
from accelwatch.exposition.families import device_samples, node_samples, owner_of
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Scope, Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Owner, Snapshot

Values = dict[Series, Number]
# A column a process would be a column for every process there ever was.
_LEFT_OUT = frozenset({"process_memory_used_bytes", "process_utilization_ratio"})
_TIMES = "_timestamp_seconds"


class Observed(NamedTuple):
    """One node at one moment."""

    # Whole devices; the values of their partitions count as theirs.
    devices: list[tuple[Device, Values]]
    node: Values


def observed(snapshot: Snapshot) -> Observed:
    """What is kept of a node. A device that cannot be read has `device_up` 0, its state and why."""
    by_owner: dict[str, tuple[Device, Values]] = {}
    for view in snapshot.devices:
        if view.device.parent_id is None:
            by_owner.setdefault(owner_of(view.device), (view.device, {}))
    for samples in device_samples(snapshot, _all):
        for owner, series, value in samples:
            if owner in by_owner and is_kept(series):
                by_owner[owner][1][series] = value
    node: Values = {}
    for _, series, value in node_samples(snapshot):
        if series[0] == "devices":
            node[series] = node.get(series, 0) + value  # one count over all vendors
        elif is_kept(series) and by_key()[series[0]].scope is Scope.NODE:
            node[series] = value
    return Observed(list(by_owner.values()), node)


def is_kept(series: Series) -> bool:
    """Whether a series says something that a file should keep."""
    row = by_key().get(series[0])
    return (
        row is not None
        and (row.kind in KINDS or row.key in TEXT_FAMILIES)
        and row.key not in _LEFT_OUT
        and not row.key.endswith(_TIMES)
    )


def owners_of(snapshot: Snapshot) -> Iterable[tuple[str, Owner]]:
    """Whose each whole device is; those of a partition own a part of its device."""
    for view in snapshot.devices:
        for owner in view.owners:
            yield view.device.parent_id or view.device.id, owner


def _all(_device: Device) -> bool:
    return True
