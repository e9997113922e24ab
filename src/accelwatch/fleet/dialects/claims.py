"""Whether an exporter lists devices that no pod holds, from the labels of claims on its samples."""

from collections.abc import Sequence

from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.table import Dialect
from accelwatch.fleet.dialects.plans.identity import first_value
from accelwatch.fleet.dialects.plans.partitions import name_of
from accelwatch.fleet.listing import Holder, Listing
from accelwatch.schema.device import normal_uuid

# Uuid of a device, and its partition.
_PartitionKey = tuple[str, str]


def listing_of(dialect: Dialect, keys: Sequence[Key]) -> Listing | None:
    """None where no sample has a claim: nothing is to be learnt then."""
    if not dialect.claim:
        return None
    claimed: dict[str, set[_PartitionKey]] = {}
    unclaimed: dict[str, set[_PartitionKey]] = {}
    holders: dict[str, set[Holder]] = {}
    for key in keys:
        if uuid := first_value(key, dialect.labels.uuid):
            claim = first_value(key, dialect.claim)
            by_family = claimed if claim else unclaimed
            if claim:
                holders.setdefault(normal_uuid(uuid), set()).add(_holder(dialect, key, claim))
            partition = uuid, name_of(dialect, key)
            by_family.setdefault(key.name, set()).add(partition)
    if not claimed:
        return None
    # By family: one that is of devices without a claim alone is never left out. A device in both is of
    # two scrapes, as a store without staleness markers keeps them for some minutes.
    mixed = any(
        name in unclaimed and partitions.isdisjoint(unclaimed[name])
        for name, partitions in claimed.items()
    )
    return Listing(
        exporter=dialect.name,
        vendor=dialect.vendor,
        claimed_only=not mixed,
        holders={uuid: tuple(sorted(some)) for uuid, some in holders.items()},
    )


def _holder(dialect: Dialect, key: Key, claim: str) -> Holder:
    """A claim is of the namespace of its pod."""
    namespace = first_value(key, dialect.labels.namespace)
    pod = first_value(key, dialect.labels.pod)
    return Holder(f"{namespace}/{claim}", f"{namespace}/{pod}" if pod else "")
