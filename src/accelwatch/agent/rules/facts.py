"""What a node knows of an entity besides its rule: identity, jobs, users."""

from collections.abc import Iterable

from accelwatch.agent.snapshots.lookups import owner_names
from accelwatch.alerting.incidents.model.incident import Facts
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.schema.snapshot import DeviceView, Snapshot

# Jobs and users that are named.
MOST_NAMES = 64


def facts_of(snapshot: Snapshot, entity: Entity) -> Facts:
    """What is known now; of a device that has gone only its node."""
    views = [
        view
        for view in snapshot.devices
        if entity.scope is Scope.NODE or view.device.id == entity.device
    ]
    jobs = _owner_names(views, "job")
    users = _owner_names(views, "user")
    if entity.scope is not Scope.DEVICE or not views:
        return Facts(jobs=jobs, users=users, nodes=(snapshot.host,))
    device = views[0].device
    return Facts(
        device_name=device.name,
        model=device.model or "",
        serial=device.serial or "",
        slot=device.pci_bus_id or "",
        vendor=device.vendor,
        driver_version=device.driver_version or "",
        jobs=jobs,
        users=users,
        nodes=(snapshot.host,),
    )


def _owner_names(views: Iterable[DeviceView], name: str) -> tuple[str, ...]:
    names = (owner_name for view in views for owner_name in owner_names(view.owners, name))
    return tuple(dict.fromkeys(names))[:MOST_NAMES]
