"""Parts of a device that an exporter reports: which sample is about which, and their names."""

import msgspec

from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.table import Dialect, Partition
from accelwatch.fleet.dialects.plans.identity import first_value
from accelwatch.schema.device import Device


class PartitionDraft:
    """One partition while its samples are gathered."""

    def __init__(self, kind: Partition, name: str) -> None:
        self.kind = kind
        self.name = name
        self._uuids: dict[str, None] = {}
        self._profiles: dict[str, None] = {}

    def learn(self, key: Key) -> None:
        """What the labels of one more sample say."""
        for observed, labels in (
            (self._uuids, self.kind.uuid),
            (self._profiles, self.kind.profile),
        ):
            if value := first_value(key, labels):
                observed.setdefault(value)

    def device(self, parent: Device) -> Device:
        """The partition as a device. A uuid or profile of which there are several is not its own."""
        return msgspec.structs.replace(
            parent,
            id=f"{parent.id}/{self.name}",
            name=f"{parent.name}/{self.name}",
            uuid=_only(self._uuids),
            serial=None,
            parent_id=parent.id,
            partition=self.name,
            partition_technology=self.kind.technology,
            partition_profile=_only(self._profiles),
        )


def partition_of(dialect: Dialect, key: Key) -> PartitionDraft | None:
    """The partition that a sample is about; None for the whole device."""
    for kind in dialect.partitions:
        if name := _name(kind, key):
            return PartitionDraft(kind, name)
    return None


def name_of(dialect: Dialect, key: Key) -> str:
    """Its name alone; empty for the whole device."""
    return next((name for kind in dialect.partitions if (name := _name(kind, key))), "")


def _name(kind: Partition, key: Key) -> str:
    instance = first_value(key, (kind.label,))
    if not instance:
        return ""
    within = first_value(key, (kind.within,)) if kind.within else ""
    return kind.name.format(instance) + (kind.suffix.format(within) if within else "")


def _only(observed: dict[str, None]) -> str | None:
    return next(iter(observed)) if len(observed) == 1 else None
