"""What a node knows of an entity besides its rule: identity, jobs, users."""

from collections.abc import Iterable

from accelwatch.agent.rules.sight import owner_words
from accelwatch.alerting.incidents.incident import Facts
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.schema.snapshot import DeviceView, Snapshot

MOST_NAMES = 64
"""Jobs and users that are named."""


def facts_of(snapshot: Snapshot, entity: Entity) -> Facts:
    """What is known now; of a device that has gone only its node."""
    views = [
        view
        for view in snapshot.devices
        if entity.scope is Scope.NODE or view.device.id == entity.device
    ]
    jobs = _words(views, "job")
    users = _words(views, "user")
    if entity.scope is not Scope.DEVICE or not views:
        return Facts(jobs=jobs, users=users, nodes=(snapshot.host,))
    device = views[0].device
    return Facts(
        device_name=device.name,
        model=device.model or "",
        serial=device.serial or "",
        vendor=device.vendor,
        driver_version=device.driver_version or "",
        jobs=jobs,
        users=users,
        nodes=(snapshot.host,),
    )


def _words(views: Iterable[DeviceView], name: str) -> tuple[str, ...]:
    words = (word for view in views for word in owner_words(view.owners, name))
    return tuple(dict.fromkeys(words))[:MOST_NAMES]
